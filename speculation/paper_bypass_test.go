package speculation

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// "Bypassing Large Diffs in SubmitQueue" (BLRD, 2023): a change may land, or be
// rejected, before conflicting changes ahead of it are decided, once all its
// paths over their outcomes are known and agree. The order is that of arrival;
// the changes that are to be passed are large: they have a target of their own,
// and none of their builds ends.

// large is what a large change touches: the target of all, and its own.
const large = "a d"

// bypassing has all paths built that a bypass needs.
func bypassing() config.Rules {
	r := papers()
	r.Spare = config.SpareAlways
	return r
}

func newBypass(t *testing.T, truth ...rule) *stage {
	t.Helper()
	s := newStage(t, bypassing(), stated{good: map[int]float64{1: 0.9, 2: 0.9, 3: 0.9, 4: 0.9}}, truth...)
	s.tell(queue.Capacity{Slots: 40})
	return s
}

// Figure 5, one change past one.
func TestBypassOnePastOne(t *testing.T) {
	s := newBypass(t)
	s.changes(large, "a")
	s.end("B1.2")
	s.mustAll(queue.Pending, queue.Pending) // one path is not enough
	s.end("B2")
	s.mustAll(queue.Pending, queue.Landed)
	if v := s.change(s.pulls[2]).Verdict; len(v.Bypassed) != 1 {
		t.Errorf("verdict = %+v", v)
	}
	s.calm()
	s.mustAll(queue.Landed, queue.Landed)
}

// Theorem 1: main with C1 and then C2 is what it is with C2 and then C1. So C1
// needs no other build because it was passed: C2's build on it has shown what
// they share, and its own build the rest. Without a rest, it lands with C2.
func TestBypassedNeedsNoOtherBuild(t *testing.T) {
	s := newBypass(t)
	s.changes(large, "a")
	s.only(2)
	s.mustAll(queue.Pending, queue.Landed)
	s.end("B1")
	s.mustAll(queue.Landed, queue.Landed)
	s.mustBuilds(s.pulls[1], 1)

	s = newBypass(t)
	s.changes("a", "a")
	s.only(2)
	s.mustAll(queue.Landed, queue.Landed)
	s.calm()
}

// Figure 6, one change past two: four paths.
func TestBypassOnePastTwo(t *testing.T) {
	s := newBypass(t)
	s.changes(large, large, "a")
	s.end("B1.2.3", "B1.3", "B2.3")
	s.mustAll(queue.Pending, queue.Pending, queue.Pending)
	s.end("B3")
	s.mustAll(queue.Pending, queue.Pending, queue.Landed)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed)
}

// Figure 7, several changes past one.
func TestBypassSeveralPastOne(t *testing.T) {
	s := newBypass(t)
	s.changes(large, "a", "a")
	s.only(2, 3)
	s.mustAll(queue.Pending, queue.Landed, queue.Landed)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed)
}

// Figure 8, several past several: small changes rise past the large ones like
// bubbles, each past what is left in front of it.
func TestBypassBubbles(t *testing.T) {
	s := newBypass(t)
	s.changes(large, large, "a", "a")
	s.only(3)
	s.mustAll(queue.Pending, queue.Pending, queue.Landed)
	s.only(4)
	s.mustAll(queue.Pending, queue.Pending, queue.Landed, queue.Landed)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed, queue.Landed)
}

// A bubble passes one large change and stays behind another: C3 conflicts with
// C2 only by what it does together with it.
func TestBypassStopsWherePathsDiffer(t *testing.T) {
	s := newBypass(t, rule{target: "a", all: []string{"c2", "c3"}})
	s.changes(large, "a", "a")
	s.only(3)
	s.mustAll(queue.Pending, queue.Pending, queue.Pending) // green without C2, red with it
	s.only(2)
	s.mustAll(queue.Pending, queue.Landed, queue.Rejected) // C2 passes C1, and C3 has one fate left
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Rejected)
}

// All paths fail: rejected at once, before those ahead are decided.
func TestBypassAllFail(t *testing.T) {
	s := newBypass(t, rule{target: "a", all: []string{"c2"}})
	s.changes(large, "a")
	s.end("B1.2")
	s.mustAll(queue.Pending, queue.Pending)
	s.end("B2")
	s.mustAll(queue.Pending, queue.Rejected)
	s.calm()
	s.mustAll(queue.Landed, queue.Rejected)
}

// All paths over several changes fail, at a target that one of them affects.
func TestBypassAllFailBehindSeveral(t *testing.T) {
	s := newBypass(t, rule{target: "a", all: []string{"c3"}})
	s.changes("a d", "b e", "a b")
	s.only(3)
	s.mustAll(queue.Pending, queue.Pending, queue.Rejected)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Rejected)
}

// Without the ingredient no change has a verdict before those ahead of it.
func TestBypassOff(t *testing.T) {
	for _, target := range []string{"", "a", "b"} { // where C2 is red
		rules, want := bypassing(), queue.Landed
		rules.Off = append(rules.Off, config.IngredientBypass)
		var truth []rule
		if target != "" {
			truth, want = []rule{{target: target, all: []string{"c2"}}}, queue.Rejected
		}
		s := newStage(t, rules, stated{good: map[int]float64{1: 0.9, 2: 0.9}}, truth...)
		s.tell(queue.Capacity{Slots: 40})
		s.changes(large, "a b")
		s.only(2)
		s.mustAll(queue.Pending, queue.Pending)
		s.calm()
		s.mustAll(queue.Landed, want)
	}
}

// Paths that do not agree decide nothing, until the change ahead has its
// verdict; then the path that is left does.
func TestBypassDisagreementWaits(t *testing.T) {
	for _, ahead := range []queue.Phase{queue.Landed, queue.Rejected} {
		truth := []rule{{target: "a", all: []string{"c1", "c2"}}}
		want := queue.Rejected
		if ahead == queue.Rejected {
			truth = append(truth, rule{target: "b", all: []string{"c1"}})
			want = queue.Landed
		}
		s := newBypass(t, truth...)
		s.changes("a b", "a")
		s.only(2)
		s.mustAll(queue.Pending, queue.Pending)
		s.only(1)
		s.mustAll(ahead, want)
		s.calm()
	}
}

// By target: a large change that is broken at a target of its own is rejected by
// its first build, with any number of undecided changes ahead of it.
func TestBypassBrokenLargeDiffAtItsOwnTarget(t *testing.T) {
	s := newStage(t, papers(), stated{good: map[int]float64{1: 0.9, 2: 0.9, 3: 0.9}}, rule{target: "d", all: []string{"c4"}})
	s.changes("a", "b", "c", "a b c d")
	s.mustStart(4, "B1", "B2", "B3", "B1.2.3.4")
	s.end("B1.2.3.4")
	s.mustAll(queue.Pending, queue.Pending, queue.Pending, queue.Rejected)
	if f := s.change(s.pulls[4]).Verdict.Failures; len(f) != 1 || f[0].Targets[0] != "d" {
		t.Errorf("failures = %+v", f)
	}
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed, queue.Rejected)
}

// By target: a large change lands past three small ones, each of which affects
// one of its targets, on two builds instead of 2^3: a target has two futures.
func TestBypassTwoFuturesPerTarget(t *testing.T) {
	s := newBypass(t)
	s.changes("a e", "b f", "c g", "a b c d")
	s.end("B1.2.3.4")
	s.mustAll(queue.Pending, queue.Pending, queue.Pending, queue.Pending)
	for range 3 { // each of a, b and c without the small change
		for _, name := range s.names() {
			if s.change(s.pulls[4]).Phase == queue.Pending && strings.HasSuffix(name, "4") {
				s.end(name)
				break
			}
		}
	}
	s.mustAll(queue.Pending, queue.Pending, queue.Pending, queue.Landed)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed, queue.Landed)
}

// No path is left out because it cannot be the final one. C2 has failed on main,
// so it can land behind C1 only, and C3 will never follow C2 alone; C3 is red
// there, and green on all its other paths. It waits nonetheless: it would have
// to be built anew in between.
func TestBypassPrunesNoPath(t *testing.T) {
	s := newBypass(t, rule{target: "a", all: []string{"c2"}, unless: "c1"})
	s.changes(large, large, "a")
	s.end("B2", "B1.2.3", "B1.3", "B3")
	s.mustAll(queue.Pending, queue.Pending, queue.Pending) // B2.3 is not known
	s.end("B2.3")
	s.mustAll(queue.Pending, queue.Pending, queue.Pending) // red
	s.end("B1")
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed)
}

// The same where the path that cannot be the final one is green: C3 lands once
// it is known, and no sooner.
func TestBypassNeedsTheImpossiblePath(t *testing.T) {
	s := newBypass(t, rule{target: "b", all: []string{"c2"}, unless: "c1"})
	s.changes("a b", "a b", "a")
	s.end("B2", "B1.2.3", "B1.3", "B3")
	s.mustAll(queue.Pending, queue.Pending, queue.Pending)
	s.end("B2.3")
	s.mustAll(queue.Pending, queue.Pending, queue.Landed)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed)
}

// A red commit is never pushed, not even below a green one: C1 breaks the
// target, C2 mends it, and both are green together. C1 is rejected although
// main would be green a commit later.
func TestBypassNoRedCommitBetween(t *testing.T) {
	for _, ends := range [][]string{{"B1.2", "B1"}, {"B1", "B2"}, {"B2", "B1"}} {
		s := newBypass(t, rule{target: "a", all: []string{"c1"}, unless: "c2"})
		s.changes("a", "a")
		s.end(ends...)
		s.mustAll(queue.Rejected)
		s.calm() // looks at each commit
		s.mustAll(queue.Rejected, queue.Landed)
	}
}

// If the mending change passes the broken one, there is no red commit in
// between: the broken one lands on top of it, and every commit is green.
func TestBypassMendsBeforeItBreaks(t *testing.T) {
	s := newBypass(t, rule{target: "a", all: []string{"c1"}, unless: "c2"})
	s.changes("a", "a")
	s.end("B1.2", "B2")
	s.mustAll(queue.Landed, queue.Landed)
	if line := s.line(s.main); line[0].change != s.change(s.pulls[1]).ID {
		t.Errorf("the last on main is %s", line[0].change)
	}
	s.calm()
}
