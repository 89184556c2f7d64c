package speculation

import (
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A host that fails keys that other hosts pass is benched: it gets no builds but
// probes. Its failures are remembered (queue.HostRun) until another host has run the
// same key at the same hash: a pass there makes it the host's fault, a failure there
// the commit's. A host with clearly more faults than the others (queue.Host.Faulty) is
// benched. After a back-off it is probed with keys that another host has passed; when
// it passes that, too, it is back. When it does not, the next probe comes later.
// Results of probes tell only of the host and do not get into the ledger.
//
// Say that m1 has lost its compiler, and m2 and m3 are sound. m1 fails three builds at
// once, and each is run again on another host, which passes: m1 is benched. Ten minutes
// later it is given one of these jobs again. Somebody has repaired it: it is back.

// host returns the record of a host.
func (c *benching) host(name string) *queue.Host {
	h := c.s.Hosts[name]
	if h == nil {
		h = &queue.Host{Name: name}
		c.s.Hosts[name] = h
	}
	return h
}

func (c *benching) touchHost(h *queue.Host) { c.touch(queue.KindHost, h.Name) }

// fleet takes in which hosts there are. A benched host that has been away is probed at
// once: somebody may have repaired it.
func (c *benching) fleet(b queue.Fleet) {
	slots, tools, more := map[string]int{}, false, false
	for _, f := range b.Hosts {
		slots[f.Name] = f.Slots
		h := c.host(f.Name)
		if len(f.Tools) > 0 && !slices.Equal(h.Tools, f.Tools) {
			h.Tools, tools = f.Tools, true
			c.touchHost(h)
		}
	}
	for _, name := range derived.Sorted(c.s.Hosts) {
		h := c.s.Hosts[name]
		if h.Slots == slots[name] {
			continue
		}
		if h.Slots == 0 && h.Bench != nil {
			h.Bench.Until = min(h.Bench.Until, c.facts.Now)
		}
		more = more || slots[name] > h.Slots
		h.Slots = slots[name]
		c.touchHost(h)
		tools = tools || len(h.Tools) > 0
	}
	if more {
		c.arrived()
	}
	if tools {
		c.retool()
	}
	c.forgetHosts()
	c.guarding.configured()
}

// arrivedEach is the least time between two builds that are asked for because runners come.
const arrivedEach = time.Minute

// arrived has builds asked for again that no runner could run: the one that has come now
// may fit. Such a change is told that it comes back when such a runner is there, and must not
// sleep out its pause beside it. Runners that live for one job come all the time, so there
// is a least time between two of these builds.
func (c *benching) arrived() {
	for _, ch := range c.settling.parked() {
		at := max(c.facts.Now, ch.Decided.Add(arrivedEach)) // it was parked then
		if ch.Reason.Code == queue.ReasonNoRunner && ch.Until > at {
			ch.Until = at
			c.touchChange(ch)
		}
	}
	if m := &c.s.Main; m.Unfit != 0 {
		if at := max(c.facts.Now, m.Unfit.Add(arrivedEach)); m.Retry > at {
			m.Retry = at
			c.touchMain()
		}
	}
}

// retool has main read again, and with it the toolset that is in force.
func (c *benching) retool() {
	if c.s.Main.Tip != "" {
		c.upkeep.observe()
	}
}

// forgetHosts drops hosts that are away and have no runs that still count.
func (c *benching) forgetHosts() {
	for _, name := range derived.Sorted(c.s.Hosts) {
		h := c.s.Hosts[name]
		if _, runs := h.Counted(c.facts.Now); h.Slots > 0 || runs > 0 || h.Bench != nil && c.facts.Now.Sub(h.Bench.Since) < keepBench {
			continue
		}
		if h.Bench != nil && h.Bench.Probe != nil {
			c.upkeep.drop(queue.ProbeHost{Host: name, Build: h.Bench.Probe.ID})
		}
		delete(c.s.Hosts, name)
		c.touch(queue.KindHost, name)
	}
}

// ran takes in what a job tells of the host that ran it, and of the hosts that failed
// the same keys before.
func (c *benching) ran(b *queue.Build, j *queue.Job, r queue.JobDone) {
	if r.Host == "" {
		return
	}
	passed, failed := map[queue.Digest]bool{}, map[queue.Digest]bool{}
	named := len(r.Passed)+len(r.Failed) > 0
	var order []queue.Digest
	for _, k := range j.Keys {
		id := k.ID()
		bad := slices.ContainsFunc(r.Failed, func(f queue.TargetFailure) bool { return f.Target == k.Target })
		switch {
		case bad, !named && r.Outcome != queue.JobPassed:
			failed[id] = true
			order = append(order, id)
		case named && slices.Contains(r.Passed, k.Target), !named && !j.Step.NamesTargets():
			passed[id] = true
		}
	}
	if r.Cached {
		order, failed = nil, nil // what another build has left in the caches may be to blame, and not the host
	}
	c.noteRun(b, r.Host, queue.Doubtful{Step: j.Step.Name, Keys: order, Set: !named, On: where(b, !named)})
	c.others(r.Host, func(h *queue.Host) {
		changed := c.agreed(h, failed, !named)
		fault, new := h.Passed(passed, b.Commit, c.facts.Now)
		again := h.Bench != nil && h.Bench.Probe == nil && h.Bench.Step == j.Step.Name && len(passed) > 0
		if fault != "" || again {
			h.Sample, new = sampleOf(b, j, r.Host, passed), true
		}
		if changed || new {
			c.touchHost(h)
		}
	})
}

// where returns the commit of a build that has failed a set.
func where(b *queue.Build, set bool) queue.CommitID {
	if set {
		return b.Commit
	}
	return ""
}

func (c *benching) agreed(h *queue.Host, failed map[queue.Digest]bool, set bool) bool {
	return len(failed) > 0 && h.Agreed(failed, set)
}

// noteRun notes a build on a host, and the keys that have failed there.
func (c *benching) noteRun(b *queue.Build, name string, d queue.Doubtful) {
	h := c.host(name)
	h.Run(b.ID, c.facts.Now).Doubt(d)
	c.touchHost(h)
	c.forgetHosts()
}

// others calls do for each host but the named one, unless that one is benched: the
// results of a benched host are not held against others.
func (c *benching) others(name string, do func(*queue.Host)) {
	if h := c.s.Hosts[name]; h != nil && h.Bench != nil {
		return
	}
	for _, other := range derived.Sorted(c.s.Hosts) {
		if other != name {
			do(c.s.Hosts[other])
		}
	}
}

func sampleOf(b *queue.Build, j *queue.Job, host string, passed map[queue.Digest]bool) *queue.Sample {
	s := &queue.Sample{Commit: b.Commit, Job: queue.Job{Step: j.Step}, Host: host}
	for _, k := range j.Keys {
		if passed[k.ID()] && len(s.Job.Keys) < queue.SampleMost {
			s.Job.Keys = append(s.Job.Keys, k)
		}
	}
	return s
}

// brokeOff takes in that a build has ended on a host without a result of some of its
// jobs. That is the host's fault if another host has a result of them.
func (c *benching) brokeOff(b *queue.Build, r queue.BuildDone) {
	if r.Host == "" || r.Outcome != queue.JobInfra || r.Matched {
		return
	}
	for _, j := range b.Jobs {
		if j.Done {
			continue
		}
		d, keys := queue.Doubtful{Step: j.Step.Name, Set: true}, map[queue.Digest]bool{}
		for _, k := range j.Keys {
			d.Keys = append(d.Keys, k.ID())
			keys[k.ID()] = true
		}
		c.noteRun(b, r.Host, d)
		c.others(r.Host, func(h *queue.Host) {
			if c.agreed(h, keys, true) {
				c.touchHost(h)
			}
		})
	}
}

// isInfra reports whether a change is to be parked because its builds brought no
// result. One host alone is no reason for that while there is another host.
func (c *benching) isInfra(ch *queue.Change, r queue.BuildDone) bool {
	limit := max(c.facts.Rules().InfraRetries, 1)
	if r.Matched {
		return ch.Infra >= limit
	}
	if r.Host != "" && !slices.Contains(ch.InfraOn, r.Host) {
		ch.InfraOn = append(slices.Clone(ch.InfraOn), r.Host)
	}
	agreed := r.Host == "" || r.Alone || len(ch.InfraOn) > 1
	return ch.Infra >= limit && agreed || ch.Infra >= limit*infraPatience
}

// infraPatience is how many times the limit of infrastructure errors one host alone
// may bring, if the other hosts are never free.
const infraPatience = 3

// bench benches hosts, and probes those that are benched.
func (c *benching) bench() {
	for _, name := range derived.Sorted(c.s.Hosts) {
		h := c.s.Hosts[name]
		if h.Bench == nil && c.isFaulty(h) {
			c.putOnBench(h)
		}
		if h.Bench != nil {
			c.probeHost(h)
		}
	}
}

// isFaulty reports whether a host is to be benched. The last host is never benched,
// since there is no other to compare it with.
func (c *benching) isFaulty(h *queue.Host) bool {
	var others []*queue.Host
	left := false
	for _, name := range derived.Sorted(c.s.Hosts) {
		if o := c.s.Hosts[name]; o != h && o.Bench == nil {
			others = append(others, o)
			left = left || c.isThere(o)
		}
	}
	return left && h.Faulty(others, c.facts.Now)
}

// isThere reports whether a host can run builds, or, if no list of hosts is known, has
// lately run some.
func (c *benching) isThere(h *queue.Host) bool {
	if c.facts.ToldFleet() {
		return h.Slots > 0
	}
	_, runs := h.Counted(c.facts.Now)
	return runs > 0
}

func (c *benching) putOnBench(h *queue.Host) {
	b := &queue.Bench{Since: c.facts.Now}
	b.Faults, b.Runs = h.Counted(c.facts.Now)
	if h.Sample != nil {
		b.Step = h.Sample.Job.Step.Name
	}
	if c.facts.Now.Sub(h.Back) >= queue.HostSound {
		h.Benched = 0
	}
	h.Benched++
	h.Bench, b.Until = b, c.facts.Now.Add(h.Backoff())
	c.touchHost(h)
	c.retool()
	c.note(queue.Note{What: "host-benched", Reason: benchReason(h)})
	c.guarding.configured()
	for _, live := range c.facts.Builds.Building {
		if x := live.Build; x.Started == 0 && !x.Cancel {
			x.Shun = c.benched()
			c.touch(queue.KindBuild, string(x.ID))
			c.upkeep.renew(queue.Run{Build: x.ID})
		}
	}
}

func benchReason(h *queue.Host) queue.Reason {
	b := h.Bench
	return queue.Reason{Code: queue.ReasonBenched, Names: []string{h.Name, b.Step, strconv.Itoa(b.Faults), strconv.Itoa(b.Runs)}, Until: b.Until}
}

// benched returns the hosts that get no builds.
func (c *benching) benched() []string {
	var names []string
	for _, name := range derived.Sorted(c.s.Hosts) {
		if c.s.Hosts[name].Bench != nil {
			names = append(names, name)
		}
	}
	return names
}

// missed returns the benched hosts that could run builds now.
func (c *benching) missed() []string {
	return slices.DeleteFunc(c.benched(), func(name string) bool { return !c.isThere(c.s.Hosts[name]) })
}

// benchedSlots counts the slots of benched hosts; it returns 0 where there are no other
// hosts.
func (c *benching) benchedSlots() int {
	n, left := 0, false
	for _, h := range c.s.Hosts {
		if h.Bench != nil {
			n += h.Slots
		} else {
			left = left || h.Slots > 0
		}
	}
	if !left {
		return 0
	}
	return n
}

// probeHost gives a benched host a job that another host has passed, once that is due.
func (c *benching) probeHost(h *queue.Host) {
	b := h.Bench
	switch {
	case b.Probe != nil:
		task := queue.ProbeHost{Host: h.Name, Build: b.Probe.ID}
		if c.facts.Asked(task) == "" {
			c.upkeep.ask(task)
		}
	case c.facts.Now < b.Until:
		c.wakeAt(b.Until)
	case h.Sample == nil || h.Slots == 0 && c.facts.ToldFleet():
	default:
		s := h.Sample
		id := queue.BuildID(digest.Of("probe1", h.Name, string(s.Commit), strconv.FormatInt(int64(c.facts.Now), 10))[:16])
		b.Probe = &queue.Build{ID: id, Commit: s.Commit, Attempt: b.Probes + 1, Jobs: []queue.Job{s.Job}, At: c.facts.Now, Only: h.Name}
		c.touchHost(h)
		c.upkeep.ask(queue.ProbeHost{Host: h.Name, Build: id})
	}
}

// probedHost returns the benched host that a build probes, or nil.
func (c *benching) probedHost(id queue.BuildID) *queue.Host {
	for _, h := range c.s.Hosts {
		if h.Bench != nil && h.Bench.Probe != nil && h.Bench.Probe.ID == id {
			return h
		}
	}
	return nil
}

// probeDone takes in the result of a probe.
func (c *benching) probeDone(h *queue.Host, r queue.BuildDone) {
	b := h.Bench
	c.upkeep.drop(queue.ProbeHost{Host: h.Name, Build: r.Build})
	c.touchHost(h)
	b.Probe = nil
	switch {
	case r.Outcome == queue.JobPassed:
		c.note(queue.Note{What: "host-back", Reason: queue.Reason{Code: queue.ReasonBenched, Names: []string{h.Name, h.Sample.Job.Step.Name, h.Sample.Host}, Until: b.Since}})
		h.Bench, h.Sample, h.Runs, h.Back = nil, nil, nil, c.facts.Now
		c.guarding.configured()
		return
	case r.NoRunner || r.Outcome == queue.JobStopped || r.Host == "" && r.Outcome == queue.JobInfra: // that tells nothing of the host
	default:
		b.Probes++
		h.Benched++
	}
	b.Until = c.facts.Now.Add(h.Backoff())
	c.wakeAt(b.Until)
}

// otherTools returns the steps of main that a host gets no builds of.
func (c *benching) otherTools(h *queue.Host) []queue.OtherTools {
	if c.s.Main.Config == nil || h.Slots == 0 {
		return nil
	}
	_, in := queue.SplitVersion(c.s.Main.Analyzer)
	next := in
	if n := c.s.Main.Next; n != nil {
		_, next = queue.SplitVersion(n.Analyzer)
	}
	var out []queue.OtherTools
	soon := queue.WithTools(c.s.Main.Config.Steps, next)
	for i, st := range queue.WithTools(c.s.Main.Config.Steps, in) {
		if st.Environment != "" && !h.Has(st) && !h.Has(soon[i]) {
			own := h.ToolsOf(st.Environment)
			out = append(out, queue.OtherTools{Step: st.Name, Fingerprint: own.Fingerprint, Want: st.Fingerprint, Error: own.Error})
		}
	}
	return out
}

// hostViews returns the hosts as people see them.
func (c *benching) hostViews() []queue.HostView {
	var out []queue.HostView
	for _, name := range derived.Sorted(c.s.Hosts) {
		h := c.s.Hosts[name]
		v := queue.HostView{Name: name, Slots: h.Slots, Other: c.otherTools(h)}
		v.Faults, v.Runs = h.Counted(c.facts.Now)
		if h.Bench != nil {
			b := *h.Bench
			v.Bench = &b
		}
		out = append(out, v)
	}
	return out
}
