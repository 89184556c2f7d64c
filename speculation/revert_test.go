package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// reverting is redWorld with a policy for reverts.
func reverting(t *testing.T, policy config.RevertPolicy, steps string, edits ...edit) (*world, []queue.CommitID) {
	t.Helper()
	w, pushed := redWorld(t, steps, 0, 4)
	w.rules.RedMain.Revert = policy
	w.commitOutside(w.commits[w.main].tree.with(edit{"u/new": "rules"})) // main has the rules from here on
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	for _, e := range edits {
		w.commitOutside(w.commits[w.main].tree.with(e))
		pushed = append(pushed, w.main)
	}
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	return w, pushed
}

func (w *world) revertOf() *queue.Revert {
	w.Helper()
	h := w.hunt()
	if len(h.Culprits) != 1 || h.Culprits[0].Revert == nil {
		w.Fatalf("culprits %+v", h.Culprits)
	}
	return h.Culprits[0].Revert
}

// A revert is made on main as it is, with all that came after the culprit, and built;
// no pull request is opened, and nothing lands.
func TestRevertIsProven(t *testing.T) {
	for _, steps := range []string{unit, "unit:exit-code:targets:test", unit + " lint:exit-code:repository:lint"} {
		w, pushed := reverting(t, config.RevertPrepare, steps, edit{"a/code": "1", "b/code": "1"}, edit{"a/code": "bad"}, edit{"a/code": "2"}, edit{"b/code": "2"})
		r := w.revertOf()
		if r.State != queue.RevertProven || r.On != w.main || w.commits[r.Commit].parent != w.main || r.Number != 0 || len(w.pulls) != 0 {
			t.Fatalf("%s: %+v of %v", steps, r, pushed)
		}
		if got := w.commits[r.Commit].tree["a/code"]; setOf(got)["bad"] || !setOf(got)["2"] {
			t.Errorf("%s: the revert leaves %q", steps, got)
		}
		if w.main != pushed[3] {
			t.Errorf("%s: main has moved", steps)
		}
	}
}

// With another cause behind it main stays red, and that is said; a revert that does not
// merge is said, too. Neither is proposed.
func TestRevertThatDoesNotHelp(t *testing.T) {
	for name, x := range map[string]struct {
		steps string
		edits []edit
		want  queue.HuntProof
	}{
		"red all the same":   {unit, []edit{{"a/code": "bad", "x/a": "1"}, {"b/code": "bad", unowned: "bad"}}, queue.RevertFails},
		"conflict":           {unit, []edit{{"a/code": "bad", "x/a": "1"}, {"x/a": "2"}}, queue.RevertConflict},
		"gone, and red anew": {unit, []edit{{"a/code": "bad"}, {"a/code": "-bad", unowned: "bad"}}, queue.RevertFails},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := reverting(t, config.RevertLand, x.steps, x.edits...)
			h := w.hunt()
			for _, c := range h.Culprits {
				if c.Revert == nil || c.Revert.Number != 0 || c.Revert.Landing {
					t.Fatalf("%+v", c.Revert)
				}
			}
			if !slices.ContainsFunc(h.Culprits, func(c queue.Culprit) bool { return c.Revert.State == x.want }) && name != "gone, and red anew" {
				t.Fatalf("%+v", h.Culprits[0].Revert)
			}
			if len(w.pulls) != 0 {
				t.Errorf("%d pull requests", len(w.pulls))
			}
		})
	}
}

// A proven revert is proposed once, with turns lost at any point, and not landed.
func TestRevertIsProposedOnce(t *testing.T) {
	w, pushed := reverting(t, config.RevertPropose, unit, edit{"a/code": "bad"}, edit{"a/code": "2"})
	r := *w.revertOf()
	if r.Number == 0 || w.pulls[r.Number].head != r.Commit || len(w.pulls) != 1 {
		t.Fatalf("%+v", r)
	}
	w.mustRestart()
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "3"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if again := w.revertOf(); again.Number != r.Number || len(w.pulls) != 1 {
		t.Errorf("%+v, %d pull requests", again, len(w.pulls))
	}
	if len(w.audit.ours) != 0 || w.main == pushed[0] {
		t.Errorf("the queue has landed %v", w.audit.ours)
	}
}

// A forge that opens none is told of, and not asked again.
func TestRevertThatTheForgeRefuses(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4)
	asked := 0
	w.proposes = func(queue.Propose) string { asked++; return "no" }
	w.rules.RedMain.Revert = config.RevertPropose
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	w.tell(queue.Tick{})
	w.quiesce()
	if r := w.revertOf(); r.Trouble != "no" || asked != 1 {
		t.Errorf("%+v, asked %d times", r, asked)
	}
}

// By itself it lands as any change does, without a person's permission; and main is green
// by it.
func TestRevertLandsByItself(t *testing.T) {
	w, pushed := reverting(t, config.RevertLand, unit, edit{"a/code": "bad"}, edit{"a/code": "2"}, edit{"b/code": "2"})
	if w.main == pushed[2] || !w.core.facts.ProvenMain() {
		t.Fatalf("main is %s, proven %t; %+v", w.main, w.core.facts.ProvenMain(), w.hunt().Culprits[0].Revert)
	}
	if got := setOf(w.commits[w.main].tree["a/code"]); got["bad"] || !got["2"] {
		t.Errorf("main has %v", got)
	}
	r := w.revertOf()
	ch := w.core.s.Changes[w.core.s.Pulls[r.Number].Last]
	if ch == nil || ch.Phase != queue.Landed || !ch.Own || ch.Requester != ourName {
		t.Errorf("%+v", ch)
	}
	if h := w.hunt(); h.End != queue.HuntRepaired {
		t.Errorf("%+v", h)
	}
}

// Somebody else may repair main first: then nothing is taken back.
func TestRevertIsWithdrawn(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4)
	w.rules.RedMain.Revert = config.RevertLand
	w.refusesIf = func(*queue.Push) string { return "not now" }
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	n := w.revertOf().Number
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "heal"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	w.refusesIf = nil
	w.tell(queue.Tick{})
	w.quiesce()
	if ch := w.core.facts.Links.Active(n); n == 0 || ch != nil || !setOf(w.commits[w.main].tree["a/code"])["bad"] {
		t.Errorf("pull request %d: %+v; main has %v", n, ch, w.commits[w.main].tree["a/code"])
	}
}

// While main moves, the revert is made again on what it is then.
func TestRevertFollowsMain(t *testing.T) {
	w, _ := reverting(t, config.RevertPrepare, unit, edit{"a/code": "bad", "x/a": "1"})
	first := *w.revertOf()
	w.commitOutside(w.commits[w.main].tree.with(edit{"x/a": "2"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if r := w.revertOf(); first.State != queue.RevertProven || r.State != queue.RevertConflict || r.On != w.main || !slices.Equal(r.Conflicts, []string{"x/a"}) {
		t.Errorf("first %+v, then %+v", first, r)
	}
}

// The check on main's tip: red with the tip, changed when more is known, and green on
// the tip that is proven again; none where main was never red.
func TestMainIsTold(t *testing.T) {
	w, pushed := reverting(t, config.RevertOff, unit, edit{"b/code": "1"}, edit{"a/code": "bad"}, edit{"a/code": "2"})
	if len(w.toldMain) == 0 {
		t.Fatal("nothing was said")
	}
	for _, x := range w.toldMain {
		if !x.Red || x.Commit != pushed[2] {
			t.Fatalf("%+v", x)
		}
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "heal"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if last := w.toldMain[len(w.toldMain)-1]; last.Red || last.Commit != w.main {
		t.Fatalf("%+v", last)
	}
	said := len(w.toldMain)
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "more"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if len(w.toldMain) != said {
		t.Errorf("a green main that was green is told of: %+v", w.toldMain[said:])
	}
}

// While a revert is being proposed main may move: what is proposed then is what is asked
// to land, and no other is made beside it.
func TestRevertIsProposedWhileMainMoves(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4)
	w.rules.RedMain.Revert = config.RevertLand
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	at := func() int {
		return slices.IndexFunc(w.waits, func(a queue.Action) bool { _, ok := a.Task.(queue.Propose); return ok })
	}
	for range 1000 {
		if at() >= 0 {
			break
		}
		if len(w.waits) > 0 {
			w.now++
			w.work(0)
		} else {
			w.tell(w.advance(w.going()[0])...)
		}
	}
	late := w.waits[at()]
	w.waits = slices.Delete(slices.Clone(w.waits), at(), at()+1)
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "2"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	w.tell(w.carryOut(late)...)
	w.quiesce()
	if len(w.pulls) != 1 || !w.core.facts.ProvenMain() || setOf(w.commits[w.main].tree["a/code"])["bad"] {
		t.Errorf("%+v; main has %v", w.hunt().Culprits[0].Revert, w.commits[w.main].tree)
	}
}

// Main's configuration asks in no person's name: permissions of that name do not count,
// and the requirements of the forge hold.
func TestRevertMeetsRequirements(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4)
	w.requires = true
	w.rules.RedMain.Revert = config.RevertLand
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	bad := w.main
	w.lackAll = []queue.Requirement{{Kind: queue.RequireReviews}}
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	r := w.revertOf()
	if ch := w.core.facts.Links.Active(r.Number); ch == nil || ch.Phase != queue.Parked || w.main != bad {
		t.Fatalf("%+v", ch)
	}
	w.pulls[r.Number].lacks, w.lackAll = nil, nil
	w.tell(queue.Stirred{Number: r.Number})
	w.quiesce()
	if w.main == bad || !w.core.facts.ProvenMain() {
		t.Errorf("%+v", w.core.facts.Links.Active(r.Number))
	}
}

// Accusations of a culprit may grow after its revert is proven: then the revert is proven
// anew, by all of them.
func TestRevertIsProvenByAllOfIt(t *testing.T) {
	for retries := range 3 {
		w, _ := redWorld(t, "unit:exit-code:targets:test vet:go-test-json:targets:vet", retries, 4)
		w.rules.RedMain.Revert = config.RevertPrepare
		w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
		bad := w.main
		w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "worse"}))
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		found := false
		for _, id := range derived.Sorted(w.core.s.Hunts) {
			for _, x := range w.core.s.Hunts[id].Culprits {
				if x.Commit == bad && x.Revert != nil {
					found = true
					if x.Revert.State != queue.RevertFails {
						t.Errorf("%d retries: %+v of %+v", retries, x.Revert, x)
					}
				}
			}
		}
		if !found {
			t.Errorf("%d retries: no revert of %s", retries, bad)
		}
	}
}

// So it is if all this is within one moment of the clock.
func TestRevertIsProvenAnewWithinAMoment(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4)
	w.rules.RedMain.Revert = config.RevertPropose
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	proposes := func() string {
		for _, key := range derived.Sorted(w.core.s.Actions) {
			if _, ok := w.core.s.Actions[key].Task.(queue.Propose); ok {
				return key
			}
		}
		return ""
	}
	for proposes() == "" {
		if len(w.waits) > 0 {
			w.work(0)
		} else {
			w.tell(w.advance(w.going()[0])...)
		}
	}
	h := w.hunt()
	x := &h.Culprits[0]
	old := *x.Revert
	w.core.upkeep.done(proposes())
	h.Trails[0].Targets = with(h.Trails[0].Targets, "b")
	w.core.hunting.reverts()
	if r := x.Revert; old.State != queue.RevertProven || r.State != queue.RevertTrying || r.Change == old.Change || proposes() != "" {
		t.Errorf("a revert that was proven for a counts for b: %+v, before %+v", r, old)
	}
}

// The commits behind a culprit that its revert concerns are named: those that touch what
// it touches, and those with which it does not merge; and no others. When main moves,
// they are named anew.
func TestLaterCommitsAreNamed(t *testing.T) {
	w, pushed := reverting(t, config.RevertPrepare, unit, edit{"a/code": "1"}, edit{"a/code": "bad", "x/a": "1"}, edit{"b/code": "1"}, edit{"a/code": "2"})
	x := w.hunt().Culprits[0]
	if len(x.Later) != 1 || x.Later[0].Commit != pushed[3] || !slices.Equal(x.Later[0].Targets, []string{"a"}) || len(x.Later[0].Paths) != 0 || x.Weighed != w.main {
		t.Fatalf("%+v of %v", x.Later, pushed)
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"x/a": "2"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	x = w.hunt().Culprits[0]
	if len(x.Later) != 2 || x.Later[1].Commit != w.main || !slices.Equal(x.Later[1].Paths, []string{"x/a"}) {
		t.Errorf("%+v", x.Later)
	}
}

// A proven revert is a repair, also while main, which has moved since, has not failed often
// enough to be called red: it waits for no further run of main.
func TestRevertIsARepair(t *testing.T) {
	w, _ := redWorld(t, "unit:exit-code:targets:test", 1, 4)
	w.protected = true
	w.rules.RedMain.Revert = config.RevertLand
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	for len(w.core.s.Hunts) == 0 || len(w.hunt().Culprits) == 0 {
		if len(w.waits) > 0 {
			w.now++
			w.work(0)
		} else {
			w.now = w.now.Add(minute)
			w.tell(w.advance(w.going()[0])...)
		}
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "2"}))
	w.tell(queue.MainMoved{Branch: "main"})
	began := w.now
	w.quiesce()
	if !w.core.facts.ProvenMain() || w.now.Sub(began) > 2*minute {
		t.Errorf("main proven: %t, after %v", w.core.facts.ProvenMain(), w.now.Sub(began))
	}
}

// Main's configuration has it no more that reverts land by themselves, while one waits:
// it does not land, and its pull request stays for people. When it has that again, the
// revert lands.
func TestRevertThatMayNotLandAnyMore(t *testing.T) {
	for _, policy := range []config.RevertPolicy{config.RevertPropose, config.RevertPrepare, config.RevertOff} {
		w, _ := redWorld(t, unit, 0, 4)
		w.requires = true
		w.rules.RedMain.Revert = config.RevertLand
		w.lackAll = []queue.Requirement{{Kind: queue.RequireReviews}}
		w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		n := w.revertOf().Number
		if ch := w.core.facts.Links.Active(n); n == 0 || ch == nil || ch.Phase != queue.Parked {
			t.Fatalf("#%d: %+v", n, ch)
		}
		w.rules.RedMain.Revert = policy
		w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "1"}))
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		if ch := w.core.facts.Links.Active(n); ch != nil || !w.pulls[n].open {
			t.Errorf("%s: #%d is in the queue, %s: %+v", policy, n, ch.Phase, ch.Reason)
		}
		w.pulls[n].lacks, w.lackAll = nil, nil
		w.rules.RedMain.Revert = config.RevertLand
		w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "2"}))
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		if setOf(w.commits[w.main].tree["a/code"])["bad"] || len(w.pulls) != 1 {
			t.Errorf("%s: it may land again, and has not: %+v", policy, w.hunt().Culprits[0].Revert)
		}
	}
}

// The revert of a culprit is merged onto a commit that main has just moved to, before it is known
// what is red there: that has to pass with it, too.
func TestRevertIsMergedBeforeMainIsSurveyed(t *testing.T) {
	w, _ := redWorld(t, "unit:exit-code:targets:test", 0, 4)
	w.rules.RedMain.Revert = config.RevertPropose
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	bad := w.main
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "worse"}))
	w.tell(queue.MainMoved{Branch: "main"})
	isResolve := func(a queue.Action) bool {
		r, ok := a.Task.(queue.Resolve)
		return ok && slices.ContainsFunc(r.Picks, func(p queue.Pick) bool { return p.Revert == bad })
	}
	isSurvey := func(a queue.Action) bool { _, ok := a.Task.(queue.Survey); return ok }
	for range 1000 {
		if slices.ContainsFunc(w.waits, isResolve) {
			break
		}
		if len(w.waits) > 0 {
			w.now++
			w.work(0)
		} else if len(w.going()) > 0 {
			w.now = w.now.Add(minute)
			w.tell(w.advance(w.going()[0])...)
		} else {
			t.Fatal("no revert is tried")
		}
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "2"}))
	w.tell(queue.MainMoved{Branch: "main"})
	// all but surveys, and the merge of the old tip is lost
	for range 1000 {
		i := slices.IndexFunc(w.waits, func(a queue.Action) bool {
			if r, ok := a.Task.(queue.Resolve); ok && r.Base != w.main {
				return false
			}
			return !isSurvey(a)
		})
		if i < 0 {
			break
		}
		w.now++
		w.work(i)
	}
	w.quiesce()
	if got := w.accused(bad); !slices.Equal(got, []string{"unit/a", "unit/b"}) {
		t.Errorf("%s is accused of %v", bad, got)
	}
	if x := w.hunt().Culprits[0]; x.Revert.State != queue.RevertFails {
		t.Errorf("b is red with the revert, too: %+v", x.Revert)
	}
}

// A commit that is accused of unit on two targets and of vet on one is not accused of vet on the
// other, which somebody else has broken: its revert need not mend that.
func TestAccusedOfPairs(t *testing.T) {
	files := tree{stepsFile: "unit:exit-code:targets:test vet:go-test-json:targets:vet", barrier: "go1", unowned: "data", "a/code": "base", "b/code": "base"}
	l := law{targets: []string{"a", "b"}, needs: map[string][]string{}, rules: []rule{
		{target: "b", all: []string{"worse"}},
		{target: "a", step: "vet", all: []string{"other"}},
	}}
	w := newWorld(t, l, files, rulesOf(config.Rules{Retries: 0}))
	w.begin(4)
	w.rules.RedMain.Revert = config.RevertPrepare
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "worse"}))
	first := w.main
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "other"}))
	second := w.main
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	w.endAtOnce(w.going()[0])
	w.quiesce()
	for _, id := range derived.Sorted(w.core.s.Hunts) {
		for _, x := range w.core.s.Hunts[id].Culprits {
			if x.Commit == first && x.Revert.State != queue.RevertProven {
				t.Errorf("the revert of %s: %s, by what %s has broken", first, x.Revert.State, second)
			}
		}
	}
	if w.core.hunting.isAccused(first, "vet", "a") {
		t.Errorf("%s is accused of vet on a, which %s has broken", first, second)
	}
}
