package speculation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// unharmed holds that what a forge in trouble answers has paused, parked and refused
// nothing.
func (w *world) unharmed(t *testing.T, pulls ...*pull) {
	t.Helper()
	if p := w.core.State().Main.Paused; p != nil {
		t.Errorf("paused: %+v", p)
	}
	for _, p := range pulls {
		ch := w.change(p)
		if ch == nil {
			t.Fatalf("the command on pull %d is given back: %+v", p.number, w.core.State().Pulls[p.number].Notice)
		}
		if ch.Phase == queue.Parked || ch.Refused != nil {
			t.Errorf("pull %d is %s: %+v, %+v", p.number, ch.Phase, ch.Reason, ch.Refused)
		}
	}
}

// punctual carries out the next action that may begin, and makes time pass until one
// may where there is none; builds go on.
func (w *world) punctual() {
	if len(w.mail) > 0 {
		e := w.mail[0]
		w.mail = w.mail[1:]
		w.step(e)
		return
	}
	next := w.wake
	for i, a := range w.waits {
		if a.NotBefore > w.now {
			if next <= w.now || a.NotBefore < next {
				next = a.NotBefore
			}
			continue
		}
		w.now++
		if bad, transient := w.fails(&a); bad {
			w.waits = slices.Delete(slices.Clone(w.waits), i, i+1)
			w.tell(queue.Failed{Action: a.Key, Error: "fatal error in commit_refs", Transient: transient, Outage: transient})
			return
		}
		w.work(i)
		return
	}
	if builds := w.going(); len(builds) > 0 {
		w.now = w.now.Add(10 * time.Second)
		w.tell(w.advance(builds[0])...)
		return
	}
	w.now = max(next, w.now+1)
	w.tell(queue.Tick{})
}

// A forge is in trouble each time main is pushed, for some time. The push is tried again
// until it goes through, without an act of people.
func TestPushOfAForgeInTrouble(t *testing.T) {
	for _, times := range []int{1, 3, maxAttempts, 3 * maxAttempts} {
		w := quiet(t, unit, config.Rules{})
		left := times
		w.fails = func(a *queue.Action) (bad, transient bool) {
			if _, pushes := a.Task.(queue.Land); !pushes || left == 0 {
				return false, false
			}
			left--
			return true, true
		}
		p, q := w.land(edit{"a/code": "one"}), w.land(edit{"b/code": "one"})
		w.settleDown()
		for n := 0; n < 1000 && len(w.landings()) < 2; n++ {
			w.punctual()
			w.unharmed(t, p, q)
		}
		if w.onMain(p) == 0 || w.onMain(q) == 0 || left != 0 {
			t.Errorf("after %d failures: %s, %s, %d left", times, w.phases(p), w.phases(q), left)
		}
	}
}

// A forge is in trouble for half an hour, for random calls. No change is lost or doubled,
// landings are not paused, and the first change that waits lands within a minute of the end.
func TestOutage(t *testing.T) {
	storetest.OneOf(t, 2)
	for seed := range uint64(50) {
		if !storetest.Drawn(fmt.Sprint(t.Name(), seed), 3) {
			continue
		}
		l, files := plain("a", "b", "c")
		w := newWorld(t, l, files, rulesOf(config.Rules{}))
		w.begin(8)
		var pulls []*pull
		chance := rand.New(rand.NewPCG(seed, 1))
		worst := 1 + chance.IntN(10)
		end := w.now.Add(30 * time.Minute)
		w.fails = func(a *queue.Action) (bad, transient bool) {
			switch a.Task.(type) {
			case queue.Land, queue.Observe, queue.Inspect, queue.Resolve, queue.Analyze, queue.Publish, queue.MoveHeads, queue.SeeHeads, queue.ReturnHeads:
				return w.now < end && (worst > 7 || chance.IntN(10) < 9), true
			}
			return false, false
		}
		for _, target := range l.targets { // asked for in the middle of it
			pulls = append(pulls, w.land(edit{fileOf(target): "fine"}))
		}
		first := queue.Instant(0)
		for n := 0; n < 5000 && len(w.landings()) < len(pulls); n++ {
			w.punctual()
			if len(w.landings()) > 0 && first == 0 {
				first = w.now
			}
		}
		w.unharmed(t, pulls...)
		if first == 0 || first > end.Add(time.Minute) {
			t.Errorf("seed %d: the first landing is %v after the end", seed, first.Sub(end))
		}
		for _, p := range pulls {
			if w.onMain(p) == 0 {
				t.Errorf("seed %d: %s", seed, w.phases(p))
			}
		}
	}
}
