package app

import (
	"sync"
	"testing"
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
	return speculation.New(s)
}

// Whoever reads what has not changed since it was last read does not wait for a turn,
// and what is published with each turn needs no wait at all.
func TestReadersDoNotWaitForTurns(t *testing.T) {
	o := ownerOf("a")
	if v := o.View(); v.Main.Tip != "a" || v.Version == 0 {
		t.Fatalf("at %s, version %d", v.Main.Tip, v.Version)
	}
	o.mu.Lock() // a turn is being made
	defer o.mu.Unlock()
	var readers sync.WaitGroup
	for range 30 {
		readers.Go(func() {
			if v := o.View(); v.Main.Tip != "a" {
				t.Errorf("at %s", v.Main.Tip)
			}
			if b := o.Brief(); b.Main.Tip != "a" || b.Away != "" {
				t.Errorf("%+v", b)
			}
		})
	}
	readers.Wait()
}

// What is read is never older than the asking, and what was read stays what it was.
func TestViewIsNoOlderThanTheAsking(t *testing.T) {
	o := ownerOf("a")
	before := o.View()
	var readers sync.WaitGroup
	for range 20 {
		tip := queue.CommitID(time.Now().String())
		o.publishCore(coreAt(tip))
		if b := o.Brief(); b.Main.Tip != tip {
			t.Errorf("brief at %s, want %s", b.Main.Tip, tip)
		}
		for range 5 {
			readers.Go(func() {
				if v := o.View(); v.Main.Tip != tip || v.Version <= before.Version {
					t.Errorf("at %s, want %s", v.Main.Tip, tip)
				}
			})
		}
		readers.Wait()
	}
	o.publishCore(nil)
	if v := o.View(); v.Away != "another server owns this queue and shows it" || v.Main.Branch != "main" {
		t.Errorf("%+v", v)
	}
	if before.Main.Tip != "a" {
		t.Errorf("the first view is at %s by now", before.Main.Tip)
	}
}

// Of many who ask at the same time for the same, one makes the view.
func TestOneViewForAll(t *testing.T) {
	o := ownerOf("a")
	seen := make(chan *shown, 30)
	o.mu.Lock() // until all ask
	var readers sync.WaitGroup
	for range cap(seen) {
		readers.Go(func() {
			o.View()
			seen <- o.showing.last.Load()
		})
	}
	o.mu.Unlock()
	readers.Wait()
	first := <-seen
	for range cap(seen) - 1 {
		if other := <-seen; other != first {
			t.Fatal("a version was looked at twice")
		}
	}
}
