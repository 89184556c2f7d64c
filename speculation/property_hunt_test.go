package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// TestAnyRedMain: after any pushes to main, in one go or in several, with flakes
// within the retries, lost machines and restarts at any moment, what is red on main in
// the end has its culprit, and at each turn a culprit is a commit on which the key truly
// turned red (audit.culprits).
func TestAnyRedMain(t *testing.T) {
	named := 0
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		h.hosts = hosts{}                              // with a broken one, a failure may need any number of runs to decide
		h.rules.BuildsPerHour, h.audit.brief = 0, true // reloading is drawn here
		h.rules.RedMain.Revert = []config.RevertPolicy{"", config.RevertPrepare, config.RevertPropose, config.RevertLand}[h.pick(4, "revert")]
		h.faulty()
		h.loses = func(*queue.Action) bool { return false }
		h.forgets = func(*queue.Build) bool { return false }
		h.divides = nil
		h.fails = func(*queue.Action) (bool, bool) { return h.chance(5, "action-fails"), true }
		h.begin(rapid.IntRange(1, 8).Draw(rt, "slots"))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		broken := []edit{{"a/code": "bad"}, {"c/code": "danger"}, {"b/code": "p", unowned: "q"}, {"b/code": "heal"}, {"a/code": "-bad"},
			{"u/shared": "danger"}, {"d/code": "q r"}, {"c/code": "-danger"}}
		for range 1 + h.pick(3, "pushes") {
			for i := range 1 + h.pick(12, "commits") {
				e := edit{h.targets[h.pick(4, "where")] + "/code": fmt.Sprint("v", h.next, ".", i)}
				if h.chance(15, "breaks") {
					e = broken[h.pick(len(broken), "how")]
				}
				h.commitOutside(h.commits[h.main].tree.with(e))
			}
			h.tell(queue.MainMoved{Branch: "main"})
			for range h.pick(12, "turns") {
				h.act()
				h.build()
				if h.chance(10, "restart") {
					h.mustRestart()
				}
			}
		}
		h.faults = faults{footless: h.footless}
		h.tell(queue.MainMoved{Branch: "main"})
		for range 60 { // the back-offs of lost machines, and of what was to be tried again
			for range 40 {
				h.settleDown()
				if going := h.going(); len(going) > 0 {
					h.now = h.now.Add(time.Second)
					h.tell(h.advance(going[0])...)
					continue
				}
				break
			}
			if len(h.going()) == 0 && h.wake > h.now && h.wake.Sub(h.now) < 20*time.Minute {
				h.now = h.wake
				h.tell(queue.Tick{})
			}
		}
		s := h.core.s
		if s.Main.Tip != h.main || s.Main.Surveyed != h.main {
			rt.Fatalf("main is not known")
		}
		root := h.core.facts.Root()
		if root == nil {
			return
		}
		for _, k := range root.Keys {
			st, _ := h.core.facts.Links.Step(root, k)
			if h.green(h.commits[h.main].tree, k) || h.core.s.Ledger[k.ID()] == nil || len(h.core.s.Ledger[k.ID()].Failures) == 0 {
				continue // of an opaque step the audit looks at what is said
			}
			var found *queue.Culprit
			opaque := false
			for _, id := range derived.Sorted(s.Hunts) {
				x := s.Hunts[id]
				for i := range x.Trails {
					if tr := &x.Trails[i]; tr.Step == st.Name && slices.Contains(tr.Targets, k.Target) && tr.Over == 0 {
						found, opaque = x.CulpritOf(tr), opaque || tr.Opaque
					}
				}
			}
			if found == nil && !opaque { // the audit has looked at the others
				rt.Fatalf("%s on %s is red, and nobody is named", st.Name, k.Target)
			}
			named++
		}
	})
	t.Logf("%d culprits", named)
	if named == 0 && long {
		t.Error("nothing was ever red")
	}
}
