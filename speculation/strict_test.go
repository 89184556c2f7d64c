package speculation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// strictly is a world whose steps run new targets three times; b is not there yet.
func strictly(t *testing.T, step string) *world {
	files := tree{stepsFile: step + " *3", barrier: "go1", unowned: "data", "a/code": "base", "b/code": "base deleted"}
	l := law{targets: []string{"a", "b"}, rules: []rule{{target: "b", all: []string{"bad"}}, {target: "a", all: []string{"bad"}}}}
	w := newWorld(t, l, files, rulesOf(config.Rules{Retries: 1}))
	w.begin(4)
	return w
}

// ranNew counts the runs of a target, by the number that the step gives them.
func ranNew(w *world, target string) string {
	n := map[int]int{}
	for _, r := range w.runs {
		for _, j := range r.build.Jobs {
			for _, k := range j.Keys {
				if k.Target == target {
					n[j.Step.Repeat]++
				}
			}
		}
	}
	return fmt.Sprint(n)
}

// A target that a change brings is run as often as strict_new says, and each run must pass;
// what has been there is run once. When it has landed, main is proven, with no run more, and
// the target is one like others.
func TestStrictWithNewTargets(t *testing.T) {
	for _, step := range []string{unit, shard} {
		t.Run(step, func(t *testing.T) {
			w := strictly(t, step)
			p := w.land(edit{"a/code": "x", "b/code": "-deleted"})
			w.waitOut()
			w.mustBe(p, queue.Landed)
			if a, b := ranNew(w, "a"), ranNew(w, "b"); a != "map[0:2]" || b != "map[1:1 2:1 3:1]" { // a on main, too
				t.Errorf("a was run %s, b %s", a, b)
			}
			if !w.core.facts.ProvenMain() {
				t.Error("main is not proven")
			}
			next := w.land(edit{"b/code": "y"})
			w.waitOut()
			w.mustBe(next, queue.Landed)
			if b := ranNew(w, "b"); b != "map[0:1 1:1 2:1 3:1]" {
				t.Errorf("once it was there, b was run %s", b)
			}
			w.audit.final()
		})
	}
}

// One failing run of a new target decides, though the rules run others again, and its pass
// elsewhere takes nothing back. The author is told of how many runs it was.
func TestStrictFailureDecides(t *testing.T) {
	for _, step := range []string{unit, shard} {
		t.Run(step, func(t *testing.T) {
			w := strictly(t, step)
			w.audit.trusting = true // what fails by chance is rejected: that is asked for
			failed := ""
			w.fresh = func(k queue.Key) bool {
				st, _ := queue.NewStepSet(stepsOf(w.commits[w.main].tree)).Step(k.Step)
				if st.Repeat != 2 || failed != "" {
					return false
				}
				failed = k.Target
				return true
			}
			p := w.land(edit{"b/code": "-deleted"})
			w.waitOut()
			ch := w.mustBe(p, queue.Rejected)
			if f := ch.Verdict.Failures; len(f) != 1 || f[0].Runs != 3 || f[0].Fails != 1 || strings.Join(f[0].Targets, " ") != "b" {
				t.Errorf("rejected with %+v", f)
			}
			twin := w.land(edit{"b/code": "-deleted"}) // the same content: what is known of it counts
			w.waitOut()
			w.mustBe(twin, queue.Rejected)
			if b := ranNew(w, "b"); b != "map[1:1 2:1 3:1]" {
				t.Errorf("b was run %s", b)
			}
			w.audit.final()
		})
	}
}

// What has been there before is run again when it fails, as without strict_new.
func TestStrictIsNotForOthers(t *testing.T) {
	w := strictly(t, unit)
	flakes := 1
	w.flake = func([]queue.Key) bool { flakes--; return flakes >= 0 }
	p := w.land(edit{"a/code": "x"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}
