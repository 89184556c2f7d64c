package speculation

import (
	"fmt"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Runners come and go all the time, as those that are made for one build do. Red keys of main are not
// run again each time one comes: they wait for their pause, which grows.
func TestRunnersComeWhileMainIsRed(t *testing.T) {
	builds := func(come bool) int {
		w := quiet(t, unit, config.Rules{}, rule{target: "a", all: []string{"bad"}})
		w.tell(queue.Fleet{Hosts: []queue.FleetHost{{Name: "own", Slots: 8}}})
		w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		if got := w.core.Queue("main").Red; len(got) == 0 {
			t.Fatal("main is not red")
		}
		before := w.core.s.Main.Backoff
		for i := range 60 {
			w.now = w.now.Add(time.Minute)
			if come {
				w.tell(queue.Fleet{Hosts: []queue.FleetHost{{Name: "own", Slots: 8}, {Name: fmt.Sprint("pod", i), Slots: 1}}})
			} else {
				w.tell(queue.Tick{})
			}
			w.quiesce()
		}
		return w.core.s.Main.Backoff - before
	}
	if still, coming := builds(false), builds(true); coming > still+1 {
		t.Errorf("in an hour main was built %d times, and %d times where no runner came", coming, still)
	}
}
