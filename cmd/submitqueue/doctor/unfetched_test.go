package doctor

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestUnfetched(t *testing.T) {
	runs := config.Step{Name: "unit", Run: "go test"}
	filled := config.Step{Name: "deep", Run: "make", Checkout: config.Checkout{Submodules: config.SubmodulesAll}}
	needless := config.Step{Name: "lint", Run: "make", Checkout: config.Checkout{Submodules: config.SubmodulesOff}}
	fetched := config.Step{Name: "assets", Run: "make", Checkout: config.Checkout{LFS: config.SwitchOn}}
	textual := config.Step{Name: "vet", Run: "make", Checkout: config.Checkout{LFS: config.SwitchOff}}
	forge := config.Step{Name: "ci", Checks: []config.Check{{Name: "test"}}}
	for _, x := range []struct {
		steps      []config.Step
		modules    bool
		attributes string
		want       []string // each in a line
	}{
		{[]config.Step{runs, forge}, true, "", []string{"leave submodules empty, for unit;"}},
		{[]config.Step{runs, forge}, false, "*.go text\n*.png filter=lfs diff=lfs merge=lfs -text\n", []string{"hold pointers in their place, for unit;"}},
		{[]config.Step{runs}, true, "a\tfilter=lfs", []string{"submodules empty", "hold pointers"}},
		{[]config.Step{runs}, false, "# *.png filter=lfs\n*.bin filter=lfsx\n", nil},
		{[]config.Step{runs, filled, needless}, true, "", []string{"empty, for unit; for a step that needs them say checkout: {submodules: true}"}},
		{[]config.Step{filled, needless}, true, "*.png filter=lfs", []string{"in their place, for deep, lint;"}},
		{[]config.Step{fetched, textual, runs}, false, "*.png filter=lfs", []string{"in their place, for unit; for a step that needs them say checkout: {lfs: true}"}},
		{[]config.Step{forge}, true, "*.png filter=lfs", nil},
	} {
		got := Unfetched(&config.Config{Steps: x.steps}, x.modules, KeepsLFS(x.attributes))
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
