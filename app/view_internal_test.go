package app

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

func ownerOf(tip queue.CommitID) *Owner {
	o := NewOwner(OwnerOptions{Queue: "q", Branch: "main", Now: time.Now})
	o.publishCore(coreAt(tip))
	o.setReady(nil)
	return o
}

func coreAt(tip queue.CommitID) *speculation.Core {
	s := queue.NewState("main")
	s.Main.Tip = tip
	s.Changes["c1"] = &queue.Change{ID: "c1", Number: 1, Phase: queue.Analyzing}
	s.Changes["c2"] = &queue.Change{ID: "c2", Number: 2, Phase: queue.Landed}
	s.Pulls[1] = &queue.Pull{Number: 1, Active: "c1"}
	s.Pulls[3] = &queue.Pull{Number: 3, NoticeTo: "ann"}
	return speculation.New(s)
}

// Whoever reads does not wait for a turn: neither for what is shown of the queue, nor for
// whether it is ready, nor for what has changed.
func TestReadersDoNotWaitForTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ownerOf("a")
		o.turning.Lock() // a turn is being made
		defer o.turning.Unlock()
		var readers sync.WaitGroup
		for range 30 {
			readers.Go(func() {
				if v := o.View(); v.Main.Tip != "a" || v.Version == 0 {
					t.Errorf("at %s, version %d", v.Main.Tip, v.Version)
				}
				if b := o.Brief(); b.Main.Tip != "a" || b.Away != "" {
					t.Errorf("%+v", b)
				}
				if v, ok := o.Change("c1"); !ok || v.Change.Number != 1 {
					t.Errorf("%v, %+v", ok, v)
				}
				if v, ok := o.Change("2"); !ok || v.Change.ID != "c2" {
					t.Errorf("%v, %+v", ok, v)
				}
				if _, err := o.Ledger(t.Context(), "1", 1); err == nil {
					t.Error("the ledger was read meanwhile")
				}
				_, _, _ = o.Ready(), o.Changed(), o.Target()
			})
		}
		readers.Wait()
	})
}

// What was read stays what it was, and another state is shown at once where the last view
// is old enough.
func TestViewsStay(t *testing.T) {
	o := ownerOf("a")
	before := o.View()
	o.publishCore(coreAt("b"))
	if v := o.View(); v.Main.Tip != "b" || v.Version <= before.Version {
		t.Errorf("at %s, version %d after %d", v.Main.Tip, v.Version, before.Version)
	}
	o.publishCore(nil)
	if v := o.View(); v.Away != "another server owns this queue and shows it" || v.Main.Branch != "main" {
		t.Errorf("%+v", v)
	}
	if _, ok := o.Change("c1"); ok {
		t.Error("a change of a queue that is not owned is shown")
	}
	if before.Main.Tip != "a" {
		t.Errorf("the first view is at %s by now", before.Main.Tip)
	}
}

// While the store is away, the queue is shown as it was, and it is said since when: an empty
// list would tell people that what they asked for is lost.
func TestViewStaysWhileTheStoreIsAway(t *testing.T) {
	o := ownerOf("a")
	before := o.View()
	o.publishCore(nil)
	o.setReady(stopped{"the store does not answer", errors.New("EOF")})
	v := o.View()
	if v.Main.Tip != "a" || len(v.Order) != len(before.Order) || v.Version <= before.Version ||
		!regexp.MustCompile(`^the store does not answer; it is shown as it stood at \d\d:\d\d:\d\d UTC$`).MatchString(v.Away) {
		t.Errorf("%+v", v)
	}
	if c, ok := o.Change("c1"); !ok || c.Change.ID != "c1" {
		t.Errorf("%v, %+v", ok, c)
	}
	o.setReady(nil)
	if v := o.View(); v.Main.Tip != "" || v.Away != "another server owns this queue and shows it" {
		t.Errorf("%+v", v)
	}
}

// The gauges of a queue that another server owns by now are that server's: what this one saw
// last would be told for ever, such as a red branch that has been repaired since. While the
// store is away they stay, as the pages do.
func TestGaugesEndWithTheOwnership(t *testing.T) {
	o := ownerOf("a")
	series := func() (n int) {
		all, err := o.Metrics.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "queue" && l.GetValue() == o.Called() && f.GetType().String() == "GAUGE" {
						n++
					}
				}
			}
		}
		return n
	}
	shown := series()
	if shown == 0 {
		t.Fatal("there are no gauges")
	}
	o.publishCore(nil)
	o.setReady(stopped{"the store does not answer", errors.New("EOF")})
	if n := series(); n != shown {
		t.Errorf("%d of %d gauges while the store is away", n, shown)
	}
	o.setReady(nil)
	if n := series(); n != 0 {
		t.Errorf("%d gauges of a queue that another server owns", n)
	}
	o.publishCore(coreAt("b"))
	if n := series(); n != shown {
		t.Errorf("%d of %d gauges once it owns the queue again", n, shown)
	}
}

// Of many turns, one in a while has a view made; the others are shown by the next one.
func TestNotEachTurnMakesAView(t *testing.T) {
	o := ownerOf("a")
	turn := func(tip queue.CommitID) {
		o.core.State().Main.Tip = tip
		o.publish()
	}
	turn("b")
	if v, b := o.View(), o.Brief(); v.Main.Tip != "a" || b.Main.Tip != "b" || !o.window.behind.Load() {
		t.Errorf("the view is at %s, what is told briefly at %s", v.Main.Tip, b.Main.Tip)
	}
	if wait := o.window.untilShow(); wait <= 0 || wait > viewPause {
		t.Errorf("shown in %v", wait)
	}
	o.window.ended = o.window.ended.Add(-viewPause)
	turn("c")
	if v := o.View(); v.Main.Tip != "c" || o.window.behind.Load() {
		t.Errorf("the view is at %s", v.Main.Tip)
	}
}

// Somebody who has done something and looks at the queue then sees what came of it: a
// command line that asks for the status right after it was told that a request is taken.
func TestReadersSeeWhatWasDoneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ownerOf("a")
		ended := make(chan struct{})
		loop := make(chan struct{})
		go func() { // as turns.run does
			defer close(loop)
			for {
				select {
				case <-o.window.wanted:
					o.serve()
				case <-time.After(max(o.window.untilShow(), time.Millisecond)):
					o.turning.Lock()
					if o.window.behind.Load() && o.window.untilShow() <= 0 {
						o.show()
					}
					o.turning.Unlock()
				case <-ended:
					return
				}
			}
		}()
		for _, tip := range []queue.CommitID{"b", "c", "d"} {
			o.turning.Lock()
			o.core.State().Main.Tip = tip
			o.publish()
			o.turning.Unlock()
			if v := o.Fresh(); v.Main.Tip != tip {
				t.Errorf("main was at %s, and is shown at %s", tip, v.Main.Tip)
			}
		}
		close(ended)
		<-loop
	})
}

// Details are made for those who look, kept fresh while they do, and forgotten after that.
func TestDetailsAreMadeForThoseWhoLook(t *testing.T) {
	o := ownerOf("a")
	ended := make(chan struct{})
	loop := make(chan struct{})
	go func() {
		defer close(loop)
		for {
			select {
			case <-o.window.wanted:
				o.serve()
			case <-ended:
				return
			}
		}
	}()
	if v, ok := o.Change("3"); !ok || v.NoticeTo != "ann" {
		t.Errorf("%v, %+v", ok, v)
	}
	if _, ok := o.Change("4"); ok {
		t.Error("a change of nobody")
	}
	for i := range wantsMost * 2 {
		o.Change("c" + strings.Repeat("x", i))
	}
	close(ended)
	<-loop
	o.publishCore(o.core)
	if n := len(o.window.last.Load().details); n != wantsMost {
		t.Errorf("%d details are kept fresh", n)
	}
	for id := range o.window.wants {
		o.window.wants[id] = time.Now().Add(-2 * readFor)
	}
	o.publishCore(o.core)
	if n := len(o.window.last.Load().details); n != 0 {
		t.Errorf("%d details are kept though nobody looks", n)
	}
}
