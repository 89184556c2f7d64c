package speculation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// versioned is a quiet world whose main is proven under go/1.
func versioned(t *testing.T, steps string, truth ...rule) *world {
	t.Helper()
	w := quiet(t, steps, config.Rules{}, truth...)
	w.serve("go/1")
	w.waitOut()
	w.mustDecide("go/1")
	return w
}

func (w *world) mustDecide(version string) {
	w.Helper()
	m := w.core.State().Main
	if m.Analyzer != version || !w.core.facts.ProvenMain() {
		w.Fatalf("main is judged by %q, proven: %t; want %s", m.Analyzer, w.core.facts.ProvenMain(), version)
	}
}

// upgradeRuns are the builds there were of main under a newer version.
func (w *world) upgradeRuns() (n int) {
	for _, r := range w.runs {
		if r.build.Worth.Kind == queue.WorthUpgrade {
			n++
		}
	}
	return n
}

// TestUpgradeWithoutBuilds: what has passed under go/1 on commits where go/2 sees
// the same proves main under go/2, and a change that is being built is not built
// again.
func TestUpgradeWithoutBuilds(t *testing.T) {
	for _, first := range []string{"the switch", "its build"} {
		t.Run(first, func(t *testing.T) {
			w := versioned(t, unit)
			p := w.land(edit{"a/code": "fine"})
			w.settleDown()
			w.serve("go/2", "go/1")
			if first == "the switch" {
				w.settleDown()
				w.mustDecide("go/2")
			}
			w.waitOut()
			w.mustBe(p, queue.Landed)
			w.mustBuilds(p, 1)
			w.mustDecide("go/2")
			if n := w.upgradeRuns(); n != 0 {
				t.Errorf("%d builds under go/2, and all of it had passed", n)
			}
			q := w.land(edit{"a/code": "more", "b/code": "more"})
			w.waitOut()
			w.mustBe(q, queue.Landed)
			w.audit.final()
		})
	}
}

// TestUpgradeInIdleSlots: keys without a pass are built in free slots, and make way
// for changes; until they have passed, the elder version decides.
func TestUpgradeInIdleSlots(t *testing.T) {
	w := versioned(t, unit)
	clear(w.store.archive) // so that nothing is known of how it passed
	w.tell(queue.Capacity{Slots: 1})
	w.serve("go/2", "go/1")
	w.settleDown()
	if n := w.upgradeRuns(); n != 1 || len(w.going()) != 1 {
		t.Fatalf("%d builds under go/2, %d builds run", n, len(w.going()))
	}
	v := w.core.Queue("q").Upgrade
	if v == nil || v.From != "go/1" || v.To != "go/2" || v.Proven != 0 || v.Total != 3 {
		t.Fatalf("the queue shows %+v", v)
	}
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	if r := w.going(); len(r) != 1 || r[0].build.Change == "" {
		t.Fatalf("the change has to wait: %+v", r)
	}
	w.mustDecide("go/1")
	w.quiesce()
	w.mustBe(p, queue.Landed)
	w.mustBuilds(p, 1)
	for range 5 { // main is looked at again a minute after it has moved
		w.now = w.now.Add(minute)
		w.tell(queue.Tick{})
		w.quiesce()
	}
	w.mustDecide("go/2")
	if w.core.Queue("q").Upgrade != nil || w.upgradeRuns() < 2 {
		t.Errorf("%d builds under go/2; the queue shows %+v", w.upgradeRuns(), w.core.Queue("q").Upgrade)
	}
	w.audit.final()
}

// TestUpgradeOutlivesCrashes: the server stops in any turn of the proof and of
// the switch, and goes on from what is stored.
func TestUpgradeOutlivesCrashes(t *testing.T) {
	w := versioned(t, linted)
	clear(w.store.archive)
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	w.serve("go/2", "go/1")
	for n := 0; w.core.State().Main.Next != nil || w.core.State().Main.Analyzer == "go/1" || n < 40; n++ {
		if n > 400 {
			t.Fatal("no end of the upgrade")
		}
		w.now = w.now.Add(minute / 6)
		switch r := w.going(); {
		case n%4 == 3 && len(r) > 0:
			w.tell(w.advance(r[0])...)
		case len(w.waits) > 0:
			w.work(n % len(w.waits))
		default:
			w.tell(queue.Tick{})
		}
		w.mustRestart()
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.mustBuilds(p, 1+1) // its own, and on the whole tree
	w.mustDecide("go/2")
	w.audit.final()
}

// TestUpgradeFollowsMain: main moves again and again before the newer version has
// been looked at.
func TestUpgradeFollowsMain(t *testing.T) {
	w := versioned(t, unit)
	w.serve("go/2", "go/1")
	for i := range 3 {
		w.land(edit{"a/code": fmt.Sprint("t", i)})
		w.now++
		w.quiesce()
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "outside"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	w.mustDecide("go/2")
	w.audit.final()
}

// TestUpgradeThatFails: go/2 sees that a depends on b, which go/1 has not seen. a
// is red under it, so go/1 goes on, no change is rejected for that, and people are
// told. A repair lets go/2 in.
func TestUpgradeThatFails(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}, unless: "heal"})
	w.hiddenRed()
	w.serve("go/2", "go/1")
	w.waitOut()
	w.mustDecide("go/1")
	if v := w.core.Queue("q").Upgrade; v == nil || strings.Join(v.Red, " ") != "a" || v.Proven != 2 || v.Total != 3 {
		t.Fatalf("the queue shows %+v", v)
	}
	p := w.land(edit{"c/code": "fine"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.mustDecide("go/1")
	p = w.land(edit{"b/code": "heal"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	for range 40 {
		w.now = w.now.Add(minute)
		w.tell(queue.Tick{})
		w.quiesce()
	}
	w.mustDecide("go/2")
	w.audit.final()
}

// TestUpgradeThatFailsWithoutAName: what fails under go/2, and names no target, is run
// again with back-off, also after others have pushed to main.
func TestUpgradeThatFailsWithoutAName(t *testing.T) {
	w := quiet(t, "unit:exit-code:targets:test", config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
	w.hiddenRed()
	w.serve("go/2", "go/1")
	begin := w.now
	w.settleDown()
	for w.now.Sub(begin) < 30*minute {
		if going := w.going(); len(going) > 0 {
			w.now = w.now.Add(minute)
			w.tell(w.advance(going[0])...)
		} else {
			w.now = max(w.wake, w.now+1)
			w.tell(queue.Tick{})
		}
		w.settleDown()
	}
	if n := w.upgradeRuns(); n < 2 || n > 8 {
		t.Errorf("%d builds under go/2 within half an hour", n)
	}
	w.mustDecide("go/1")
}

// TestUpgradeThatIsBlind: go/2 cannot tell main's targets; it is asked again, and
// go/1 goes on.
func TestUpgradeThatIsBlind(t *testing.T) {
	w := versioned(t, unit)
	w.versions = []string{"go/2", "go/1"}
	w.tell(queue.MainMoved{Branch: "main"})
	for n := 0; w.core.State().Main.Next == nil; n++ {
		w.work(0)
	}
	for range 3 {
		var key string
		for _, a := range w.waits {
			if _, ok := a.Task.(queue.Survey); ok {
				key = a.Key
			}
		}
		w.tell(queue.Surveyed{Action: key, Commit: w.main, Analyzer: "go/2", Total: 1, Unknown: "tools/graph.sh: exit status 3"})
		w.settleDown()
		w.mustDecide("go/1")
		if v := w.core.Queue("q").Upgrade; v == nil || v.Unknown == "" {
			t.Fatalf("the queue shows %+v", v)
		}
		w.now = w.wake
		w.tell(queue.Tick{})
	}
	w.waitOut()
	w.mustDecide("go/2")
}

// TestDowngrade: the version in force is not known to the server; main is looked
// at under the newest that is, and what is in the queue lands.
func TestDowngrade(t *testing.T) {
	w := versioned(t, unit)
	w.serve("go/2", "go/1")
	w.waitOut()
	w.mustDecide("go/2")
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	before := len(w.runs)
	w.serve("go/1")
	w.settleDown()
	w.mustDecide("go/1")
	if n := len(w.runs) - before; n != 0 {
		t.Errorf("%d builds, and all of main had passed under go/1", n)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.mustBuilds(p, 1)
	w.audit.final()
}

// TestLateAnswersOfTheFormerVersion: what was asked for before the switch and is
// answered after it is not taken in.
func TestLateAnswersOfTheFormerVersion(t *testing.T) {
	w := versioned(t, unit)
	p := w.land(edit{"a/code": "fine"})
	for len(w.waits) > 0 {
		if _, resolve := w.waits[0].Task.(queue.Resolve); resolve {
			break
		}
		w.work(0)
	}
	late := w.waits[0]
	body := w.carryOut(late)
	w.serve("go/2", "go/1")
	for w.core.State().Main.Analyzer != "go/2" {
		at := 0
		for i, a := range w.waits {
			if _, resolve := a.Task.(queue.Resolve); !resolve {
				at = i
				break
			}
		}
		w.now++
		w.work(at)
	}
	w.tell(body...)
	for _, l := range w.core.State().Links {
		if l.Analyzer != "go/2" || l.Before != "go/2" {
			t.Errorf("link %s is of %s on %s", l.ID, l.Analyzer, l.Before)
		}
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// TestGateKeepsVersionsApart: a link that was told apart from its parent under
// another version than that one was proven under does not land.
func TestGateKeepsVersionsApart(t *testing.T) {
	all := func(queue.Key) bool { return true }
	link := func(parent, commit queue.CommitID, before, by string) *queue.Link {
		return &queue.Link{Parent: parent, Commit: commit, Outcome: queue.Merged, Before: before, Analyzer: by}
	}
	for name, x := range map[string]struct {
		main  string
		chain []*queue.Link
		ok    bool
	}{
		"one version":          {"1", []*queue.Link{link("m", "a", "1", "1"), link("a", "b", "1", "1")}, true},
		"other settings":       {"1", []*queue.Link{link("m", "a", "1", "x"), link("a", "b", "x", "x")}, true},
		"another than main's":  {"2", []*queue.Link{link("m", "a", "1", "1")}, false},
		"another in the chain": {"1", []*queue.Link{link("m", "a", "1", "1"), link("a", "b", "2", "2")}, false},
		"none":                 {"1", []*queue.Link{link("m", "a", "", "")}, false},
	} {
		if _, ok := Gate("m", x.main, x.chain, all); ok != x.ok {
			t.Errorf("%s: the gate says %t", name, ok)
		}
	}
}

// workBut carries out actions but those of some kinds.
func (w *world) workBut(kinds ...string) {
	w.Helper()
	for range 1000 {
		at := slices.IndexFunc(w.waits, func(a queue.Action) bool {
			kind, _ := a.Task.Name()
			return !slices.Contains(kinds, kind)
		})
		if at < 0 {
			return
		}
		w.now++
		w.work(at)
	}
	w.Fatalf("no end of actions")
}

// TestLandingsWaitForTheSwitch: where main is proven under the newer version each
// time that is looked at, and has moved by then, the next landing waits for one look.
func TestLandingsWaitForTheSwitch(t *testing.T) {
	w := versioned(t, unit)
	p, q := w.land(edit{"a/code": "fine"}), w.land(edit{"b/code": "fine"})
	w.settleDown()
	w.serve("go/2", "go/1")
	w.workBut("survey", "land")
	builds := w.going()
	if len(builds) != 2 {
		t.Fatalf("%d builds", len(builds))
	}
	w.tell(w.advance(builds[0])...)
	w.workBut("survey", "land")
	w.workBut("land") // main is seen proven under go/2 while a push is under way
	w.mustDecide("go/1")
	if n := w.core.State().Main.Next; n == nil || !n.Near || w.core.State().Push == nil {
		t.Fatalf("next is %+v, the push %+v", n, w.core.State().Push)
	}
	w.tell(w.advance(builds[1])...)
	w.workBut("survey", "land")
	w.workBut("survey") // main has moved
	if w.core.State().Push != nil {
		t.Fatal("the next landing does not wait")
	}
	w.settleDown()
	w.mustDecide("go/2")
	w.waitOut()
	for _, x := range []*pull{p, q} {
		w.mustBe(x, queue.Landed)
		w.mustBuilds(x, 1)
	}
	w.audit.final()
}

// TestRefutedWhileItsMergeIsMadeAgain: a change is turned down between the switch
// and the merge, made anew, of a change that was built on it. The merge shows that
// the build is of no use any more.
func TestRefutedWhileItsMergeIsMadeAgain(t *testing.T) {
	w := versioned(t, unit, rule{target: "a", all: []string{"bad"}})
	w.law.needs = map[string][]string{"b": {"a"}}
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "else"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	w.tell(queue.Capacity{Slots: 2})
	red := w.land(edit{"a/code": "bad"})
	w.settleDown()
	w.now = w.now.Add(minute)
	p := w.land(edit{"b/code": "fine"})
	w.settleDown()
	builds := w.going()
	if len(builds) != 2 || !slices.Contains(builds[1].build.Chain, w.mustBe(red, queue.Pending).ID) {
		t.Fatalf("%d builds", len(builds))
	}
	w.serve("go/2", "go/1")
	w.workBut("resolve")
	w.mustDecide("go/2")
	w.tell(w.mustTake("resolve")...) // of the one below
	w.tell(w.advance(builds[0])...)
	w.workBut("resolve")
	w.tell(w.mustTake("resolve")...)
	w.mustBe(red, queue.Rejected)
	if !w.core.State().Builds[builds[1].build.ID].Cancel {
		t.Error("what was built on it goes on")
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// TestLinksOfAnElderServer: a server that knows nothing of versions had the queue
// for a while. Changes that it has resolved are resolved again, and land.
func TestLinksOfAnElderServer(t *testing.T) {
	w := versioned(t, unit)
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	for _, l := range w.core.State().Links {
		l.Before, l.Analyzer = "", ""
		r, _, err := w.core.State().Encode(queue.Ref{Kind: queue.KindLink, ID: string(l.ID)})
		if err != nil {
			t.Fatal(err)
		}
		w.store.records[r.Ref] = r.Data
	}
	w.serve("go/1")
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.mustBuilds(p, 1)
	w.audit.final()
}

// TestRootThatAnElderServerForgot: a server that knows nothing of versions had the
// queue for a while and has removed the link of the keys unproven under go/2. Its
// absence is no proof.
func TestRootThatAnElderServerForgot(t *testing.T) {
	w := versioned(t, unit)
	clear(w.store.archive)
	w.tell(queue.Capacity{Slots: 1})
	w.serve("go/2", "go/1")
	w.settleDown()
	root := w.core.facts.NextRoot()
	if root == nil || len(w.going()) != 1 {
		t.Fatalf("root %+v, %d builds", root, len(w.going()))
	}
	delete(w.store.records, queue.Ref{Kind: queue.KindLink, ID: string(root.ID)})
	w.serve("go/2", "go/1")
	w.settleDown()
	w.mustDecide("go/1")
	w.waitOut()
	for n := 0; w.core.State().Main.Next != nil && n < 20; n++ {
		w.now = w.now.Add(minute)
		w.tell(queue.Tick{})
		w.quiesce()
	}
	w.mustDecide("go/2")
	if w.upgradeRuns() == 0 {
		t.Error("nothing was built under go/2")
	}
	w.audit.final()
}

// TestLateSurveyOfTheFormerVersion: what main was found to be under go/1 is told
// once more when it is being looked at under go/2. It is no answer to that.
func TestLateSurveyOfTheFormerVersion(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.serve("go/1")
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "outside"}))
	w.tell(queue.MainMoved{Branch: "main"})
	survey := func() int {
		return slices.IndexFunc(w.waits, func(a queue.Action) bool { _, yes := a.Task.(queue.Survey); return yes })
	}
	for survey() < 0 {
		w.work(0)
	}
	said := w.carryOut(w.waits[survey()])
	w.tell(said...)
	w.serve("go/2")
	for w.core.State().Main.Analyzer != "go/2" || survey() < 0 {
		w.work(0)
	}
	w.tell(said...)
	if m := w.core.State().Main; m.Analyzer != "go/2" {
		t.Fatalf("main is judged by %s", m.Analyzer)
	}
	w.waitOut()
	w.mustDecide("go/2")
	w.audit.final()
}

// TestUpgradeThatFailsOnABusyMain: what is red under go/2 is not built again each
// time that main has moved and is looked at.
func TestUpgradeThatFailsOnABusyMain(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	w.needs = map[string][]string{"a": {"b"}}
	w.blind = map[string]bool{"go/1": true}
	w.serve("go/1")
	w.waitOut()
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	w.serve("go/2", "go/1")
	w.waitOut()
	before := w.upgradeRuns()
	for i := range 20 {
		w.now = w.now.Add(minute)
		w.tell(queue.Tick{})
		p := w.land(edit{"c/code": fmt.Sprint("t", i)})
		w.waitOut()
		w.mustBe(p, queue.Landed)
	}
	w.mustDecide("go/1")
	if n := w.upgradeRuns() - before; n < 2 || n > 6 {
		t.Errorf("%d builds under go/2 within 20 minutes", n)
	}
	w.audit.final()
}
