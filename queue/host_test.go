package queue_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// TestHostDoubts: what a host has failed is its fault if another one passes it, and not
// if another one fails it as well.
func TestHostDoubts(t *testing.T) {
	const at = queue.Instant(1_000_000_000)
	keys := func(names ...queue.Digest) map[queue.Digest]bool {
		out := map[queue.Digest]bool{}
		for _, n := range names {
			out[n] = true
		}
		return out
	}
	passed := func(on queue.CommitID, after time.Duration, names ...queue.Digest) func(*queue.Host) {
		return func(h *queue.Host) { h.Passed(keys(names...), on, at.Add(after)) }
	}
	failed := func(set bool, names ...queue.Digest) func(*queue.Host) {
		return func(h *queue.Host) { h.Agreed(keys(names...), set) }
	}
	named := queue.Doubtful{Step: "unit", Keys: []queue.Digest{"a", "b"}}
	set := queue.Doubtful{Step: "unit", Keys: []queue.Digest{"a", "b"}, Set: true, On: "c1"}
	for _, c := range []struct {
		name  string
		bad   queue.Doubtful
		then  []func(*queue.Host)
		fault bool
	}{
		{"nobody has run it", named, nil, false},
		{"another one passes one of them", named, []func(*queue.Host){passed("c9", 0, "b", "x")}, true},
		{"another one passes others", named, []func(*queue.Host){passed("c1", 0, "x")}, false},
		{"it passes long after", named, []func(*queue.Host){passed("c1", queue.FailureExpiry, "a")}, false},
		{"two fail one, the other passes", named, []func(*queue.Host){failed(false, "a"), passed("c1", 0, "b")}, true},
		{"two fail both, then they pass", named, []func(*queue.Host){failed(false, "a"), failed(false, "b"), passed("c1", 0, "a", "b")}, false},
		{"another one fails a set with them", named, []func(*queue.Host){failed(true, "a", "b"), passed("c1", 0, "a")}, true},
		{"a set passes", set, []func(*queue.Host){passed("c1", 0, "a"), passed("c1", 0, "b")}, true},
		{"a part of a set passes", set, []func(*queue.Host){passed("c1", 0, "a")}, false},
		{"a set passes on another commit", set, []func(*queue.Host){passed("c2", 0, "a", "b")}, false},
		{"two fail a set, then it passes", set, []func(*queue.Host){failed(true, "b", "c"), passed("c1", 0, "a", "b")}, false},
		{"another one fails one of a set", set, []func(*queue.Host){failed(false, "b"), passed("c1", 0, "a", "b")}, false},
	} {
		h := &queue.Host{Name: "m1"}
		h.Run("b1", at).Doubt(c.bad)
		if !h.Doubts(keys("a")) || h.Doubts(keys("x")) {
			t.Errorf("%s: what is doubtful is not told", c.name)
		}
		for _, do := range c.then {
			do(h)
		}
		want := 0
		if c.fault {
			want = 1
		}
		if faults, runs := h.Counted(at); faults != want || runs != 1 {
			t.Errorf("%s: %d of %d, want %d", c.name, faults, runs, want)
		}
		if c.fault && h.Doubts(keys("a", "b")) {
			t.Errorf("%s: it is still doubtful", c.name)
		}
	}
}

// ran is a host with so many runs, of which so many were its fault.
func ran(faults, runs int, at queue.Instant) *queue.Host {
	h := &queue.Host{}
	for i := range runs {
		h.Run(queue.BuildID(strconv.Itoa(i)), at).Fault = i < faults
	}
	return h
}

// TestHostFaulty: a host is faulty with clearly more faults than its share, and with
// few runs nobody is.
func TestHostFaulty(t *testing.T) {
	const at = queue.Instant(1_000_000_000)
	for _, c := range []struct {
		faults, runs, theirs, of int
		after                    time.Duration
		want                     bool
	}{
		{2, 2, 0, 20, 0, false},                // it is too early to tell
		{3, 3, 0, 0, 0, false},                 // against nobody
		{3, 3, 0, 1, 0, true},                  // all that it was given
		{40, 45, 0, 3, 0, true},                // it fails fast, and so takes most
		{3, 20, 0, 20, 0, true},                // one step does not work there
		{3, 40, 4, 40, 0, false},               // flaky tests fail everywhere
		{6, 10, 6, 10, 0, false},               // all are as bad
		{3, 3, 0, 20, queue.HostWindow, false}, // long ago
		{30, 300, 0, 40, 0, false},             // of the latest runs none
	} {
		if got := ran(c.faults, c.runs, at).Faulty([]*queue.Host{ran(c.theirs, c.of, at)}, at.Add(c.after)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
