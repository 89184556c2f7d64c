package speculation

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// fleetOf tells a world's queue which hosts there are, with two slots each.
func fleetOf(w *world) {
	f, n := queue.Fleet{}, 0
	for _, name := range w.hosts.names {
		f.Hosts = append(f.Hosts, queue.FleetHost{Name: name, Slots: 2})
		n += 2
	}
	w.tell(f, queue.Capacity{Slots: n})
}

func broken(t *testing.T, how breakage) *world {
	w := quiet(t, unit, config.Rules{Retries: 1, BuildsPerChange: 100}, rule{target: "b", all: []string{"bad"}})
	w.hosts = hosts{names: []string{"m1", "m2", "m3"}, broken: "m1", how: how}
	fleetOf(w)
	return w
}

// landSome lands sound changes, one after the other.
func landSome(w *world, n int) {
	w.Helper()
	for range n {
		w.now = w.now.Add(time.Second)
		p := w.land(edit{"a/code": w.now.Time().Format("f150405")})
		w.waitOut()
		if ch := w.change(p); ch.Phase != queue.Landed {
			w.Fatalf("a sound change is %s: %+v", ch.Phase, ch.Reason)
		}
	}
}

// runsOn returns the builds of changes on a host, from the nth run on.
func runsOn(w *world, host string) (n int) {
	for _, r := range w.runs {
		if r.host == host && r.build.Only == "" {
			n++
		}
	}
	return n
}

// A host that fails what others pass is benched: after a few builds it gets none any
// more but probes, ever more rarely. Once it is repaired, the next probe brings it
// back.
func TestBrokenHostIsBenched(t *testing.T) {
	for how := breaksTests; how <= breaksCheckout; how++ {
		w := broken(t, how)
		landSome(w, 3)
		h := w.core.State().Hosts["m1"]
		if h.Bench == nil {
			t.Fatalf("broken as %d: it is not benched: %+v", how, h)
		}
		if got := w.core.State().Slots; got != 4 {
			t.Errorf("there are %d slots, want those of two hosts", got)
		}
		was := runsOn(w, "m1")
		landSome(w, 3)
		if n := runsOn(w, "m1"); n != was {
			t.Errorf("broken as %d: it got %d builds while it was benched", how, n-was)
		}
		var gaps []time.Duration
		for range 3 {
			at := w.now
			w.now = h.Bench.Until
			w.tell(queue.Tick{})
			w.waitOut()
			if h.Bench == nil || h.Bench.Until <= w.now {
				t.Fatalf("after a probe that failed: %+v", h.Bench)
			}
			gaps = append(gaps, h.Bench.Until.Sub(max(at, w.now)))
		}
		if !slices.IsSorted(gaps) || gaps[0] == gaps[2] {
			t.Errorf("probed every %v", gaps)
		}
		if h.Bench.Probes != 3 {
			t.Errorf("%d probes failed, want 3", h.Bench.Probes)
		}
		for _, e := range w.core.State().Ledger {
			if slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return w.runs[f.Build].build.Only != "" }) {
				t.Errorf("a probe is in the ledger: %+v", e)
			}
		}
		w.hosts.broken = ""
		w.now = h.Bench.Until
		w.tell(queue.Tick{})
		w.waitOut()
		if h.Bench != nil || w.core.State().Slots != 6 {
			t.Errorf("broken as %d: it has been repaired, and is %+v with %d slots", how, h.Bench, w.core.State().Slots)
		}
	}
}

// A change that waits for a slot is told which hosts are benched; others are not.
func TestBenchedHostIsAReason(t *testing.T) {
	w := broken(t, breaksTests)
	landSome(w, 3)
	w.tell(queue.Capacity{Slots: 0})
	p := w.land(edit{"a/code": "waits"})
	w.settleDown()
	v, _ := w.core.View(w.change(p).ID)
	if !slices.ContainsFunc(v.Waits, func(r queue.Reason) bool {
		return r.Code == queue.ReasonBenched && slices.Equal(r.Names, []string{"m1"})
	}) {
		t.Errorf("it waits for %+v", v.Waits)
	}
	shown := w.core.telling.told[p.number].facts
	w.tell(queue.Fleet{Hosts: []queue.FleetHost{{Name: "m2", Slots: 2}, {Name: "m3", Slots: 2}}})
	v, _ = w.core.View(w.change(p).ID)
	if slices.ContainsFunc(v.Waits, func(r queue.Reason) bool { return r.Code == queue.ReasonBenched }) {
		t.Errorf("the host is away, and it waits for %+v", v.Waits)
	}
	if w.core.telling.told[p.number].facts == shown {
		t.Error("its comment is not written again")
	}
}

// A benched host that was away, and is there again, is probed at once.
func TestBenchedHostComesBack(t *testing.T) {
	w := broken(t, breaksTool)
	landSome(w, 3)
	h := w.core.State().Hosts["m1"]
	w.tell(queue.Fleet{Hosts: []queue.FleetHost{{Name: "m2", Slots: 2}, {Name: "m3", Slots: 2}}}, queue.Capacity{Slots: 4})
	if got := w.core.State().Slots; got != 4 {
		t.Errorf("%d slots", got)
	}
	w.hosts.broken = ""
	fleetOf(w)
	w.waitOut()
	if h.Bench != nil {
		t.Errorf("it is still benched: %+v", h.Bench)
	}
}

// The last host is not benched, and where the others leave, the benched one's slots
// count.
func TestLastHostIsNotBenched(t *testing.T) {
	s := queue.NewState("main")
	now := queue.At(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))
	c := New(s)
	hosts := func(names ...string) queue.Event {
		f := queue.Fleet{}
		for _, n := range names {
			f.Hosts = append(f.Hosts, queue.FleetHost{Name: n, Slots: 2})
		}
		return queue.Event{At: now, Body: f}
	}
	Step(c, []queue.Event{hosts("m1", "m2", "m3"), {At: now, Body: queue.Capacity{Slots: 6}}})
	for b := range 20 { // of a host that has left since
		c.benching.host("m4").Run(queue.BuildID("good"+strconv.Itoa(b)), now)
	}
	for i, name := range []string{"m1", "m2", "m3"} {
		for b := range 5 {
			s.Hosts[name].Run(queue.BuildID(rune('a'+b)), now).Fault = true
		}
		Step(c, []queue.Event{{At: now, Body: queue.Tick{}}})
		if got, want := c.benching.benched(), []string{"m1", "m2"}[:min(i+1, 2)]; !slices.Equal(got, want) {
			t.Errorf("%v are benched, want %v", got, want)
		}
	}
	if s.Slots != 2 {
		t.Errorf("%d slots, want those of the last host", s.Slots)
	}
	Step(c, []queue.Event{hosts("m1", "m2"), {At: now, Body: queue.Capacity{Slots: 4}}})
	if s.Slots != 4 {
		t.Errorf("%d slots, want all where there is no other host", s.Slots)
	}
}

// A change that fails everywhere benches no host, nor do tests that fail by chance on
// every host alike.
func TestHonestHostsAreNotBenched(t *testing.T) {
	storetest.OneOf(t, 2)
	w := quiet(t, unit, config.Rules{Retries: 1, BuildsPerChange: 1000}, rule{target: "b", all: []string{"bad"}})
	w.hosts = hosts{names: []string{"m1", "m2", "m3"}}
	at := 0
	w.hosts.any = func(fit []string) string { at++; return fit[at%len(fit)] }
	fleetOf(w)
	for i := range 8 {
		bad := w.land(edit{"b/code": "bad " + string(rune('a'+i))})
		w.waitOut()
		if ch := w.change(bad); ch.Phase != queue.Rejected {
			t.Fatalf("%s %+v", ch.Phase, ch.Reason)
		}
		if got := w.core.benching.benched(); len(got) > 0 {
			t.Fatalf("after %d red changes %v are benched", i+1, got)
		}
	}
	n := 0
	w.flake = func([]queue.Key) bool { n++; return n%4 == 0 }
	landSome(w, 40)
	if got := w.core.benching.benched(); len(got) > 0 {
		t.Errorf("after flakes everywhere %v are benched", got)
	}
}

// A host that cannot check out parks no change while another one can.
func TestCheckoutFailsOnOneHost(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1, InfraRetries: 1})
	w.hosts = hosts{names: []string{"m1", "m2"}, broken: "m1", how: breaksCheckout}
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	if ch := w.change(p); ch.Phase == queue.Parked {
		t.Errorf("parked for what one host cannot do: %+v", ch.Reason)
	}
	w.waitOut()
	if ch := w.change(p); ch.Phase != queue.Landed {
		t.Errorf("%s %+v", ch.Phase, ch.Reason)
	}
}

// The only host that has the tools of a step is benched for failures in other steps: it
// goes on to run that step, since no other can.
func TestBenchedHostAloneHasTheTools(t *testing.T) {
	c := New(queue.NewState("main"))
	st := config.Step{Name: "unit", Run: "make", Environment: "cc", Fingerprint: "1"}
	has := func(fingerprint, err string) []queue.Tools {
		return []queue.Tools{{Command: "cc", Fingerprint: fingerprint, Error: err}}
	}
	c.s.Hosts = map[string]*queue.Host{
		"m1": {Name: "m1", Slots: 1, Tools: has("1", ""), Bench: &queue.Bench{Since: 1}},
		"m2": {Name: "m2", Slots: 1, Tools: has("", "no compiler")},
	}
	if !c.facts.Equipped(st) {
		t.Error("it waits for tools that a host has")
	}
	c.s.Hosts["m2"].Tools = has("2", "")
	if c.facts.Equipped(st) {
		t.Error("it is built, though the queue is about to go by the tools of hosts that are not benched")
	}
	c.s.Hosts["m2"].Tools = has("1", "")
	if !c.facts.Equipped(st) {
		t.Error("it waits for tools that a host which is not benched has")
	}
	c.s.Hosts["m1"].Slots, c.s.Hosts["m2"].Tools = 0, has("", "no compiler")
	if c.facts.Equipped(st) {
		t.Error("the host with the tools is away")
	}
}
