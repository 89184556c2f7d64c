package doctor

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestUnfetched(t *testing.T) {
	runs := queue.Step{Name: "unit", Run: "go test"}
	filled := queue.Step{Name: "deep", Run: "make", Checkout: queue.Checkout{Submodules: queue.SubmodulesAll}}
	needless := queue.Step{Name: "lint", Run: "make", Checkout: queue.Checkout{Submodules: queue.SubmodulesOff}}
	fetched := queue.Step{Name: "assets", Run: "make", Checkout: queue.Checkout{LFS: queue.SwitchOn}}
	textual := queue.Step{Name: "vet", Run: "make", Checkout: queue.Checkout{LFS: queue.SwitchOff}}
	forge := queue.Step{Name: "ci", Checks: []queue.Check{{Name: "test"}}}
	for _, x := range []struct {
		steps      []queue.Step
		modules    bool
		attributes string
		want       []string // each in a line
	}{
		{[]queue.Step{runs, forge}, true, "", []string{"leave submodules empty, for unit;"}},
		{[]queue.Step{runs, forge}, false, "*.go text\n*.png filter=lfs diff=lfs merge=lfs -text\n", []string{"hold pointers in their place, for unit;"}},
		{[]queue.Step{runs}, true, "a\tfilter=lfs", []string{"submodules empty", "hold pointers"}},
		{[]queue.Step{runs}, false, "# *.png filter=lfs\n*.bin filter=lfsx\n", nil},
		{[]queue.Step{runs, filled, needless}, true, "", []string{"empty, for unit; for a step that needs them say checkout: {submodules: true}"}},
		{[]queue.Step{filled, needless}, true, "*.png filter=lfs", []string{"in their place, for deep, lint;"}},
		{[]queue.Step{fetched, textual, runs}, false, "*.png filter=lfs", []string{"in their place, for unit; for a step that needs them say checkout: {lfs: true}"}},
		{[]queue.Step{forge}, true, "*.png filter=lfs", nil},
	} {
		got := Unfetched(&queue.Config{Steps: x.steps}, x.modules, KeepsLFS(x.attributes))
		if len(got) != len(x.want) {
			t.Errorf("%+v: %q", x, got)
			continue
		}
		for i, want := range x.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%+v: %q has no %q", x, got[i], want)
			}
		}
	}
}
