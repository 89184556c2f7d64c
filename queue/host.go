package queue

import (
	"slices"
	"time"
)

// Host is a computer that runs builds, and how its latest builds have ended where
// other hosts have run the same.
type Host struct {
	Name    string    `json:"name"`            // hostile text
	Slots   int       `json:"slots,omitempty"` // builds that it can run at once; 0: it is away, or nobody has said
	Tools   []Tools   `json:"tools,omitempty"` // its tools; in the order of the commands
	Runs    []HostRun `json:"runs,omitempty"`  // the oldest first; at most HostRunsMost
	Sample  *Sample   `json:"sample,omitempty"`
	Bench   *Bench    `json:"bench,omitempty"`   // nil: it gets builds
	Benched int       `json:"benched,omitempty"` // how often it was benched, or failed a probe, since it was last sound for HostSound
	Back    Instant   `json:"back,omitempty"`    // when it last left the bench
}

// HostRun is one build on a host.
type HostRun struct {
	Build BuildID    `json:"build"`
	At    Instant    `json:"at"`
	Bad   []Doubtful `json:"bad,omitempty"`   // the keys that failed there, and that no other host has run since
	Fault bool       `json:"fault,omitempty"` // another host has passed what it failed
}

// Doubtful is a set of keys that a host has failed: the host's fault if another one
// passes it, the commit's if another one fails it as well.
type Doubtful struct {
	Step string   `json:"step"`          // its name
	Keys []Digest `json:"keys"`          // ids; at most DoubtfulMost
	Set  bool     `json:"set,omitempty"` // none of them was named: another host must pass them all
	On   CommitID `json:"on,omitempty"`  // and on this commit: the step may have run more than it was asked for
}

// Sample is what a host is probed with: a job that another host has passed.
type Sample struct {
	Commit CommitID `json:"commit"`
	Job    Job      `json:"job"` // at most SampleMost keys
	Host   string   `json:"host"`
}

// Bench says why a host gets no builds.
type Bench struct {
	Since  Instant `json:"since"`
	Faults int     `json:"faults"`           // so many of its builds failed keys that another host has passed
	Runs   int     `json:"runs"`             // of so many builds
	Step   string  `json:"step"`             // that failed last; a name
	Until  Instant `json:"until"`            // it is probed then
	Probes int     `json:"probes,omitempty"` // that it has failed
	Probe  *Build  `json:"probe,omitempty"`  // the one under way
}

// When hosts are benched.
const (
	HostWindow   = 6 * time.Hour  // older builds do not count
	HostRunsMost = 50             // builds that are remembered of a host
	DoubtfulMost = 128            // keys
	SampleMost   = 8              // keys
	HostFaults   = 3              // at least so many faults
	HostExcess   = 3              // so many times the rate of the others
	HostSound    = 24 * time.Hour // then it is benched as if for the first time
	hostBackoff  = 10 * time.Minute
	hostDoubles  = 5
)

// Counted returns how many builds of the host count at a moment, and how many of
// them were its fault.
func (h *Host) Counted(now Instant) (faults, runs int) {
	for _, r := range h.Runs {
		if now.Sub(r.At) >= HostWindow {
			continue
		}
		runs++
		if r.Fault {
			faults++
		}
	}
	return faults, runs
}

// Faulty reports whether a host clearly fails more often than others on keys that others pass:
// at least HostFaults times, and at HostExcess times their rate. The others are assumed to have
// had one more fault, and two more builds, than they had: a few builds prove nothing. A broken
// host fails fast and so runs most of the builds, which does not change its rate; a test that
// fails by chance fails everywhere.
func (h *Host) Faulty(others []*Host, now Instant) bool {
	faults, runs := h.Counted(now)
	theirs, of := 1, 2
	for _, o := range others {
		f, n := o.Counted(now)
		theirs, of = theirs+f, of+n
	}
	return faults >= HostFaults && faults*of >= HostExcess*theirs*runs
}

// Backoff returns how long a host waits for its next probe.
func (h *Host) Backoff() time.Duration { return hostBackoff << min(max(h.Benched-1, 0), hostDoubles) }

// Run returns the host's run of a build, and notes it if it was not noted yet.
func (h *Host) Run(build BuildID, now Instant) *HostRun {
	for i := range h.Runs {
		if h.Runs[i].Build == build {
			return &h.Runs[i]
		}
	}
	h.Runs = slices.DeleteFunc(h.Runs, func(r HostRun) bool { return now.Sub(r.At) >= HostWindow })
	h.Runs = append(h.Runs, HostRun{Build: build, At: now})
	if n := len(h.Runs) - HostRunsMost; n > 0 {
		h.Runs = slices.Delete(h.Runs, 0, n)
	}
	return &h.Runs[len(h.Runs)-1]
}

// Doubt notes that some keys have failed in a run, named or, as a set, together.
func (r *HostRun) Doubt(d Doubtful) bool {
	d.Keys = d.Keys[:min(len(d.Keys), DoubtfulMost)]
	again := func(x Doubtful) bool { return x.Step == d.Step && x.Set == d.Set }
	if r.Fault || len(d.Keys) == 0 || slices.ContainsFunc(r.Bad, again) {
		return false
	}
	r.Bad = append(r.Bad, d)
	return true
}

// Passed notes that another host has passed some keys on a commit: a failure here within
// FailureExpiry is this host's fault; after that the world may have changed. It returns the
// name of the step that failed by this host's fault, or "", and whether anything is new.
func (h *Host) Passed(keys map[Digest]bool, on CommitID, now Instant) (fault string, changed bool) {
	for i := range h.Runs {
		r := &h.Runs[i]
		if now.Sub(r.At) >= FailureExpiry && len(r.Bad) > 0 {
			r.Bad, changed = nil, true
		}
		for j := range r.Bad {
			d := &r.Bad[j]
			if d.On != "" && d.On != on {
				continue
			}
			left := slices.DeleteFunc(slices.Clone(d.Keys), func(k Digest) bool { return keys[k] })
			if len(left) == len(d.Keys) {
				continue
			}
			changed = true
			if d.Keys = left; len(left) == 0 || !d.Set {
				r.Fault, fault = true, d.Step
			}
		}
		if r.Fault {
			r.Bad = nil
		}
	}
	return fault, changed
}

// Agreed notes that another host has failed some keys, by name or, as a set,
// together: this host's failures of them are not its fault.
func (h *Host) Agreed(keys map[Digest]bool, set bool) (changed bool) {
	for i := range h.Runs {
		r := &h.Runs[i]
		for j := range r.Bad {
			d := &r.Bad[j]
			shared := slices.ContainsFunc(d.Keys, func(k Digest) bool { return keys[k] })
			switch {
			case !shared:
			case d.Set: // any of them
				d.Keys, changed = nil, true
			case !set:
				d.Keys = slices.DeleteFunc(slices.Clone(d.Keys), func(k Digest) bool { return keys[k] })
				changed = true
			}
		}
		r.Bad = slices.DeleteFunc(r.Bad, func(d Doubtful) bool { return len(d.Keys) == 0 })
	}
	return changed
}

// Doubts reports whether the host has failed some of the keys, and no other host has
// run them since.
func (h *Host) Doubts(keys map[Digest]bool) bool {
	return slices.ContainsFunc(h.Runs, func(r HostRun) bool {
		return slices.ContainsFunc(r.Bad, func(d Doubtful) bool {
			return slices.ContainsFunc(d.Keys, func(k Digest) bool { return keys[k] })
		})
	})
}

// HostView is a host as people see it.
type HostView struct {
	Name   string       // hostile text
	Slots  int          // 0: it is away
	Faults int          // of so many of its latest builds another host has passed what they failed
	Runs   int          // of so many
	Bench  *Bench       // nil: it gets builds
	Other  []OtherTools // of steps that it gets no builds of
}

// Fleet says on which hosts builds can run, in the order of their names.
type Fleet struct {
	Hosts []FleetHost `json:"hosts"`
}

// FleetHost is a host that is there.
type FleetHost struct {
	Name  string `json:"name"`
	Slots int    `json:"slots"`

	Tools []Tools `json:"tools,omitempty"` // in the order of their commands; none: it has said nothing yet
}

func (Fleet) event() {}
