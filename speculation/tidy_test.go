package speculation

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Two wide changes each have an old path that tells the same of their targets.
// Which of the two paths is kept does not depend on chance.
func TestTidyIsDeterministic(t *testing.T) {
	var first []queue.LinkID
	for n := range 12 {
		c := New(wideState())
		c.begin(nil)
		c.facts.Links.Untidied("a", "b")
		c.upkeep.tidy()
		if got := derived.Sorted(c.s.Links); n == 0 {
			first = got
		} else if !slices.Equal(got, first) {
			t.Fatalf("kept other links of the same state: %v, before %v", got, first)
		}
	}
	if len(first) != 2*maxPaths+1 {
		t.Errorf("%d links are kept; want the latest of both and one that tells what they do not", len(first))
	}
}

// TestWhoHasLandedIsKnownWhileAPathWithoutItTells: a build that hangs keeps the path that
// it is for, without a change that has landed since. That path tells of main without it,
// for a core made from the stored state as well.
func TestWhoHasLandedIsKnownWhileAPathWithoutItTells(t *testing.T) {
	w := quiet(t, unit, config.Rules{Spare: config.SpareAlways})
	first := w.land(edit{"a/code": "one"})
	w.settleDown()
	second := w.land(edit{"a/code": "two", "b/code": "two"})
	w.settleDown()
	alone := queue.LinkOf(w.main, w.change(second).ID)
	at := slices.IndexFunc(w.going(), func(r *run) bool { return r.build.Link == alone })
	if at < 0 {
		t.Fatal("the second is not built without the first")
	}
	hangs := w.going()[at]
	hangs.over = true // nobody hears of it
	for w.change(first).Phase != queue.Landed {
		w.tell(w.advance(w.going()[0])...)
		w.settleDown()
	}
	w.now = w.now.Add(keepFootprint / 2)
	w.quiesce()
	w.mustBe(second, queue.Landed)
	w.now = w.now.Add(keepFootprint/2 + minute)
	third := w.land(edit{"c/code": "three"})
	w.quiesce() // what nobody needs is forgotten as it lands
	w.mustBe(third, queue.Landed)
	if w.core.s.Links[alone] == nil || w.core.s.Footprints[w.change(first).ID] == nil {
		t.Errorf("the path is kept: %t; what has landed beside it is known: %t", w.core.s.Links[alone] != nil, w.core.s.Footprints[w.change(first).ID] != nil)
	}
	w.tell(queue.BuildDone{Build: hangs.build.ID, Outcome: queue.JobStopped})
	w.quiesce()
	w.now = w.now.Add(keepFootprint + minute)
	w.land(edit{"c/code": "four"})
	w.quiesce()
	if w.core.s.Links[alone] != nil || w.core.s.Footprints[w.change(first).ID] != nil {
		t.Error("it is kept for ever")
	}
	w.audit.final()
}

// TestAForgottenChangeLeavesItsComment: a comment that shows the last verdict and the
// answer to a command does not become a mere answer when the change is forgotten.
func TestAForgottenChangeLeavesItsComment(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4)
	p, other := w.open(w.main, edit{"a/code": "1"}), w.open(w.main, edit{"b/code": "1"})
	cancel := func(p *pull) {
		w.step(w.say(p, "boss", "/land"))
		w.settleDown()
		w.step(w.say(p, "boss", "/land cancel"))
		w.quiesce()
	}
	cancel(p)
	w.step(w.say(p, "nobody", "/land"))
	w.quiesce()
	id := w.change(p).ID
	if v, _ := w.core.PullView(p.number); v.Change.Phase != queue.Cancelled || v.Notice.Code == "" {
		t.Fatalf("pull %d shows %s and %v", p.number, v.Change.Phase, v.Notice)
	}
	w.now = w.now.Add(keepVerdict + minute)
	shown := p.shown
	p.shown = "not told of again"
	cancel(other)
	w.mustRestart()
	cancel(w.open(w.main, edit{"b/code": "2"}))
	if w.core.s.Changes[id] != nil || p.shown != "not told of again" {
		t.Fatalf("the change is forgotten: %t; what said %q says %q", w.core.s.Changes[id] == nil, shown, p.shown)
	}
	w.step(w.say(p, "nobody", "/land")) // another answer is told
	w.quiesce()
	if v, _ := w.core.PullView(p.number); v.Notice.Code == "" || p.shown == "not told of again" {
		t.Fatalf("pull %d shows %q, of %+v", p.number, p.shown, v.Notice)
	}
}

// Each verdict is kept for a day, and no longer because another was forgotten shortly before.
func TestEachVerdictIsKeptForADay(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4)
	cancelled := func() queue.ChangeID {
		p := w.open(w.main, edit{"a/code": strconv.Itoa(int(w.now))})
		w.step(w.say(p, "boss", "/land"))
		w.settleDown()
		w.step(w.say(p, "boss", "/land cancel"))
		w.quiesce()
		return w.change(p).ID
	}
	first := cancelled()
	w.now = w.now.Add(time.Hour)
	second := cancelled()
	w.now = w.now.Add(keepVerdict - 30*minute)
	cancelled()
	if w.core.s.Changes[first] != nil || w.core.s.Changes[second] == nil {
		t.Fatalf("after a day the first is known: %t, and the second, of an hour later: %t", w.core.s.Changes[first] != nil, w.core.s.Changes[second] != nil)
	}
	w.now = w.now.Add(time.Hour)
	cancelled()
	if w.core.s.Changes[second] != nil {
		t.Fatal("the second is known an hour later still")
	}
}

// wideState has two changes with maxPaths paths each on which nothing is known,
// and one path on each other that has passed.
func wideState() *queue.State {
	s := queue.NewState("main")
	step := config.Step{Name: "unit", Scope: config.ScopeTargets, Run: "test"}
	set := queue.NewStepSet([]config.Step{step})
	s.Steps[set.ID] = &set
	s.Main.Tip = "m"
	s.Main.Config = &config.Config{Version: 1, Steps: []config.Step{step}, Queue: rulesOf(config.Rules{})}
	var targets []string
	for i := range 16 {
		targets = append(targets, fmt.Sprintf("t%03d", i))
	}
	pending := func(id queue.ChangeID, targets ...string) {
		s.Changes[id] = &queue.Change{ID: id, Phase: queue.Pending, Arrival: 1, Foreseen: queue.Foreseen{Virtual: queue.Instant(len(s.Changes) + 1)}}
		s.Footprints[id] = &queue.Footprint{Main: "m", Write: targets, Affected: targets}
	}
	link := func(id, on queue.ChangeID, at queue.Instant, hash queue.Digest) *queue.Link {
		parent := queue.CommitID("m+" + on)
		l := &queue.Link{ID: queue.LinkOf(parent, id), Parent: parent, Change: id, Outcome: queue.Merged, Commit: parent + "+" + queue.CommitID(id),
			Steps: set.ID, At: at, Chain: []queue.ChangeID{on}}
		for _, x := range targets {
			l.Keys = append(l.Keys, queue.Key{Step: step.Digest(), Target: x, Hash: hash})
		}
		s.Links[l.ID] = l
		return l
	}
	s.Main.Line.Seq = 1 // so that the paths do not stand where main is
	s.Changes["landed"] = &queue.Change{ID: "landed", Phase: queue.Landed, Ending: queue.Ending{Line: s.Main.Line}}
	pending("a", targets...)
	pending("b", targets...)
	for _, l := range []*queue.Link{link("a", "b", 1, "both"), link("b", "a", 1, "both")} {
		for _, k := range l.Keys {
			s.Ledger[k.ID()] = &queue.Entry{ID: k.ID(), Keys: []queue.Key{k}, Passed: 1}
		}
	}
	for i := range maxPaths {
		on := queue.ChangeID(fmt.Sprint("x", i))
		pending(on, targets[0])
		link("a", on, 2, queue.Digest("a"+on))
		link("b", on, 2, queue.Digest("b"+on))
	}
	return s
}

// A change may outlive the records of many that it was suspected to break with. Its
// beliefs then are the same to the last bit each time.
func TestForgettingPairsIsDeterministic(t *testing.T) {
	made := func() float64 {
		s := queue.NewState("main")
		s.Changes["open"] = &queue.Change{ID: "open", Phase: queue.Pending, Arrival: 1}
		b := &queue.Belief{Change: "open", Good: 0.9, Pairs: map[queue.ChangeID]float64{}}
		for i := range 24 {
			id := queue.ChangeID(fmt.Sprint("landed", i))
			s.Changes[id] = &queue.Change{ID: id, Phase: queue.Landed}
			b.Pairs[id] = 0.01 + float64(i)/700
		}
		s.Beliefs["open"] = b
		c := New(s)
		c.begin(nil)
		c.upkeep.tidyChanges()
		if len(b.Pairs) > 0 {
			t.Fatalf("pairs with what nobody knows any more are kept: %v", b.Pairs)
		}
		return b.Good
	}
	first := made()
	if first >= 0.9 {
		t.Fatalf("the suspicions are gone without a trace: it is good by %g", first)
	}
	for range 30 {
		if got := made(); got != first {
			t.Fatalf("it is good by %v, and made again by %v", first, got)
		}
	}
}

// A head that is fast-forwarded stands on main's tip, and by another link on a commit
// that main's line has left, which a build still runs on. A merge made on the head
// stands on main, with either of the two links the first by id, and is kept: it would be
// asked for again at once, and so for ever.
func TestMergeOnHeadOfTwoLinksIsKept(t *testing.T) {
	for _, left := range []queue.CommitID{"a-left", "z-left"} {
		s := queue.NewState("main")
		step := config.Step{Name: "unit", Scope: config.ScopeTargets, Run: "test"}
		set := queue.NewStepSet([]config.Step{step})
		s.Steps[set.ID] = &set
		s.Main.Tip, s.Main.Line = "m", queue.Line{Epoch: 2}
		s.Main.Config = &config.Config{Version: 1, Steps: []config.Step{step}, Queue: rulesOf(config.Rules{})}
		for n, id := range []queue.ChangeID{"below", "above"} {
			s.Changes[id] = &queue.Change{ID: id, Phase: queue.Pending, Arrival: 1, Foreseen: queue.Foreseen{Virtual: queue.Instant(n + 1)}}
			s.Footprints[id] = &queue.Footprint{Main: "m", Write: []string{"t"}, Affected: []string{"t"}}
		}
		link := func(parent queue.CommitID, id queue.ChangeID, commit queue.CommitID) queue.Link {
			return queue.Link{ID: queue.LinkOf(parent, id), Parent: parent, Change: id, Outcome: queue.Merged, Commit: commit,
				Steps: set.ID, Keys: []queue.Key{{Step: step.Digest(), Target: "t", Hash: queue.Digest(commit)}}}
		}
		here, lost := link("m", "below", "head"), link(left, "below", "head")
		here.Since, lost.Since = s.Main.Line, queue.Line{Epoch: -1}
		s.Links[here.ID], s.Links[lost.ID] = &here, &lost
		s.Builds["b"] = &queue.Build{ID: "b", Change: "below", Link: lost.ID, Commit: "head", Jobs: []queue.Job{{Step: step, Keys: lost.Keys}}}

		c := New(s)
		c.begin(nil)
		c.judging.resolved(queue.Resolved{Links: []queue.Link{link("head", "above", "both")}, Guard: c.facts.Links.Guard()})
		c.facts.Links.Untidied("below")
		c.upkeep.tidy()
		if s.Links[lost.ID] == nil {
			t.Fatal("a link is forgotten while a build runs on it")
		}
		l := s.Links[queue.LinkOf("head", "above")]
		if l == nil {
			t.Errorf("main has left %s: the merge on the head is forgotten as soon as it is made", left)
			continue
		}
		if l.Since != s.Main.Line || !slices.Equal(l.Chain, []queue.ChangeID{"below"}) {
			t.Errorf("main has left %s: the merge on the head stands on %+v with %v", left, l.Since, l.Chain)
		}
	}
}

// A change waits for days, and those that have landed since are forgotten after a day. Paths of the one
// that waits which begin before them tell nothing then, as for a core made from the stored state.
func TestPathsFromBeforeWhatIsForgotten(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.requires = true
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "boss", "/queue pause"), w.say(p, "dev", "/land"))
	w.quiesce()
	p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	w.tell(queue.Stirred{Number: p.number})
	w.quiesce()
	w.mustBe(p, queue.Parked)
	w.step(w.say(p, "boss", "/queue resume"))
	w.quiesce()
	landed := w.land(edit{"a/code": "two"})
	w.waitOut()
	w.mustBe(landed, queue.Landed)
	if len(w.core.facts.Links.LinksOf[w.change(p).ID]) == 0 {
		t.Fatal("it has no path")
	}
	w.pass(keepVerdict + time.Hour)
	w.land(edit{"b/code": "three"})
	w.waitOut()
	if was, made := remembered(w.core), remembered(w.store.load(w)); was != made {
		t.Errorf("it knows:\n%s\nand once it is made anew:\n%s", was, made)
	}
}
