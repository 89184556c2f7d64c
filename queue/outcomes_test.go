package queue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

func set(passed bool, ids ...queue.ChangeID) queue.Outcome {
	return queue.Outcome{With: ids, Passed: passed}
}

// Of results that say the same only the strongest is kept, and a new one takes the place of
// those that it contradicts.
func TestOutcomesAdd(t *testing.T) {
	for _, c := range []struct {
		name string
		had  []queue.Outcome
		new  queue.Outcome
		news bool
		want []queue.Outcome
	}{
		{"a larger pass", []queue.Outcome{set(true, "a")}, set(true, "a", "b"), true, []queue.Outcome{set(true, "a", "b")}},
		{"a smaller pass", []queue.Outcome{set(true, "a", "b")}, set(true, "b"), false, []queue.Outcome{set(true, "a", "b")}},
		{"a smaller failure", []queue.Outcome{set(false, "a", "b")}, set(false, "b"), true, []queue.Outcome{set(false, "b")}},
		{"a larger failure", []queue.Outcome{set(false, "b")}, set(false, "a", "b"), false, []queue.Outcome{set(false, "b")}},
		{"a failure that has passed", []queue.Outcome{set(true, "a", "b"), set(true, "c")}, set(false, "a"), true, []queue.Outcome{set(true, "c"), set(false, "a")}},
		{"a pass that has failed", []queue.Outcome{set(false, "a"), set(false, "c")}, set(true, "a", "b"), true, []queue.Outcome{set(false, "c"), set(true, "a", "b")}},
		{"others", []queue.Outcome{set(true, "a", "c"), set(false, "b", "d")}, set(false, "a", "b"), true, []queue.Outcome{set(true, "a", "c"), set(false, "b", "d"), set(false, "a", "b")}},
	} {
		o := queue.Outcomes{Target: "x", Sets: c.had}
		if news := o.Add(c.new); news != c.news {
			t.Errorf("%s: news: %v", c.name, news)
		}
		if diff := cmp.Diff(c.want, o.Sets); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// However many results come, a bounded number is kept, and no pass contradicts a failure.
func TestOutcomesAreBounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var o queue.Outcomes
		for range rapid.IntRange(1, 400).Draw(r, "results") {
			bits := rapid.IntRange(1, 1<<16-1).Draw(r, "set")
			x := queue.Outcome{Passed: rapid.Bool().Draw(r, "passed")}
			for i := range 16 {
				if bits&(1<<i) != 0 {
					x.With = append(x.With, queue.ChangeID(rune('a'+i)))
				}
			}
			o.Add(x)
		}
		if len(o.Sets) > 160 {
			r.Fatalf("%d results", len(o.Sets))
		}
		for _, pass := range o.Sets {
			for _, fail := range o.Sets {
				if pass.Passed && !fail.Passed && subset(fail.With, pass.With) {
					r.Fatalf("%v has failed, and %v passed", fail.With, pass.With)
				}
			}
		}
	})
}

func subset(a, b []queue.ChangeID) bool {
	in := map[queue.ChangeID]bool{}
	for _, id := range b {
		in[id] = true
	}
	for _, id := range a {
		if !in[id] {
			return false
		}
	}
	return true
}
