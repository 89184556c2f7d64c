package speculation

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// hosts are the computers of a world's runners. The zero value is a CI with unknown
// hosts.
type hosts struct {
	names   []string
	broken  string                      // fails all that it is given, at once: idle again, it takes most of the work
	how     breakage                    // of the broken one
	stale   bool                        // what is kept there from build to build fails what runs with it
	missing string                      // a token of trees whose commands no host can run
	hurry   func(avoided []string) bool // a build does not wait until another host is free
	slow    map[string]bool             // those on which something has timed out
	any     func(names []string) string // which one a build gets; default the first

	skew time.Duration // of the clock by which it is said when they ran what
}

// breakage is what is said of a job on the broken host.
type breakage int

const (
	breaksTests    breakage = iota // its report names each target as failed
	breaksStep                     // it fails, and names nothing
	breaksTool                     // the command cannot be run
	breaksCheckout                 // there is no result
)

// place returns the host of a build: like the pool, none that it avoids while there
// is another; the broken one first, which is always free.
func (h *hosts) place(b *queue.Build) string {
	if len(h.names) == 0 {
		return ""
	}
	if b.Only != "" {
		return b.Only
	}
	among := h.unbenched(b)
	avoided := func(name string) bool { return slices.Contains(b.Avoid, name) }
	fit := slices.DeleteFunc(slices.Clone(among), avoided)
	if len(fit) == 0 || len(b.Avoid) > 0 && h.hurry != nil && h.hurry(b.Avoid) {
		fit = among
	}
	switch {
	case h.broken != "" && slices.Contains(fit, h.broken):
		return h.broken
	case h.any != nil:
		return h.any(fit)
	}
	return fit[0]
}

// unbenched returns the hosts that may have a build: those that are not benched, or
// all where there are no others.
func (h *hosts) unbenched(b *queue.Build) []string {
	fit := slices.DeleteFunc(slices.Clone(h.names), func(name string) bool { return slices.Contains(b.Shun, name) })
	if len(fit) == 0 {
		return h.names
	}
	return fit
}

// fails says whether a host fails all builds of a tree, and how.
func (h *hosts) fails(host string, t tree) (how breakage, fails bool) {
	lacks := func(c string) bool { return setOf(c)[h.missing] }
	if h.missing != "" && slices.ContainsFunc(slices.Collect(maps.Values(t)), lacks) {
		return breaksTool, true
	}
	return h.how, host != "" && host == h.broken
}

// breaksOff ends a build on a host that cannot check its commit out.
func (w *world) breaksOff(r *run) bool {
	how, fails := w.hosts.fails(r.host, w.commits[r.build.Commit].tree)
	if !fails || how != breaksCheckout || r.jobs > 0 {
		return false
	}
	r.over = true
	r.said = append(r.said, queue.BuildDone{Build: r.build.ID, Outcome: queue.JobInfra, Detail: "cannot check out",
		Host: r.host, Alone: len(w.hosts.unbenched(&r.build)) == 1})
	return true
}

// job runs a step where the build was put.
func (w *world) job(r *run, j queue.Job) (out queue.JobDone) {
	t := w.commits[r.build.Commit].tree
	how, fails := w.hosts.fails(r.host, t)
	switch out = (queue.JobDone{Build: r.build.ID, Step: j.Step.Digest(), Outcome: queue.JobFailed}); {
	case w.hosts.stale && !r.build.Cold():
		out.Cached, out.Tail = true, "left by another build"
	case !fails:
		out = w.soundly(r, t, j)
	case how == breaksTool:
		out.Outcome, out.Tool, out.Tail = queue.JobInfra, true, "sh: 1: go: not found"
	case how == breaksTests && j.Step.Report == config.ReportGoTestJSON:
		for _, t := range j.Targets() {
			out.Failed = append(out.Failed, queue.TargetFailure{Target: t})
		}
	}
	if out.Outcome == queue.JobTimeout {
		if w.hosts.slow == nil {
			w.hosts.slow = map[string]bool{}
		}
		w.hosts.slow[r.host] = true
	}
	out.Began, out.Ended = r.at.Add(w.hosts.skew), w.now.Add(w.hosts.skew)
	out.Machine, out.Host, out.Alone = cmp.Or(r.host, "m1"), r.host, len(w.hosts.unbenched(&r.build)) == 1
	return out
}

// hostsCome tells which hosts are there; builds run on others, too: the event that one
// has gone comes later.
func (h *history) hostsCome() {
	f := queue.Fleet{}
	for _, name := range h.hosts.names {
		if h.chance(70, "host is there") {
			f.Hosts = append(f.Hosts, queue.FleetHost{Name: name, Slots: 1 + h.pick(2, "its slots")})
		}
	}
	if len(f.Hosts) > 0 {
		h.tell(f)
	}
}

// drawHosts draws where builds run: on unknown hosts, on one computer, or on three of
// which one may be broken.
func (h *history) drawHosts() {
	kind := h.pick(4, "hosts")
	h.hosts.skew = []time.Duration{0, 0, -2 * time.Second, 50 * time.Second}[kind]
	switch kind {
	case 1:
		h.hosts.names = []string{"m1"}
	case 2, 3:
		h.hosts.names = []string{"m1", "m2", "m3"}
		h.hosts.any = func(fit []string) string { return fit[h.pick(len(fit), "host")] }
		h.hosts.hurry = func([]string) bool { return h.chance(10, "no other host in time") }
		h.hosts.stale = h.chance(20, "stale caches")
		if h.chance(60, "broken host") {
			h.hosts.broken, h.hosts.how = h.hosts.names[h.pick(3, "which")], breakage(h.pick(4, "how"))
		}
	}
}
