package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The forge's facts of a pull request stay with its change, with the queue's own counts.
func TestFacetsStayWithTheChange(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}, unless: "heal"})
	two := 2
	p := w.open(w.main, edit{"a/code": "bad"})
	p.facets = &queue.Facets{Commits: &two}
	w.step(w.say(p, "dev", "/land"))
	w.waitOut()
	if ch := w.mustBe(p, queue.Rejected); *ch.Facets.Commits != 2 || ch.Facets.Attempts != 0 || ch.Facets.Pushes != 0 || ch.Red == 0 || ch.Green != 0 {
		t.Errorf("%+v, %d builds green and %d red", ch.Facets, ch.Green, ch.Red)
	}
	p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(edit{"a/code": "heal"})}).id
	w.tell(queue.HeadMoved{Number: p.number, Head: p.head})
	w.step(w.say(p, "dev", "/land"))
	w.waitOut()
	if ch := w.mustBe(p, queue.Landed); ch.Facets.Attempts != 1 || ch.Facets.Pushes != 1 || ch.Green == 0 || ch.Red != 0 {
		t.Errorf("the second time: %+v, %d builds green and %d red", ch.Facets, ch.Green, ch.Red)
	}
	if p.facets.Attempts != 0 {
		t.Error("what the forge has said was changed")
	}
	w.audit.final()
}

// Verdicts are remembered by author and by directory, and of the queue.
func TestVerdictsAreRemembered(t *testing.T) {
	w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
	land := func(author string, e edit) *pull {
		p := w.open(w.main, e)
		p.author = author
		w.step(w.say(p, "dev", "/land"))
		w.waitOut()
		return p
	}
	w.mustBe(land("ada", edit{"a/code": "bad"}), queue.Rejected)
	if n := w.core.s.Learned.Failing; n != 1 {
		t.Errorf("%d have failed since one has landed, want 1", n)
	}
	w.mustBe(land("ada", edit{"b/code": "fine"}), queue.Landed)
	w.mustBe(land("bob", edit{"c/code": "fine"}), queue.Landed)
	s := w.core.s
	ada, bob := s.Authors["ada"], s.Authors["bob"]
	if len(s.Authors) != 2 || ada == nil || bob == nil || ada.Changes != 2 || bob.Changes != 1 || ada.Success.Held != 1 || !(ada.Success.Of > 1.9) || bob.Success.Of != 1 {
		t.Fatalf("ada %+v, bob %+v", ada, bob)
	}
	if s.Learned.Failing != 0 || s.Learned.Main.Of == 0 || s.Learned.Main.Held != s.Learned.Main.Of {
		t.Errorf("of the queue: %+v", s.Learned)
	}
	ch := &queue.Change{ID: "x", Author: "ada", Phase: queue.Landed, Arrival: w.core.facts.Now, Ending: queue.Ending{Decided: w.core.facts.Now}}
	s.Footprints["x"] = &queue.Footprint{Paths: []string{"x/f", "y/g", "y/h", "top"}}
	w.core.judging.recordEnded(ch)
	if a := s.Areas["y"]; len(s.Areas) != 3 || a == nil || a.Weight != 1 || a.With["x"] != 1 || a.With[""] != 1 || s.Authors["ada"].Dirs["y"] != 1 {
		t.Errorf("directories: %+v, of ada: %v", s.Areas, s.Authors["ada"].Dirs)
	}
	for _, ref := range []queue.Ref{{Kind: queue.KindAuthor, ID: "ada"}, {Kind: queue.KindArea, ID: "y"}} {
		if !w.core.dirty[ref] {
			t.Errorf("%v is not to be stored", ref)
		}
	}
	s.Authors["ada"].At, s.Areas["y"].At = s.Authors["ada"].At.Add(-keepHistory-time.Hour), s.Areas["y"].At.Add(-keepHistory-time.Hour)
	w.core.upkeep.tidyDated()
	if s.Authors["ada"] != nil || s.Authors["bob"] == nil || s.Areas["y"] != nil || s.Areas["x"] == nil {
		t.Errorf("after half a year: %v, %v", s.Authors, s.Areas)
	}
}

// A target that passes what it has failed is flaky, and one that has only passed is not.
func TestFlakesAreRemembered(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 2})
	flakes := 0
	w.flake = func(keys []queue.Key) bool {
		if slices.ContainsFunc(keys, func(k queue.Key) bool { return k.Target == "a" }) && flakes == 0 {
			flakes++
			return true
		}
		return false
	}
	w.audit.flaky = true
	w.mustBe(func() *pull { p := w.land(edit{"a/code": "x"}); w.waitOut(); return p }(), queue.Landed)
	w.mustBe(func() *pull { p := w.land(edit{"b/code": "x"}); w.waitOut(); return p }(), queue.Landed)
	a, b := w.core.s.Durations["unit\x00a"], w.core.s.Durations["unit\x00b"]
	if flakes != 1 || a == nil || b == nil || !(a.Flaked > 0) || a.Red || b.Flaked != 0 {
		t.Errorf("a %+v, b %+v after %d flakes", a, b, flakes)
	}
}
