package speculation

import (
	"fmt"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// More changes are ahead than anybody follows. The last of them may mend what
// the one behind them all fails for, so nothing is known of it regardless.
func TestRegardlessOfMoreThanAreFollowed(t *testing.T) {
	s := queue.NewState("main")
	step := config.Step{Name: "unit", Scope: config.ScopeTargets, Run: "test"}
	s.Main.Tip = "m"
	s.Main.Config = &config.Config{Version: 1, Steps: []config.Step{step}, Queue: rulesOf(config.Rules{})}
	var all []string
	pending := func(id queue.ChangeID, at queue.Instant, targets ...string) {
		s.Changes[id] = &queue.Change{ID: id, Phase: queue.Pending, Arrival: at, Foreseen: queue.Foreseen{Virtual: at}}
		s.Footprints[id] = &queue.Footprint{Main: "m", Write: targets, Affected: targets}
	}
	for i := range derived.MaxDepth + 2 {
		all = append(all, fmt.Sprintf("t%03d", i))
		pending(queue.ChangeID(fmt.Sprintf("%03d", i)), queue.Instant(i+1), all[i])
	}
	pending("last", derived.MaxDepth+3, all...)
	set := queue.NewStepSet([]config.Step{step})
	s.Steps[set.ID] = &set
	key := queue.Key{Step: step.Digest(), Target: all[derived.MaxDepth+1], Hash: "red"}
	link := &queue.Link{ID: queue.LinkOf("m", "last"), Parent: "m", Change: "last", Outcome: queue.Merged, Commit: "c", Steps: set.ID, Keys: []queue.Key{key}}
	s.Links[link.ID] = link
	s.Ledger[key.ID()] = &queue.Entry{ID: key.ID(), Keys: []queue.Key{key}, Tries: 1, Failures: []queue.Failure{{At: 1, Build: "b"}}}
	c := New(s)
	c.landing.sortOrder()
	if got := c.facts.Links.State(link).Status; got != derived.Failed {
		t.Fatalf("the link is %d", got)
	}
	if got := c.facts.Futures.Regardless(c.facts.Futures.Node("last"), nil); got != derived.Unknown {
		t.Errorf("regardless of all %d ahead it is %d, and of the last of them nothing is known", len(c.facts.Order.Ahead("last")), got)
	}
}

// Pushes from outside without a key to be proven are remembered for a while only.
func TestSuspectsAreBounded(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	for i := range 2 * maxSuspects {
		w.commitOutside(w.commits[w.main].tree.with(edit{"docs/readme": fmt.Sprint("line", i)}))
	}
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	got := w.core.State().Main.Suspects
	if len(got) != maxSuspects || got[len(got)-1].Commit != w.main {
		t.Errorf("%d commits of others are remembered, the last is %+v", len(got), got[len(got)-1])
	}
}
