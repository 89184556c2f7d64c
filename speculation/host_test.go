package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A host that fails all it is given, at once, is free again before the others and
// takes each build first. No result of it rejects a change while another host is
// sound.
func TestBrokenHostRejectsNobody(t *testing.T) {
	for how := breaksTests; how <= breaksTool; how++ {
		for _, steps := range []string{unit, shard} {
			for retries := range 3 {
				w := quiet(t, steps, config.Rules{Retries: retries}, rule{target: "b", all: []string{"bad"}})
				w.hosts = hosts{names: []string{"m1", "m2"}, broken: "m1", how: how}
				good := w.land(edit{"a/code": "fine"})
				w.waitOut()
				if got := w.change(good).Phase; got != queue.Landed {
					t.Errorf("%s, broken as %d, %d retries: a sound change is %s: %+v", steps, how, retries, got, w.change(good).Reason)
				}
			}
		}
	}
}

// Whatever builds have left in caches turns nobody down: a failure with them counts once
// one without them has shown the same.
func TestStaleCachesRejectNobody(t *testing.T) {
	for _, names := range [][]string{{"m1"}, {"m1", "m2"}} {
		for retries := range 3 {
			w := quiet(t, unit, config.Rules{Retries: retries}, rule{target: "b", all: []string{"bad"}})
			w.hosts = hosts{names: names, stale: true}
			good, bad := w.land(edit{"a/code": "fine"}), w.land(edit{"b/code": "bad"})
			w.waitOut()
			if got := w.change(good).Phase; got != queue.Landed {
				t.Errorf("%v, %d retries: a sound change is %s: %+v", names, retries, got, w.change(good).Reason)
			}
			if got := w.change(bad).Phase; got != queue.Rejected {
				t.Errorf("%v, %d retries: a red change is %s: %+v", names, retries, got, w.change(bad).Reason)
			}
		}
	}
}

// A change that is red is rejected once it was so on two hosts, and on the only one
// where there is one.
func TestFailureIsSeenOnTwoHosts(t *testing.T) {
	for _, names := range [][]string{{"m1"}, {"m1", "m2"}, {"m1", "m2", "m3"}} {
		w := quiet(t, unit, config.Rules{Retries: 0}, rule{target: "b", all: []string{"bad"}})
		w.hosts = hosts{names: names}
		bad := w.land(edit{"b/code": "bad"})
		w.waitOut()
		ch := w.change(bad)
		if ch.Phase != queue.Rejected {
			t.Fatalf("%v: a red change is %s: %+v", names, ch.Phase, ch.Reason)
		}
		var on []string
		for _, r := range w.runs {
			if r.build.Change == ch.ID {
				on = append(on, r.host)
			}
		}
		slices.Sort(on)
		if want := names[:min(2, len(names))]; !slices.Equal(on, want) {
			t.Errorf("of %v it ran on %v, want %v", names, on, want)
		}
	}
}

// A command that no host can run is the change's: it does not wait for a better host
// for ever.
func TestToolMissingEverywhere(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1}, rule{target: "b", all: []string{"calls-what-is-not-there"}})
	w.hosts = hosts{names: []string{"m1", "m2"}, how: breaksTool}
	bad := w.open(w.main, edit{"b/code": "calls-what-is-not-there"})
	w.hosts.missing = "calls-what-is-not-there"
	w.step(w.say(bad, "dev", "/land"))
	w.waitOut()
	if ch := w.change(bad); ch.Phase != queue.Rejected {
		t.Errorf("the change is %s: %+v", ch.Phase, ch.Reason)
	}
	good := w.land(edit{"a/code": "fine"})
	w.waitOut()
	if ch := w.change(good); ch.Phase != queue.Landed {
		t.Errorf("another change is %s: %+v", ch.Phase, ch.Reason)
	}
}
