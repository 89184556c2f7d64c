package speculation

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var rolling = config.Rules{Batch: config.BatchRollup, BatchMax: 4}

// main returns main's first-parent line, newest first, without the root.
func (w *world) landings() []*commit {
	line := w.line(w.main)
	return line[:len(line)-1]
}

// partnered holds that each of some changes is shown the others as those it lands
// with, or as those it shares a build with.
func (w *world) partnered(rollup, shares []queue.ChangeID) {
	others := func(ids []queue.ChangeID, but queue.ChangeID) []queue.ChangeID {
		return slices.DeleteFunc(slices.Sorted(slices.Values(ids)), func(id queue.ChangeID) bool { return id == but })
	}
	for _, id := range append(slices.Clone(rollup), shares...) {
		v, _ := w.core.View(id)
		got := v.Partners()
		if !slices.Equal(others(got.Rollup, ""), others(rollup, id)) || !slices.Equal(others(got.Shares, ""), others(shares, id)) {
			w.Fatalf("%s is shown %+v; it is in rollup %v and shares with %v", id, got, rollup, shares)
		}
	}
}

// Three changes of the same target wait for one slot: they are built once, land
// as one first-parent merge whose parents are main and their heads, and each has
// a verdict of its own that names the others.
func TestARollupLandsAsOneMerge(t *testing.T) {
	w, pulls := lineUp(t, unit, rolling, edit{"a/code": "x"}, edit{"a/code": "y"}, edit{"a/code": "z"})
	going := w.going()
	if len(going) != 1 || len(going[0].build.For()) != 3 {
		t.Fatalf("%d builds: %+v", len(going), going)
	}
	if b := going[0].build; !slices.Equal(b.Worth.With, b.For()) {
		t.Errorf("it is said to be for %v; it is for %v", b.Worth.With, b.For())
	}
	if c := w.commits[going[0].build.Commit]; c.parent != w.main || len(c.carries()) != 3 || len(c.merged()) != 3 {
		t.Fatalf("the commit that is built is %+v on main %s", c, w.main)
	}
	for _, p := range pulls {
		if v, _ := w.core.View(w.change(p).ID); v.Outlook.Next.Code != queue.ReasonWaitsBuild {
			t.Errorf("%s, in whose build it is, is said to wait: %+v", v.Change.ID, v.Outlook.Next)
		}
	}
	all := going[0].build.For()
	w.partnered(all, nil)
	w.waitOut()
	w.partnered(all, nil)
	top := w.landings()[0]
	if len(top.carries()) != 3 {
		t.Fatalf("main ends in %+v", top)
	}
	for _, p := range pulls {
		if ch := w.change(p); ch.Phase != queue.Landed || ch.Verdict.Commit != top.id || len(ch.Verdict.Together) != 2 ||
			!ch.Verdict.Tested || ch.Verdict.Reused != 0 || ch.Builds != 1 {
			t.Errorf("%s is %s, verdict %+v", ch.ID, ch.Phase, ch.Verdict)
		}
	}
	w.audit.final()
}

// A red commit in between is never on main: the second change mends what
// the first breaks, and alone the first could not land.
func TestARollupHasNoCommitInBetween(t *testing.T) {
	w, pulls := lineUp(t, unit, rolling, edit{"b/code": "bad x"}, edit{"b/code": "-bad heal"})
	w.rules.Retries = 0
	w.law.rules = []rule{{target: "b", all: []string{"bad"}, unless: "heal"}}
	w.waitOut()
	top := w.landings()[0]
	for _, p := range pulls {
		if ch := w.change(p); ch.Phase != queue.Landed || ch.Verdict.Commit != top.id {
			t.Errorf("%s is %s, verdict %+v", ch.ID, ch.Phase, ch.Verdict)
		}
	}
	w.audit.final()
}

// A rollup with a broken member is given up; the member is rejected by what its
// own merge on main has shown, and the others land.
func TestARollupIsGivenUp(t *testing.T) {
	w, pulls := lineUp(t, unit, rolling, edit{"b/code": "x"}, edit{"b/code": "bad"}, edit{"b/code": "y"})
	if going := w.going(); len(going) != 1 || len(going[0].build.For()) != 3 {
		t.Fatalf("%d builds: %+v", len(going), going)
	}
	w.waitOut()
	for i, want := range []queue.Phase{queue.Landed, queue.Rejected, queue.Landed} {
		ch := w.change(pulls[i])
		if ch.Phase != want || ch.Rollup != "" {
			t.Errorf("%s is %s, %+v, in rollup %q", ch.ID, ch.Phase, ch.Reason, ch.Rollup)
		}
		if want == queue.Rejected {
			for _, f := range ch.Verdict.Failures {
				// If others of the build have landed since, it is the change on main.
				if c := w.commits[f.Ran.Commit]; f.Ran.Change != ch.ID || !maps.Equal(c.tree, w.commits[ch.Verdict.Commit].tree) || len(w.commits[ch.Verdict.Commit].carries()) != 1 {
					t.Errorf("%s is rejected by a build of %v", ch.ID, c.carries())
				}
			}
		}
	}
	w.audit.final()
}

// Members that git cannot merge together are alone again, and have verdicts.
func TestARollupThatDoesNotMerge(t *testing.T) {
	w, pulls := lineUp(t, unit, rolling, edit{"a/code": "x", "x/a": "one"}, edit{"a/code": "y", "x/a": "two"})
	w.waitOut()
	for i, want := range []queue.Phase{queue.Landed, queue.Rejected} {
		if ch := w.change(pulls[i]); ch.Phase != want {
			t.Errorf("%s is %s, %+v", ch.ID, ch.Phase, ch.Reason)
		}
	}
	w.audit.final()
}

// Main shows a rollup that the state knows nothing of: each member is settled by
// its own trailers.
func TestARollupIsRecognised(t *testing.T) {
	w, pulls := lineUp(t, unit, rolling, edit{"a/code": "x"}, edit{"a/code": "y"})
	var picks []queue.Pick
	for _, p := range pulls {
		picks = append(picks, pickOf(w.change(p)))
	}
	c := w.mergeAll(w.main, picks)
	for _, x := range c.carries() {
		w.audit.ours[c.id] = append(w.audit.ours[c.id], x.Change)
	}
	w.main = c.id
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	for _, p := range pulls {
		if ch := w.change(p); ch.Phase != queue.Landed || ch.Verdict.Commit != c.id {
			t.Errorf("%s is %s, %+v", ch.ID, ch.Phase, ch.Verdict)
		}
	}
	w.audit.final()
}

// Without overload, or with little work in common, no changes are joined.
func TestWhoIsNotRolledUp(t *testing.T) {
	for name, edits := range map[string][]edit{
		"one waits":         {{"a/code": "x"}},
		"other work":        {{"a/code": "x"}, {"a/code": "y", "b/code": "y", "c/code": "y"}},
		"nothing in common": {{"a/code": "x"}, {"b/code": "y"}},
	} {
		w, _ := lineUp(t, unit, rolling, edits...)
		w.waitOut()
		for _, c := range w.landings() {
			if len(c.carries()) > 1 {
				t.Errorf("%s: %+v landed together", name, c.carries())
			}
		}
		w.audit.final()
	}
}

// Results of a rollup count for changes behind it that were built on its members
// one by one: the targets are the same.
func TestResultsOutliveARollup(t *testing.T) {
	w, pulls := lineUp(t, unit, rolling, edit{"a/code": "x"}, edit{"a/code": "y"})
	w.tell(queue.Capacity{Slots: 2})
	late := w.open(w.main, edit{"a/code": "late", "b/code": "late"})
	w.step(w.say(late, "dev", "/land"))
	w.waitOut()
	for _, p := range append(slices.Clone(pulls), late) {
		if ch := w.change(p); ch.Phase != queue.Landed {
			t.Errorf("%s is %s", ch.ID, ch.Phase)
		}
	}
	if n := len(w.runs); n > 4 {
		t.Errorf("%d builds for main, the first, the rollup and the last", n)
	}
	w.audit.final()
}

// A change that mends a red main goes before all that wait for it, and is not held
// up to join them.
func TestARepairLandsUnderRollups(t *testing.T) {
	for name, repair := range map[string]edit{"by its keys": {"b/code": "heal"}, "by taking the target away": {"b/code": "deleted"}} {
		t.Run(name, func(t *testing.T) {
			rules := rolling
			rules.External = config.ExternalHold
			w, _ := lineUp(t, unit, rules)
			w.law.rules = []rule{{target: "b", all: []string{"bad"}, unless: "heal"}}
			w.waitOut()
			w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "bad"}))
			w.tell(queue.MainMoved{Branch: "main"})
			w.quiesce()
			if w.core.State().Main.Root == "" {
				t.Fatal("main is not red")
			}
			var pulls []*pull
			for _, e := range []edit{{"a/code": "x"}, repair, {"b/code": "y"}} {
				p := w.open(w.main, e)
				pulls = append(pulls, p)
				w.step(w.say(p, "dev", "/land"))
				w.settleDown()
			}
			w.waitOut()
			for i, p := range pulls {
				if ch := w.change(p); ch.Phase != queue.Landed {
					t.Errorf("%d is %s, %+v, rollup %q", i, ch.Phase, ch.Reason, ch.Rollup)
				}
			}
			w.audit.final()
			if t.Failed() {
				for _, x := range w.log {
					t.Log(x)
				}
			}
		})
	}
}

// alike knows no pair that could break.
type alike struct{ trusting }

func (alike) Conflict(*queue.Change, *queue.Change) float64 { return 0 }

// While the first part of a failed rollup is being tried, one of the rest is moved before it. It does
// not wait for what is behind it now, nor is that told to wait for itself.
func TestTheRestOfARollupIsMovedToTheFront(t *testing.T) {
	rules := rolling
	rules.Retries = 1
	rules.Lanes, rules.DefaultLane = []config.Lane{{Name: "high", Least: "write"}, {Name: "normal", MaxWait: 10 * time.Hour}}, "normal"
	w, _ := lineUp(t, unit, rules, edit{"b/code": "v"})
	w.core.facts.Beliefs.Ask(alike{})
	var pulls []*pull
	for _, word := range []string{"bad", "z"} {
		p := w.open(w.main, edit{"b/code": word})
		pulls = append(pulls, p)
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
	}
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	w.now++
	w.tell(queue.Tick{})
	w.settleDown()
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	last := pulls[1]
	if w.change(last).After == "" {
		t.Fatal("the last is no rest of a rollup")
	}
	w.step(w.say(last, "dev", "/land priority=high"))
	w.settleDown()
	if ch := w.change(last); ch.After != "" {
		t.Errorf("it is the first, and is tried after %s", ch.After)
	}
	w.waitOut()
	for i, want := range []queue.Phase{queue.Rejected, queue.Landed} {
		if ch := w.change(pulls[i]); ch.Phase != want {
			t.Errorf("%s is %s, %+v", ch.ID, ch.Phase, ch.Course)
		}
	}
	w.audit.final()
}

// A rollup of four whose third is bad is split down to it: the first two land together
// without being built apart, that the other two fail is known by then, the third is run
// again before it is rejected, and the fourth is no longer held up.
func TestARollupIsSplitDownToTheCulprit(t *testing.T) {
	rules := rolling
	rules.Retries = 1
	w, _ := lineUp(t, unit, rules, edit{"b/code": "v"})
	w.core.facts.Beliefs.Ask(alike{})
	var pulls []*pull
	for _, word := range []string{"w", "x", "bad", "z"} {
		p := w.open(w.main, edit{"b/code": word})
		pulls = append(pulls, p)
		w.step(w.say(p, "dev", "/land"))
		w.settleDown()
	}
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	w.now++
	w.tell(queue.Tick{})
	w.settleDown()
	var ids []queue.ChangeID
	for _, p := range pulls {
		ids = append(ids, w.change(p).ID)
	}
	going := w.going()
	if len(going) != 1 || !slices.Equal(going[0].build.For(), ids) || going[0].build.Worth.AllGood == 0 || going[0].build.Worth.PerLanding >= going[0].build.Worth.OneByOne {
		t.Fatalf("%d builds: %+v", len(going), going)
	}
	w.tell(w.advance(going[0])...)
	w.settleDown()
	for i, p := range pulls {
		ch := w.change(p)
		v, _ := w.core.View(ch.ID)
		if after := ch.After; i < 2 != (after == "") || i >= 2 && after != ids[0] {
			t.Errorf("%s is tried after %q", ch.ID, after)
		}
		if i >= 2 && !slices.ContainsFunc(v.Waits, func(r queue.Reason) bool {
			return r.Code == queue.ReasonWaitsSplit && slices.Equal(r.Names, idStrings(ids[:2]))
		}) {
			t.Errorf("%s is said to wait for %+v", ch.ID, v.Waits)
		}
	}
	if going := w.going(); len(going) != 1 || !slices.Equal(going[0].build.For(), ids[:2]) {
		t.Fatalf("%d builds: %+v", len(going), going)
	}
	w.waitOut()
	for i, want := range []queue.Phase{queue.Landed, queue.Landed, queue.Rejected, queue.Landed} {
		if ch := w.change(pulls[i]); ch.Phase != want || ch.Rollup != "" || ch.After != "" {
			t.Errorf("%s is %s, %+v", ch.ID, ch.Phase, ch.Course)
		}
	}
	if a, b := w.change(pulls[0]).Verdict.Commit, w.change(pulls[1]).Verdict.Commit; a != b {
		t.Errorf("the first two land as %s and %s", a, b)
	}
	of := map[string]int{}
	for _, r := range w.runs {
		of[strings.Join(idStrings(r.build.For()), " ")]++
	}
	if together := of[strings.Join(idStrings(ids), " ")]; together != 1 || of[string(ids[0])]+of[string(ids[1])] != 0 || of[string(ids[2])] != 2 {
		t.Errorf("builds by whom they are for: %v", of)
	}
	w.audit.final()
}
