package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// resolved takes in links. They are facts about content: a link that is known
// already is not changed.
func (c *judging) resolved(b queue.Resolved) {
	c.upkeep.done(b.Action)
	for _, s := range b.Steps {
		c.putSteps(s)
	}
	for i := range b.Links {
		l := b.Links[i]
		if !c.mainline.fits(&l) || b.Guard != c.facts.Links.Guard() {
			break // a late answer, made under a version that its parent is not judged by, or by former globs
		}
		if c.s.Links[l.ID] != nil {
			continue
		}
		l.At, l.Guard = c.facts.Now, b.Guard
		c.hunting.alsoRed(&l)
		l.Since, l.Chain = c.facts.Links.Origin(l.Parent)
		c.s.Links[l.ID] = &l
		c.touch(queue.KindLink, string(l.ID))
		c.facts.Links.IndexLink(&l)
		c.mainline.rekey(&l)
		c.facts.Futures.Assume([]*queue.Link{&l})
		for _, id := range derived.LinksTo(&l) {
			c.facts.Links.Untidied(id)
			if ch := c.s.Changes[id]; ch != nil && ch.Stuck != 0 {
				ch.Stuck = 0
				c.touchChange(ch)
			}
		}
	}
	for i := range b.Links {
		if l := c.s.Links[b.Links[i].ID]; l != nil {
			c.guarding.stopUncleared(l)
		}
	}
	for _, e := range b.Passed {
		c.readArchived(e)
	}
	c.mainline.prove(b.Proven)
}

func (c *judging) putSteps(s queue.StepSet) {
	if s.ID != "" && c.s.Steps[s.ID] == nil {
		c.s.Steps[s.ID] = &s
		c.touch(queue.KindSteps, string(s.ID))
	}
}

// readArchived takes a pass back in from the archive.
func (c *judging) readArchived(e queue.Entry) {
	if e.Passed == 0 || len(e.Keys) != 1 || c.void(&e) || c.revokedSince(&e) {
		return
	}
	if old := c.s.Ledger[e.ID]; old != nil && old.Passed != 0 && old.Excused == 0 {
		return // known
	}
	e.Failures = nil
	c.s.Ledger[e.ID] = &e
	c.touch(queue.KindEntry, string(e.ID))
	c.facts.Ledger.Learned(e.ID, &e)
}

// revokedSince reports whether a pass that was read somewhere else is, or is older than, one that
// main has been seen to lose. The entry of the key says so; if it was dropped with its failures,
// main's drift still does.
func (c *judging) revokedSince(e *queue.Entry) bool {
	old := c.s.Ledger[e.ID]
	return old != nil && old.Lost != 0 && e.Good() <= old.Lost ||
		slices.ContainsFunc(c.s.Main.Drift, func(d queue.Drift) bool { return d.Key == e.ID && e.Good() <= max(d.Good, 1) })
}

func (c *judging) entry(k queue.Key) *queue.Entry {
	id := k.ID()
	e := c.s.Ledger[id]
	if e == nil {
		e = &queue.Entry{ID: id, Keys: []queue.Key{k}}
		c.s.Ledger[id] = e
	}
	c.touch(queue.KindEntry, string(id))
	return e
}

// opaqueID names the entry of keys that a step fails together without naming them. A
// result of a whole tree is a result of its one key, with the tree as its hash.
func opaqueID(keys []queue.Key) queue.Digest {
	if len(keys) == 1 && keys[0].Target == config.TargetTree {
		return keys[0].ID()
	}
	return queue.OpaqueID(keys)
}

// opaque returns the entry of a set that a step fails together.
func (c *judging) opaque(keys []queue.Key, step string) *queue.Entry {
	id := opaqueID(keys)
	if id == keys[0].ID() {
		return c.entry(keys[0])
	}
	e := c.s.Ledger[id]
	if e == nil {
		e = &queue.Entry{ID: id, Keys: keys, Opaque: true, Step: step}
		c.s.Ledger[id] = e
		c.facts.Ledger.IndexSet(id, e)
	}
	c.touch(queue.KindEntry, string(id))
	return e
}

func (c *judging) dropEntry(id queue.Digest) {
	e := c.s.Ledger[id]
	delete(c.s.Ledger, id)
	c.touch(queue.KindEntry, string(id))
	c.facts.Ledger.Unindex(id, e)
	c.facts.Ledger.Learned(id, e)
}

// shown is a run in which a key has passed.
type shown struct {
	span
	asked         queue.Instant // when it was asked for; the pass does not count if it was forgotten since
	by            queue.BuildID
	change        queue.ChangeID
	commit        queue.CommitID
	head          bool // commit is the head of the change, and the run was no build of ours
	step          config.Step
	machine, host string
}

// shownIn returns the run of a build in which a key has passed.
func (c *judging) shownIn(b *queue.Build, k queue.Key, r queue.JobDone) shown {
	run := c.ranIn(b, r)
	return shown{span: span{run.passBegan(b), run.ended}, asked: min(b.At, run.began), by: b.ID, change: c.landing.ownerOf(b, k), commit: b.Commit,
		step: derived.StepIn(b, k.Step), machine: r.Machine, host: r.Host}
}

// writePass writes that a key has passed, and reports whether that counts.
func (c *judging) writePass(k queue.Key, s shown) bool {
	if c.tooOld(k, s) {
		return false
	}
	e := c.entry(k)
	if e.Strict && c.facts.Ledger.Decides(e) {
		return false
	}
	if s.step.Repeat == 1 {
		once := s
		once.step = s.step.Once()
		c.writePass(queue.Key{Step: once.step.Digest(), Target: k.Target, Hash: k.Hash}, once)
	}
	e.Tries++
	if e.Passed != 0 && e.Excused == 0 {
		e.Confirmed = max(e.Confirmed, s.ended)
		c.turn.Archive = append(c.turn.Archive, *e)
		return true
	}
	e.Lost, e.Confirmed, e.Excused, e.Began = 0, 0, 0, s.began
	e.Passed, e.By, e.Change, e.Commit, e.Head = s.ended, s.by, s.change, s.commit, s.head
	e.Step, e.Machine, e.Host = s.step.Name, s.machine, s.host
	e.Tools = s.step.Fingerprint
	c.facts.Ledger.Learned(e.ID, e)
	c.turn.Archive = append(c.turn.Archive, *e)
	return true
}

func (c *judging) writeFailure(e *queue.Entry, b *queue.Build, r queue.JobDone, tail string) {
	if slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return f.Build == b.ID }) {
		return // the same run, reported twice
	}
	e.Tries++
	e.Strict = e.Strict || derived.StepIn(b, r.Step).Repeat > 0
	run := c.ranIn(b, r)
	var beside []queue.Digest
	if l := c.s.Links[b.Link]; e.IsSet() && l != nil && l.Change != "" {
		beside = c.facts.Links.Beside(l, e.Step, e.Keys)
	}
	e.Failures = append(e.Failures, queue.Failure{At: run.ended, Build: b.ID, Machine: r.Machine, Host: r.Host, Alone: r.Alone, Cached: r.Cached, Ran: ranOn(b),
		Tail: tail, Timeout: r.Outcome == queue.JobTimeout, Tool: r.Outcome == queue.JobInfra, Pages: r.Pages,
		Began: run.failureBegan(b), Since: c.since(b), Clouded: c.isClouded(b, r.Step, run), Beside: beside})
	slices.SortStableFunc(e.Failures, func(x, y queue.Failure) int { return cmp.Compare(x.At, y.At) })
	if n := len(e.Failures); n > 8 {
		e.Failures = e.Failures[n-8:]
	}
	c.facts.Ledger.Learned(e.ID, e)
}

// began returns when a build began or, if that is not known yet, when it was asked for.
func began(b *queue.Build) queue.Instant { return cmp.Or(b.Started, b.At) }

// since returns where on main's line the chain of a build's link begins.
func (c *judging) since(b *queue.Build) queue.Line {
	if l := c.s.Links[b.Link]; l != nil {
		return l.Since
	}
	return queue.Line{}
}

// isClouded reports whether main was unproven in a step when a build began, or is so
// now that it has ended. A run from before the build was asked for counts as clouded,
// since main's state at that time is not known.
func (c *judging) isClouded(b *queue.Build, step queue.Digest, run span) bool {
	for _, j := range b.Jobs {
		if j.Step.Digest() == step {
			return b.Change != "" && (j.Clouded || run.ended < b.At || c.facts.Ledger.Clouded(j.Step.Name))
		}
	}
	return false
}

// jobDone writes the results of one step of a build into the ledger, only for the keys
// that the step was asked for.
func (c *judging) jobDone(r queue.JobDone) {
	b := c.s.Builds[r.Build]
	if b == nil {
		return
	}
	i, keys := b.JobOf(r.Step, r.Asked)
	if i < 0 {
		return
	}
	if r.Outcome == queue.JobTimeout && r.Cut && b.Jobs[i].Limit != nil {
		c.cut(b, b.Divide(i, keys))
		return
	}
	shard := b.Jobs[i]
	shard.Keys = keys
	j := &shard
	byName := len(r.Passed)+len(r.Failed) > 0
	all := r
	r, excused := c.excused(j, r)
	c.rowResult(j, r)
	named := map[string]queue.Key{}
	for _, k := range j.Keys {
		named[k.Target] = k
	}
	switch r.Outcome {
	case queue.JobPassed, queue.JobFailed, queue.JobTimeout:
	case queue.JobInfra:
		if r.Tool {
			c.benching.ran(b, j, r)
			c.writeFailure(c.opaque(j.Keys, j.Step.Name), b, r, r.Tail)
		}
		return
	default:
		return // no result: the keys stay unknown
	}
	j = b.Divide(i, keys)
	j.Done = true
	if len(excused) == 0 || len(r.Passed)+len(r.Failed) > 0 {
		c.benching.ran(b, j, r)
	}
	c.facts.Builds.Recheck(b)
	c.touch(queue.KindBuild, string(b.ID))
	if r.Outcome != queue.JobPassed {
		c.noteFailing(b, j, r)
	}
	if len(excused) > 0 {
		c.landing.noteBuild(b, queue.Note{What: "quarantined", Reason: queue.Reason{Names: append([]string{j.Step.Name}, excused[:min(len(excused), 5)]...)}})
	}
	suspended, shaky := c.failedOnMain(j.Keys), c.shaky(j.Keys)
	var passed, failed []string
	for _, f := range r.Failed {
		if k, ok := named[f.Target]; ok {
			c.writeFailure(c.entry(k), b, r, f.Tail)
			e := c.s.Ledger[k.ID()]
			alone := r.Outcome == queue.JobFailed && len(b.Also) == 0
			if alone && len(e.Failures) == 1 || !alone && c.facts.Ledger.Decides(e) {
				failed = append(failed, f.Target) // of one change alone: it will be run again, but is almost surely red
			}
			delete(named, f.Target) // failed and passed in one report: failed
		}
	}
	for _, t := range excused {
		c.excuse(b, j, named[t], all)
		delete(named, t) // excused and passed in one report: it has failed
	}
	for _, t := range r.Passed {
		if k, ok := named[t]; ok && c.writePass(k, c.shownIn(b, k, r)) {
			passed = append(passed, t)
		} else if ok {
			j.Outdated = true
		}
	}
	c.guarding.ranAgain(j, r)
	switch {
	case byName, len(excused) > 0:
	case r.Outcome != queue.JobPassed && c.partlyExcused(j):
		j.Outdated = true
	case r.Outcome != queue.JobPassed:
		e := c.opaque(j.Keys, j.Step.Name)
		c.writeFailure(e, b, r, r.Tail)
		if l := c.s.Links[b.Link]; !e.IsSet() && c.facts.Ledger.Decides(e) || e.IsSet() && l != nil && c.facts.Ledger.Decides(c.facts.Ledger.Weighed(e, l)) {
			failed = j.Targets()
		}
	case j.Step.Report == config.ReportExitCode || j.Step.Report == "":
		for _, k := range j.Keys {
			if c.writePass(k, c.shownIn(b, k, r)) {
				passed = append(passed, k.Target)
			} else {
				j.Outdated = true
			}
		}
		c.guarding.passTree(j, b, r)
	}
	c.shownOnMain(b, j, passed, c.ranIn(b, r))
	if r.Outcome != queue.JobPassed {
		if !byName && b.Worth.Kind == queue.WorthControl {
			c.cloud(j.Step.Name) // main may be to blame for the failures so far: a later main that passes clears it of later ones only
		}
		c.revokeDrifted(b, j, namesOf(r.Failed))
	}
	c.blaming.acquit(b, passed)
	for _, t := range passed {
		if suspended[t] {
			c.entering.forgetEvidence(func(k queue.Key) bool { return k.Target == t })
		}
	}
	if l := c.s.Links[b.Link]; len(failed) > 0 && (j.Step.Scope != config.ScopeRepository || l != nil && c.facts.TreeSteps.Clean(l)) {
		c.blaming.suspect(b, failed)
	}
	if byName || len(excused) == 0 { // a run that failed in quarantine shows no usual time
		c.observeDurations(j, r)
		c.observeLimits(j, r)
	}
	c.observeFailures(j, r)
	c.observeFlakes(j, r, shaky, passed)
	c.observeMain(b, r)
	for _, id := range b.For() {
		if ch := c.s.Changes[id]; ch != nil && (ch.Infra != 0 || ch.Apart || ch.Unfit != 0) && c.heard(j, b) {
			ch.Infra, ch.InfraOn, ch.Apart, ch.Unfit = 0, nil, false, 0
			c.touchChange(ch)
		}
	}
}

func namesOf(failed []queue.TargetFailure) []string {
	names := make([]string, len(failed))
	for i, f := range failed {
		names[i] = f.Target
	}
	return names
}

// failedOnMain returns the targets of those given keys that are unproven on main and
// have failed, alone or with others. When they pass after all, failures on them in the
// meantime, in any build, are no evidence.
func (c *judging) failedOnMain(keys []queue.Key) map[string]bool {
	root := c.facts.Root()
	if root == nil {
		return nil
	}
	out := map[string]bool{}
	for _, k := range keys {
		f := c.facts.Ledger.Keys[k.ID()]
		if f == nil || f.Passed() || !c.hasFailed(f) {
			continue
		}
		if slices.Contains(c.facts.Links.Info(root).Facts, f) {
			out[k.Target] = true
		}
	}
	return out
}

// hasFailed reports whether a key, or a set that holds it, has failed.
func (c *judging) hasFailed(f *derived.Fact) bool {
	if f.Entry != nil && len(f.Entry.Failures) > 0 {
		return true
	}
	return slices.ContainsFunc(f.Sets, func(id queue.Digest) bool {
		e := c.s.Ledger[id]
		return e != nil && len(e.Failures) > 0
	})
}

// heard reports whether a build has a result of some of a job's keys.
func (c *judging) heard(j *queue.Job, b *queue.Build) bool {
	ids := []queue.Digest{opaqueID(j.Keys)}
	for _, k := range j.Keys {
		ids = append(ids, k.ID())
	}
	return slices.ContainsFunc(ids, func(id queue.Digest) bool {
		e := c.s.Ledger[id]
		return e != nil && (e.By == b.ID || e.Passed == 0 && c.reported(id, b))
	})
}

func (c *judging) observeDurations(j *queue.Job, r queue.JobDone) {
	if r.Outcome == queue.JobTimeout || len(j.Keys) == 0 {
		return
	}
	// Time that the report does not give to a target (compiling, checking out) is
	// shared evenly.
	rest := r.Took
	for _, d := range r.PerTarget {
		rest -= d
	}
	share := max(rest, 0) / queueDuration(len(j.Keys))
	for _, k := range j.Keys {
		c.landing.learn(j.Step.Name, k.Target, share+r.PerTarget[k.Target])
	}
}

// observeFailures writes down how often targets fail, for models.
func (c *judging) observeFailures(j *queue.Job, r queue.JobDone) {
	if r.Outcome == queue.JobTimeout || len(j.Keys) == 0 {
		return
	}
	share := 0.0
	if r.Outcome == queue.JobFailed && len(r.Passed)+len(r.Failed) == 0 {
		share = 1 / float64(len(j.Keys))
	}
	bad := map[string]bool{}
	for _, f := range r.Failed {
		bad[f.Target] = true
	}
	for _, k := range j.Keys {
		id, failed := derived.DurationID(j.Step.Name, k.Target), share
		if bad[k.Target] {
			failed = 1
		}
		if d := c.s.Durations[id]; d != nil && (failed != 0 || d.Failed != 0) {
			d = predict.Fail(d, failed)
			d.Red = failed != 0
			c.s.Durations[id] = d
			c.touch(queue.KindDuration, id)
		}
	}
}

// buildDone frees the build's slot. Jobs that brought no result leave their
// keys unknown. Too many of them park the change, but are never its verdict.
func (c *judging) buildDone(r queue.BuildDone) {
	b := c.s.Builds[r.Build]
	if h := c.benching.probedHost(r.Build); h != nil {
		c.benching.probeDone(h, r)
	}
	if b == nil {
		return
	}
	c.benching.brokeOff(b, r)
	c.upkeep.drop(queue.Run{Build: b.ID})
	c.upkeep.drop(queue.Stop{Build: b.ID})
	c.facts.Builds.RemoveBuild(b)
	c.touch(queue.KindBuild, string(b.ID))
	outcome := r.Outcome
	if why := silent(b); outcome != queue.JobStopped && outcome != queue.JobInfra && why != "" {
		outcome, r.Detail = queue.JobInfra, why
	} else if outcome != queue.JobStopped && outcome != queue.JobInfra && c.unreported(b) != "" {
		outcome, r.Detail = queue.JobInfra, c.unreported(b)
	}
	if why := c.onlyCut(b); outcome == queue.JobFailed && why != "" {
		outcome, r.Detail = queue.JobStopped, why
	}
	if b.Cancel && outcome == queue.JobInfra {
		outcome = queue.JobStopped // no change waits for it
	}
	if outcome == queue.JobFailed && c.onlyExcused(b) {
		outcome = queue.JobPassed
	}
	c.noteEnd(b, outcome, r.Detail)
	c.countBuild(b, outcome)
	c.rowBuild(b, outcome)
	if outcome == queue.JobPassed || outcome == queue.JobFailed && !isCut(b) {
		c.landing.paced(b)
	}
	if outcome != queue.JobInfra {
		return
	}
	if n := c.s.Main.Next; b.Change == "" && b.Worth.Kind == queue.WorthUpgrade {
		if n != nil {
			n.Backoff++
			n.Retry = c.facts.Now.Add(backoff(n.Backoff))
			c.touchMain()
		}
		return
	}
	if b.Worth.Kind == queue.WorthHunt {
		if h := c.hunting.huntOf(b.Link); h != nil && h.Over == 0 {
			c.hunting.lostProbe(h, b.Commit)
		}
		return
	}
	switch {
	case b.Change == "" && b.Worth.Kind == queue.WorthControl:
		return // its next run waits (Control.Retry)
	case b.Change == "" && b.Worth.Kind == queue.WorthWatch:
		c.watchLater()
		return
	case b.Change == "":
		m := &c.s.Main
		m.Backoff++
		if m.Unfit = 0; r.NoRunner {
			m.Unfit = c.facts.Now
		}
		m.Retry = c.facts.Now.Add(c.untilRetry(b, m.Backoff))
		c.touchMain()
		return
	}
	for _, id := range b.For() {
		ch := c.s.Changes[id]
		if ch == nil || ch.Phase.Final() {
			continue
		}
		if (r.NoRunner || r.NoCheck) && c.mixed(b) {
			ch.Apart = true
			c.touchChange(ch)
			if ch.Rollup != "" {
				c.landing.dissolve(ch)
			}
			continue
		}
		ch.Infra++
		c.touchChange(ch)
		switch {
		case r.Refused != "" && queue.RefusalOf(r.Refused) == queue.RefusalContent && b.Main != c.s.Main.Tip:
			// The refusal may be of main as it was: the change is built again on main as it is.
		case r.Refused != "" && queue.RefusalOf(r.Refused) == queue.RefusalContent:
			c.landing.turnAway(ch, r.Refused, queue.RefusalContent)
		case r.NoRunner:
			// A build that nobody could run does not use up the change's builds: else the
			// change would not come back when such a runner is there, as it is told.
			// parked_limit bounds these tries.
			if ch.Builds > 0 {
				ch.Spent -= ch.Spent / float64(ch.Builds)
				ch.Builds--
			}
			c.settling.park(ch, queue.Reason{Code: queue.ReasonNoRunner, Detail: r.Detail}, c.facts.Now.Add(parkedRetry))
		case r.NoCheck:
			c.settling.park(ch, queue.Reason{Code: queue.ReasonNoCheck, Detail: r.Detail}, c.facts.Now.Add(parkedRetry))
		case c.benching.isInfra(ch, r):
			c.settling.park(ch, queue.Reason{Code: queue.ReasonInfra, Detail: r.Detail}, c.facts.Now.Add(parkedRetry))
		}
	}
}

// mixed reports whether the commit of a build holds several undecided changes, so that
// any of them may be the cause that it cannot be built.
func (c *judging) mixed(b *queue.Build) bool {
	open := 0
	for _, id := range append(b.For(), b.Chain...) {
		if ch := c.s.Changes[id]; ch != nil && !ch.Phase.Final() {
			open++
		}
	}
	return open > 1
}

// noteFailing writes into the history that a step has failed, as soon as that is known.
// So the note comes before the verdict that may rest on it.
func (c *judging) noteFailing(b *queue.Build, j *queue.Job, r queue.JobDone) {
	what := "step-failed"
	if r.Outcome == queue.JobTimeout {
		what = "step-timeout"
	}
	names := []string{j.Step.Name}
	for _, f := range r.Failed {
		names = append(names, f.Target)
	}
	c.landing.noteBuild(b, queue.Note{What: what, Reason: queue.Reason{Names: names[:min(len(names), 6)]}})
}

// noteEnd writes into the history how a build has ended. Its steps tell of failures;
// a build that ends after the verdict tells nothing of the change.
func (c *judging) noteEnd(b *queue.Build, outcome queue.JobOutcome, detail string) {
	what := string(outcome)
	switch {
	case outcome == queue.JobFailed, outcome == queue.JobTimeout, c.landing.decided(b):
		return
	case outcome == queue.JobStopped:
		what = "stopped"
	}
	c.landing.noteBuild(b, queue.Note{What: "build-" + what, Reason: queue.Reason{Detail: detail}})
}

// silent names a job of a finished build that brought no result.
func silent(b *queue.Build) string {
	for _, j := range b.Jobs {
		if !j.Done {
			return "step " + j.Step.Name + " brought no result"
		}
	}
	return ""
}

// unreported names an asked key of a finished build that no report has named, where
// no failure of the step explains why.
func (c *judging) unreported(b *queue.Build) string {
	for _, j := range b.Jobs {
		if j.Outdated || j.Cut || c.reported(opaqueID(j.Keys), b) || c.namedFailure(&j, b) {
			continue
		}
		for _, k := range j.Keys {
			if !c.reported(k.ID(), b) && !c.facts.Ledger.Forgotten(k, b) {
				return "the report of step " + j.Step.Name + " does not name " + k.Target
			}
		}
	}
	return ""
}

// namedFailure reports whether a build has failed one of a job's keys by name.
func (c *judging) namedFailure(j *queue.Job, b *queue.Build) bool {
	return slices.ContainsFunc(j.Keys, func(k queue.Key) bool {
		e := c.s.Ledger[k.ID()]
		return e != nil && slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return f.Build == b.ID })
	})
}

// reported reports whether an entry has passed or has failed in a build.
func (c *judging) reported(id queue.Digest, b *queue.Build) bool {
	e := c.s.Ledger[id]
	return e != nil && (e.Passed != 0 || slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return f.Build == b.ID }))
}
