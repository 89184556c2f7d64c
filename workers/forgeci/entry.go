package forgeci

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// entry is a build that waits for its push, runs, or has ended (done is set).
type entry struct {
	build  queue.Build
	action string
	branch string // its ref
	side   string // the ref beside it, with its targets
	since  time.Time
	jobs   []*job
	log    *text
	known  bool   // it is decided already, and is not pushed
	skips  string // the marker in the commit's message that keeps the CI from beginning, as people write it
	orphan bool   // a ref of an earlier process; its build is not known
	unique bool   // a run of this CI has one job of each name, and a later job of that name is the former one, run again

	asks    bool         // its ref is pushed quietly, and its run is asked for
	tells   forge.CITold // what the run is told, where it is asked for
	arrived bool         // its ref is there
	unsure  bool         // its run may have been asked for already
	beginAt time.Time    // when to ask for it
	starts  int          // how often that was refused
	run     int64        // the id of the run that was asked for: other runs on the ref do not count; 0: none

	pushed    time.Time // when its ref was pushed, or its run asked for; zero: not yet
	tries     int       // of pushing
	single    bool      // it was refused in a push with others: it is pushed alone
	held      bool      // its log says that its push waits
	notBefore time.Time // for the next one
	results   map[resultKey]forge.CIResult
	before    map[resultKey]bool // results that other builds on the same commit had seen
	runs      map[int64]forge.CIRun
	foreign   map[int64]bool // suites of runs that are not on the ref, though they name it
	heard     time.Time      // the last news
	polled    time.Time      // the last time its results were read
	sure      time.Time      // the last time its runs, and then its results, were read
	blind     bool           // its runs may not be seen
	listed    time.Time      // the last time its runs were read, to run failed jobs again
	look      bool           // there is a reason to look at the forge
	reading   bool           // logs are to be read
	pollAfter time.Time      // not before; set by refusals

	logs map[int64]string // ends of logs of failed jobs, as far as they were asked for

	reported []queue.Body
	done     *queue.BuildDone
	tidyAt   time.Time // when to see whether the refs can be deleted
	tidied   int       // how often that was tried
	tidy     bool      // they are deleted, or were never pushed
	endedAt  time.Time
}

// resultKey names a result: ids of check runs and of statuses are of two kinds.
type resultKey struct {
	status bool
	id     int64
}

// job is a step of a build.
type job struct {
	queue.Job
	digest  queue.Digest
	done    bool
	running time.Time          // when one of its checks was first seen running
	floor   map[resultKey]bool // results of its checks in an earlier attempt that was run again; true: not passed
	rerun   rerun
	rerunAt time.Time
	failed  []forge.CIResult // before it was run again
	out     finding
}

// rerun is the state of running a job again.
type rerun int

const (
	rerunNot    rerun = iota
	rerunWanted       // as soon as its run has ended
	rerunAsked
	rerunNever // it cannot be
)

func newEntry(b queue.Build, action string, o Options) *entry {
	e := &entry{build: b, action: action, since: b.At.Time(), log: newText(), unique: o.Starter != nil, branch: refOf(o.Prefix, o.Branch, string(b.ID)),
		side: refOf(o.Prefix+"-targets", o.Branch, string(b.ID)), results: map[resultKey]forge.CIResult{}, before: map[resultKey]bool{},
		runs: map[int64]forge.CIRun{}, foreign: map[int64]bool{}, logs: map[int64]string{}}
	for _, j := range b.Jobs {
		e.jobs = append(e.jobs, &job{Job: j, digest: j.Step.Digest(), floor: map[resultKey]bool{}})
	}
	return e
}

// refOf names the ref of a build: <prefix>/<branch>/<build>.
func refOf(prefix, branch, id string) string { return prefix + "/" + branch + "/" + id }

// has reports whether a branch is one of the build's two.
func (e *entry) has(branch string) bool { return branch == e.branch || branch == e.side }

// fold takes in a result and reports whether it is news. Results come in any
// order: the end of a check is not taken back by its beginning, unless it was only skipped.
func (e *entry) fold(r forge.CIResult) bool {
	if e.orphan || r.Commit != e.build.Commit {
		return false
	}
	key := resultKey{r.Status, r.ID}
	old, known := e.results[key]
	if known {
		if old.State.Ended() && !old.Waits && !r.State.Ended() || old.State == forge.CIRunning && r.State == forge.CIQueued {
			return false
		}
		if r.Branch == "" {
			r.Branch = old.Branch
		}
		if old == r {
			return false
		}
	}
	e.results[key] = r
	return true
}

// owns reports whether a run is on the build's ref. A pull request's may be of a
// fork's branch that only has its name.
func (e *entry) owns(r forge.CIRun) bool {
	return r.Branch == e.branch && !r.Pull && (e.run == 0 || e.run == r.ID) && (e.orphan || r.Commit == e.build.Commit)
}

// foldRun takes in a run of the forge's CI.
func (e *entry) foldRun(r forge.CIRun) bool {
	if !e.owns(r) {
		if r.Branch == e.branch {
			e.foreign[r.Suite] = true
		}
		return false
	}
	old, known := e.runs[r.ID]
	if known && e.unique { // there are no attempts: a run that is run again stays the same, and what was told last of it counts
		r.Attempt = max(r.Attempt, old.Attempt)
		e.runs[r.ID] = r
		return old != r
	}
	if known && (old.Attempt > r.Attempt || old.Attempt == r.Attempt && old.Done || old == r) {
		return false
	}
	e.runs[r.ID] = r
	return true
}

// ours reports whether a result belongs to this build, and not to another day or ref of the
// same commit. skew is the forge's clock less ours.
func (e *entry) ours(r forge.CIResult, skew time.Duration) bool {
	switch {
	case r.Bound && e.foreign[r.Suite], e.superseded(r):
		return false
	case r.Branch == e.branch:
		return true
	case r.Bound:
		return false
	}
	return e.fresh(r, skew) && !e.belated(r, skew)
}

// superseded reports whether a job of a run was run again, by the queue or by a person. The
// forge gives no more news of the former job, and its last known state may be out of date.
func (e *entry) superseded(r forge.CIResult) bool {
	if !e.unique || !r.Bound {
		return false
	}
	for _, o := range e.results {
		if o.Bound && o.Suite == r.Suite && o.ID > r.ID && strings.EqualFold(o.Name, r.Name) {
			return true
		}
	}
	return false
}

// fresh reports whether a result that belongs to no ref began after the build was
// asked for.
func (e *entry) fresh(r forge.CIResult, skew time.Duration) bool {
	// The forge tells whole seconds.
	return !e.before[resultKey{r.Status, r.ID}] && !r.At.Before(e.since.Add(skew).Truncate(time.Second).Add(-time.Second))
}

// belated reports whether a status ends work that already ran on the commit when the build was
// asked for. Each post is a separate status, with the time of the post, so a final status does
// not say when the work began: it ends an earlier pending status to the same page, if no other
// pending status to that page came between.
func (e *entry) belated(r forge.CIResult, skew time.Duration) bool {
	if !r.Status || !r.State.Ended() {
		return false
	}
	var last forge.CIResult // from before
	for _, o := range e.results {
		switch {
		case !o.Status || !strings.EqualFold(o.Name, r.Name) || o.URL != r.URL || o.ID == r.ID:
		case !e.fresh(o, skew):
			if last.ID == 0 || older(last, o) < 0 {
				last = o
			}
		case older(o, r) < 0:
			return false
		}
	}
	return last.ID != 0 && !last.State.Ended()
}

// said returns the results of a check that count for this build; none while a run that was run
// again still lacks some of them.
func (e *entry) said(j *job, check config.Check, skew time.Duration) []forge.CIResult {
	var list []forge.CIResult
	due := map[int64]int{} // by suite
	for key, r := range e.results {
		if !check.Is(r.Name, r.App) || !e.ours(r, skew) {
			continue
		}
		if bad, before := j.floor[key]; !before {
			list = append(list, r)
			due[r.Suite]--
		} else if bad {
			due[r.Suite]++
		}
	}
	for _, n := range due {
		if n > 0 {
			return nil
		}
	}
	return standing(list, slices.Collect(maps.Values(e.runs)))
}

// standing returns the results under one name that count: the newest status, the newest result
// of each suite of other Apps, and all results of the jobs of a run of the forge's own CI,
// because several jobs may have one name.
func standing(list []forge.CIResult, runs []forge.CIRun) (out []forge.CIResult) {
	type group struct {
		status bool
		suite  int64
	}
	groups := map[group][]forge.CIResult{}
	for _, r := range list {
		g := group{r.Status, r.Suite}
		groups[g] = append(groups[g], r)
	}
	for g, list := range groups {
		if !list[0].Bound {
			list = []forge.CIResult{slices.MaxFunc(list, older)}
		} else if i := slices.IndexFunc(runs, func(r forge.CIRun) bool { return r.Suite == g.suite }); i >= 0 {
			list = ofAttempt(list, runs[i])
		}
		out = append(out, list...)
	}
	slices.SortFunc(out, func(a, b forge.CIResult) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return out
}

// ofAttempt returns the results of a run's newest attempt under a name, if it has run all jobs
// again that had not passed; else all results.
func ofAttempt(list []forge.CIResult, run forge.CIRun) []forge.CIResult {
	var again []forge.CIResult
	bad := 0
	for _, r := range list {
		switch {
		case run.Attempt < 2 || !r.At.Before(run.Began):
			again = append(again, r)
		case r.State != forge.CIPassed:
			bad++
		}
	}
	if len(again) == 0 || len(again) < bad {
		return list
	}
	return again
}

// older compares two results by their age; the newest counts.
func older(a, b forge.CIResult) int {
	if a.Status {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	}
	return cmp.Compare(a.ID, b.ID)
}

// missing reports whether some check of the build has not appeared or not ended.
func (e *entry) missing() bool {
	for _, j := range e.jobs {
		if !j.done {
			return true
		}
	}
	return false
}

// running names a run or a check of the forge's own CI that is under way on the build's ref, as
// far as is known; "" if there is none.
func (e *entry) running(skew time.Duration) string {
	suites := map[int64]bool{}
	for _, id := range slices.Sorted(maps.Keys(e.runs)) {
		r := e.runs[id]
		switch suites[r.Suite] = true; {
		case r.Done:
		case r.Name != "":
			return fmt.Sprintf("run %d of the workflow %q", r.ID, r.Name)
		default:
			return fmt.Sprintf("run %d", r.ID)
		}
	}
	for _, r := range e.results {
		if r.Bound && !r.State.Ended() && !suites[r.Suite] && e.ours(r, skew) {
			return r.Name
		}
	}
	return ""
}

// busy names a run or a check of any CI that is under way on the build's ref; "" if there is
// none.
func (e *entry) busy(skew time.Duration) string {
	if name := e.running(skew); name != "" {
		return name
	}
	statuses := map[string]forge.CIResult{} // the newest of each name
	for _, r := range e.results {
		switch name := strings.ToLower(r.Name); {
		case r.Bound, !e.ours(r, skew):
		case r.Status:
			if old, ok := statuses[name]; !ok || older(old, r) < 0 {
				statuses[name] = r
			}
		case !r.State.Ended():
			return r.Name
		}
	}
	for _, r := range statuses {
		if !r.State.Ended() {
			return r.Name
		}
	}
	return ""
}

// told reports whether each suite of the build belongs to a run that is known to have ended.
// Then the ref can be deleted without asking the forge.
func (e *entry) told(skew time.Duration) bool {
	suites := map[int64]bool{}
	for _, r := range e.runs {
		if r.Done {
			suites[r.Suite] = true
		}
	}
	seen := len(e.runs) > 0
	for _, r := range e.results {
		if !e.ours(r, skew) {
			continue
		}
		if seen = true; r.Bound && !suites[r.Suite] {
			return false
		}
	}
	return seen
}
