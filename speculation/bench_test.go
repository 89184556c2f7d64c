package speculation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// BenchmarkStep measures one turn, the encoding of what it changed included,
// with 1,000 pending changes in as many areas as named, for one event of each
// kind. It reports the 99th percentile.
func BenchmarkStep(b *testing.B) {
	for _, areas := range []int{50, 1} {
		b.Run(fmt.Sprintf("areas=%d", areas), func(b *testing.B) {
			w := busy(b, areas, 100)
			for _, kind := range []string{"tick", "comment", "inspected", "analyzed", "resolved", "job", "build", "pushed"} {
				b.Run(kind, func(b *testing.B) { w.measure(b, kind) })
			}
		})
	}
}

// BenchmarkPlan measures the plan alone, with 1,000 pending changes that
// conflict with 60 others each and 500 slots, after one step of a build has told
// its results. It reports the median and the 99th percentile.
func BenchmarkPlan(b *testing.B) {
	w := busy(b, crowded/61, 500)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		c, e := w.prepare("job", i)
		c.beforePlan([]queue.Event{e})
		began := time.Now()
		c.plan()
		took = append(took, time.Since(began))
		w.after(c.afterPlan())
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "plan-p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "plan-p99-ms")
}

func (w *crowd) measure(b *testing.B, kind string) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		c, e := w.prepare(kind, i)
		b.StartTimer()
		began := time.Now()
		turn := Step(c, []queue.Event{e})
		for _, ref := range turn.Changed {
			if _, _, err := c.s.Encode(ref); err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(began))
		b.StopTimer()
		w.after(turn)
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// crowd is a queue of 1,000 pending changes.
type crowd struct {
	*world
	later []queue.Body // of the build whose job came last
}

const crowded = 1000

func busy(b *testing.B, areas, slots int) *crowd {
	l := law{needs: map[string][]string{}}
	files := tree{stepsFile: unit, barrier: "go1", unowned: "data"}
	for i := range areas {
		n := fmt.Sprintf("area%02d", i)
		l.targets = append(l.targets, n)
		files[fileOf(n)] = "base"
	}
	w := newWorld(b, l, files, rulesOf(config.Rules{}))
	w.audit.off = true
	w.begin(slots)
	var all []queue.Event
	for i := range crowded {
		p := w.open(w.main, edit{fileOf(l.targets[i%areas]): fmt.Sprint("c", i)})
		w.now++
		e := w.say(p, "dev", "/land")
		e.At = w.now
		all = append(all, e)
	}
	w.step(all...)
	c := &crowd{world: w}
	c.rest()
	return c
}

// rest carries out everything but pushes and builds, many in a turn.
func (w *crowd) rest() {
	for {
		var out []queue.Body
		var kept []queue.Action
		for _, a := range w.waits {
			if _, land := a.Task.(queue.Land); land {
				kept = append(kept, a)
			} else {
				out = append(out, w.carryOut(a)...)
			}
		}
		if w.waits = kept; len(out) == 0 {
			return
		}
		w.now++
		w.tell(out...)
	}
}

// prepare returns a core with the crowd and an event of a kind. The core is the
// live one: what the events change of it is little.
func (w *crowd) prepare(kind string, i int) (*Core, queue.Event) {
	w.now++
	switch kind {
	case "comment":
		p := w.open(w.main, edit{fileOf(w.targets[i%len(w.targets)]): fmt.Sprint("x", w.next)})
		return w.live(w.say(p, "dev", "/land").Body)
	case "inspected", "analyzed", "resolved":
		for n, a := range w.waits {
			_, inspect := a.Task.(queue.Inspect)
			_, analyze := a.Task.(queue.Analyze)
			_, resolve := a.Task.(queue.Resolve)
			if kind == "inspected" && inspect || kind == "analyzed" && analyze || kind == "resolved" && resolve {
				w.waits = slices.Delete(w.waits, n, n+1)
				return w.live(w.carryOut(a)[0])
			}
		}
		if kind == "resolved" {
			w.commitOutside(w.commits[w.main].tree.with(edit{"docs": fmt.Sprint("d", w.next)}))
			w.tell(queue.MainMoved{Branch: "main"})
			for _, what := range []string{"observe/", "survey/", "analyze/"} { // then everybody is merged anew
				w.drain(what)
			}
			if !slices.ContainsFunc(w.waits, func(a queue.Action) bool { return strings.HasPrefix(a.Key, "resolve/") }) {
				w.Fatalf("nobody is merged on the new main: %v", w.waits)
			}
			return w.prepare(kind, i)
		}
		p := w.open(w.main, edit{fileOf(w.targets[i%len(w.targets)]): fmt.Sprint("y", w.next)})
		w.step(w.say(p, "dev", "/land"))
		if kind == "analyzed" {
			w.drain("inspect/")
		}
		return w.prepare(kind, i)
	case "job", "build":
		w.tell(w.later...)
		w.rest()
		for len(w.going()) == 0 { // all are proven: the train is away
			_, e := w.prepare("pushed", i)
			w.step(e)
			w.rest()
		}
		out := w.advance(w.going()[0])
		if kind == "job" {
			w.later = out[1:]
			return w.live(out[0])
		}
		w.later = nil
		w.tell(out[:len(out)-1]...)
		return w.live(out[len(out)-1])
	case "pushed":
		for range 300 {
			for n, a := range w.waits {
				if _, land := a.Task.(queue.Land); land {
					w.waits = slices.Delete(w.waits, n, n+1)
					return w.live(w.carryOut(a)[0])
				}
			}
			if going := w.going(); len(going) > 0 {
				w.tell(w.advance(going[0])...)
			}
			w.rest()
		}
		w.Fatalf("nobody lands")
	}
	return w.live(queue.Tick{})
}

func (w *crowd) after(t Turn) {
	w.wake = t.Wake
	w.waits = slices.DeleteFunc(w.waits, func(a queue.Action) bool { return slices.Contains(t.Ended, a.Key) })
	w.waits = append(w.waits, t.Actions...)
}

func (w *crowd) live(b queue.Body) (*Core, queue.Event) {
	e := w.event(b)
	e.At = w.now
	return w.core, e
}

// drain carries out the actions whose keys have a prefix, and tells of them in
// one turn.
func (w *crowd) drain(prefix string) {
	var out []queue.Body
	w.waits = slices.DeleteFunc(w.waits, func(a queue.Action) bool {
		if !strings.HasPrefix(a.Key, prefix) {
			return false
		}
		out = append(out, w.carryOut(a)...)
		return true
	})
	w.tell(out...)
}
