package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A change that is proven on main as it is does not wait for a shorter one that came
// later and is not being built: it would be built again behind it, without any gain.
func TestProvenDoesNotWaitForWhatIsNotBuilt(t *testing.T) {
	rules := config.Rules{Off: []config.Ingredient{config.IngredientPreempt}} // the first build is nearly through
	s := newStage(t, rules, stated{takes: map[int]time.Duration{1: 30 * minute, 2: 5 * minute}})
	s.tell(queue.Capacity{Slots: 1})
	s.changes("a", "a b")
	s.core.landing.sortOrder()
	if s.core.facts.Order.IDs[0] != s.id(2) {
		t.Fatal("the shorter one is not ahead")
	}
	s.mustGo("B1")
	s.end("B1")
	s.mustAll(queue.Landed, queue.Pending)
	s.mustGo("B2")
	s.calm()
	s.mustAll(queue.Landed, queue.Landed)
	s.mustBuilds(s.pulls[1], 1)
	s.mustBuilds(s.pulls[2], 1)
}

// One that is being built keeps its place: it gains by that.
func TestProvenWaitsForWhatIsBuilt(t *testing.T) {
	s := newStage(t, config.Rules{}, stated{takes: map[int]time.Duration{1: 30 * minute, 2: 5 * minute}})
	s.tell(queue.Capacity{Slots: 9})
	s.changes("a")
	s.now = s.now.Add(time.Second)
	s.changes("a b")
	s.core.landing.sortOrder()
	if s.core.facts.Order.IDs[0] != s.id(2) {
		t.Fatal("the shorter one is not ahead")
	}
	s.end("B1")
	s.mustAll(queue.Pending, queue.Pending)
	s.end("B2")
	s.calm()
	if l := s.core.s.Changes[s.id(2)].Line; s.core.s.Changes[s.id(1)].Line.Seq < l.Seq {
		t.Error("the one that was being built has lost its place")
	}
}

// One that has failed on main as it is keeps its place, too: it is run again at once, and then has
// its verdict. Behind the proven one its failure would count for nothing, and it would be built
// twice more while all others wait for it.
func TestProvenWaitsForASecondFailure(t *testing.T) {
	s := newStage(t, config.Rules{Retries: 1}, stated{takes: map[int]time.Duration{1: 30 * minute, 2: 5 * minute}}, rule{target: "a", all: []string{"c2"}})
	s.tell(queue.Capacity{Slots: 9})
	s.changes("a")
	s.now = s.now.Add(time.Second)
	s.changes("a b")
	s.end("B1")
	s.end("B2")
	s.mustAll(queue.Pending, queue.Pending)
	s.end("B2")
	s.calm()
	s.mustAll(queue.Landed, queue.Rejected)
	s.mustBuilds(s.pulls[2], 2)
}

// It does so where the step names no target, too.
func TestProvenWaitsForASecondFailureOfASet(t *testing.T) {
	s := newStage(t, config.Rules{Retries: 1}, stated{takes: map[int]time.Duration{1: 30 * minute, 2: 5 * minute}}, rule{target: "a", all: []string{"c2"}})
	s.commitOutside(s.commits[s.main].tree.with(edit{stepsFile: "-" + unit + " " + shard}))
	s.tell(queue.MainMoved{Branch: "main"})
	s.tell(queue.Capacity{Slots: 9})
	s.quiesce()
	s.changes("a")
	s.now = s.now.Add(time.Second)
	s.changes("a b")
	s.end("B1")
	s.end("B2")
	s.mustAll(queue.Pending, queue.Pending)
	s.end("B2")
	s.calm()
	s.mustAll(queue.Landed, queue.Rejected)
	s.mustBuilds(s.pulls[2], 2)
}
