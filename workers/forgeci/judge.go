package forgeci

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// finding is the judgement of a job at a moment. While outcome is empty, the job is not
// decided, and due is when that may change without news.
type finding struct {
	outcome queue.JobOutcome
	noCheck bool   // a check did not appear
	matched bool   // the log of each failure matches the step's retry_on
	detail  string // for people; hostile text
	list    []forge.CIResult
	again   bool // failed, and to be run again first
	look    bool // it can be decided after one more look at the forge
	hush    bool // all checks have ended, and other runs that may bring one of their names are waited for
	due     time.Time
}

// moment is the time, and the clock, of a judgement.
type moment struct {
	now    time.Time
	skew   time.Duration
	grace  time.Duration // how long a CI may take to begin after a push
	pause  time.Duration // how far apart the webhooks of one event may come
	prefix string
	name   string // of the CI, in results
	asked  bool   // its runs can be asked for, if it permits that: it is GitLab's
}

// judge judges a job by its results.
func (e *entry) judge(j *job, at moment) finding {
	var f finding
	var missing []config.Check
	var waiting, failed, none []forge.CIResult
	for _, check := range j.Step.Checks {
		list := e.said(j, check, at.skew)
		if len(list) == 0 {
			missing = append(missing, check)
		}
		for _, r := range list {
			f.list = append(f.list, r)
			switch r.State {
			case forge.CIPassed:
			case forge.CIFailed, forge.CITimeout:
				failed = append(failed, r)
			case forge.CINone:
				none = append(none, r)
			default:
				waiting = append(waiting, r)
			}
		}
	}
	if len(failed) > 0 {
		return e.judgeFailed(j, f, failed, at)
	}
	if len(missing) > 0 {
		from := e.pushed
		if j.rerun == rerunAsked {
			from = j.rerunAt
		}
		limit := from.Add(j.Step.Appear)
		if e.running(at.skew) != "" {
			limit = limit.Add(j.Step.Timeout) // a job appears when those that it needs have passed
		}
		if at.now.Before(limit) {
			f.due = limit
			return f
		}
		if e.polled.Before(limit) || e.polled.Before(e.heard) {
			f.look = true
			return f
		}
		if j.rerun == rerunAsked { // it did not begin again: the former result stands
			f.list = nil
			return e.judgeFailed(j, f, j.failed, at)
		}
		f.outcome, f.noCheck, f.detail = queue.JobInfra, true, e.absent(j, missing, at)
		return f
	}
	if len(waiting) > 0 {
		return e.judgeWaiting(j, f, waiting, at)
	}
	f = e.judgeEnded(j, f, at)
	if f.outcome == queue.JobPassed && len(none) > 0 {
		f.outcome, f.detail = queue.JobInfra, fmt.Sprintf("the check %q ended as %s, which is no result", none[0].Name, none[0].Word)
	}
	return f
}

func (e *entry) judgeFailed(j *job, f finding, failed []forge.CIResult, at moment) finding {
	again := func(r forge.CIResult) bool { return r.Bound && r.State == forge.CIFailed }
	limit := e.pushed.Add(j.Step.Appear + j.Step.Timeout)
	if j.Step.Rerun > 0 && (j.rerun == rerunNot || j.rerun == rerunWanted) && slices.ContainsFunc(failed, again) && at.now.Before(limit) {
		f.again, f.due = true, limit
		return f
	}
	f.outcome, f.list = queue.JobTimeout, failed
	for _, r := range failed {
		if r.State == forge.CIFailed {
			f.outcome = queue.JobFailed
		}
	}
	return f
}

// judgeWaiting judges a job with checks that have appeared and not ended. A check that runs too
// long has timed out; a check that is queued too long found no machine.
func (e *entry) judgeWaiting(j *job, f finding, waiting []forge.CIResult, at moment) finding {
	queued := slices.IndexFunc(waiting, func(r forge.CIResult) bool { return r.State == forge.CIQueued })
	var limit time.Time
	if queued >= 0 {
		limit = e.pushed.Add(j.Step.Appear + j.Step.Timeout)
		if j.rerun == rerunAsked {
			limit = j.rerunAt.Add(j.Step.Appear + j.Step.Timeout)
		}
	} else if limit = j.running.Add(j.Step.Timeout); j.running.IsZero() {
		limit = at.now.Add(j.Step.Timeout)
	}
	switch {
	case at.now.Before(limit):
		f.due = limit
	case e.polled.Before(limit):
		f.look = true
	case queued >= 0:
		f.outcome, f.detail = queue.JobInfra, fmt.Sprintf("the check %q has been waiting for a machine of the CI for %s", waiting[queued].Name, words(at.now.Sub(e.pushed)))
	default:
		f.outcome, f.list = queue.JobTimeout, waiting
		f.detail = fmt.Sprintf("still running after %s", words(j.Step.Timeout))
	}
	return f
}

// overdue reports whether one more look at the forge would decide a job.
func (e *entry) overdue(at moment) bool {
	return e.done == nil && slices.ContainsFunc(e.jobs, func(j *job) bool { return !j.done && e.judge(j, at).look })
}

// absent says for people which checks did not appear, where, and what to look at.
func (e *entry) absent(j *job, missing []config.Check, at moment) string {
	names := make([]string, len(missing))
	for i, c := range missing {
		if names[i] = "`" + c.Name + "`"; c.App != "" {
			names[i] += " of the App " + c.App
		}
	}
	what := "the check " + names[0]
	if len(names) > 1 {
		what = "the checks " + strings.Join(names, ", ")
	}
	text := fmt.Sprintf("%s did not appear on %s within %s; ", what, e.branch, words(j.Step.Appear))
	switch {
	case e.run != 0:
		text += fmt.Sprintf("run %d was asked for, not pushed: the rules of the job must take the branch `%s/**` with `$CI_PIPELINE_SOURCE == \"api\"`", e.run, at.prefix)
	case e.skips != "":
		text += e.skipped()
	case at.asked:
		text += fmt.Sprintf("the rules of the job must take the branch `%s/**` with `$CI_PIPELINE_SOURCE == \"push\"`", at.prefix)
	default:
		text += fmt.Sprintf("the workflow needs `on: push: branches: ['%s/**']`", at.prefix)
	}
	var seen []string
	for _, r := range e.results {
		name := r.Name
		if slices.ContainsFunc(missing, func(c config.Check) bool { return c.App != "" && strings.EqualFold(c.Name, r.Name) }) {
			name += " of " + cmp.Or(r.App, "a commit status") // not the App that the step waits for
		}
		if e.ours(r, at.skew) && !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
	}
	for _, r := range e.runs {
		if r.Done && r.Word != "success" && r.Word != "failure" {
			text += fmt.Sprintf("; the workflow %q ended as %s", r.Name, r.Word)
			break
		}
	}
	if slices.Sort(seen); len(seen) > 0 {
		text += "; there were: " + strings.Join(seen[:min(len(seen), 8)], ", ")
	}
	return text
}

// words writes a duration for people.
func words(d time.Duration) string {
	d = d.Round(time.Second)
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d >= u.of && d%u.of == 0 {
			if n := d / u.of; n != 1 {
				return fmt.Sprintf("%d %ss", n, u.name)
			}
			return "1 " + u.name
		}
	}
	return d.String()
}

// maxTail is how many bytes of a job's results are kept as evidence.
const maxTail = 4 << 10

// result returns the report of a decided job.
func (e *entry) result(j *job, f finding, at moment) queue.JobDone {
	out := queue.JobDone{Build: e.build.ID, Step: j.digest, Outcome: f.outcome, Machine: at.name}
	var first, last time.Time
	var tail strings.Builder
	for _, r := range f.list {
		if !r.At.IsZero() && (first.IsZero() || r.At.Before(first)) {
			first = r.At
		}
		if r.Ended.After(last) {
			last = r.Ended
		}
		if f.outcome == queue.JobPassed {
			continue
		}
		word := r.Word
		if f.detail != "" {
			word = f.detail
		}
		fmt.Fprintf(&tail, "check %s: %s\n", oneLine(r.Name), oneLine(word))
		for _, more := range []string{r.Title, r.Text, e.logs[r.ID]} {
			if more = strings.TrimSpace(more); more != "" {
				fmt.Fprintln(&tail, more)
			}
		}
		if r.URL != "" {
			out.Pages = append(out.Pages, queue.Page{Name: r.Name, URL: r.URL})
		}
	}
	if !last.Before(first) && !first.IsZero() { // the forge tells whole seconds: a quick check begins and ends in one second
		out.Took = last.Sub(first)
		began, ended := first.Add(-at.skew), last.Add(-at.skew)
		if pushed := e.pushed; began.Before(pushed) && began.Add(time.Second).After(pushed) {
			began = pushed // in that second, but after its push
		}
		if ended.Before(began) {
			ended = began
		}
		out.Began, out.Ended = queue.At(began), queue.At(ended)
	}
	out.Pages = out.Pages[:min(len(out.Pages), 8)]
	out.Tail = workers.Clean(tail.String())
	if len(out.Tail) > maxTail {
		out.Tail = strings.ToValidUTF8(out.Tail[:maxTail], "")
	}
	if f.outcome == queue.JobPassed && (j.rerun == rerunAsked || e.failedBefore(j, f)) {
		out.Again = 1
	}
	return out
}

// failedBefore reports whether a job that has passed had failed in an earlier
// attempt of the same run: it was run again before a restart, or by people.
func (e *entry) failedBefore(j *job, f finding) bool {
	for _, r := range e.results {
		if !r.Bound || r.State != forge.CIFailed && r.State != forge.CITimeout {
			continue
		}
		of := func(check config.Check) bool { return check.Is(r.Name, r.App) }
		stands := func(o forge.CIResult) bool { return o.Suite == r.Suite && strings.EqualFold(o.Name, r.Name) }
		if slices.ContainsFunc(j.Step.Checks, of) && slices.ContainsFunc(f.list, stands) {
			return true
		}
	}
	return false
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
