package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// Three pull requests wait for the one build that runs; two of them at least land
// as one merge, each is told of the others, GitHub shows all as merged, and a new
// server recognises them on main.
func TestRollupLandsOnGitHub(t *testing.T) {
	h := newHub(t, hubOptions{slots: 1, files: map[string]string{
		".submitqueue.yml": oneStep + "queue: {batch: rollup}\n",
		"test.sh":          "sleep 0.4; for f in bad */bad; do test ! -e $f || { echo \"$f is bad\"; exit 1; }; done\n",
	}})
	h.proven()
	var all []int
	for i := range 6 {
		name := fmt.Sprint("topic", i)
		all = append(all, h.pull(name, map[string]string{name: "x\n"}))
	}
	for _, n := range all {
		h.Comment("ann", n, "/land")
	}
	for _, n := range all {
		h.settled(n)
	}
	h.green()
	together := 0
	for _, n := range all {
		v := h.change(n)
		if v.Phase != queue.Landed {
			t.Fatalf("#%d is %s, %+v", n, v.Phase, v.Reason)
		}
		if len(v.Verdict.Together) > 0 {
			together++
			h.landed(n, "landed together with")
			continue
		}
		h.landed(n)
	}
	if together < 2 {
		t.Fatalf("%d of %d landed together", together, len(all))
	}
	subjects := git(t, h.Dir(), "log", "--first-parent", "--format=%s", "main")
	if n := strings.Count(subjects, "Merge "); n >= len(all) || !strings.Contains(subjects, " and #") {
		t.Errorf("main is:\n%s", subjects)
	}
}
