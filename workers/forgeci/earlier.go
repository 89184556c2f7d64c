package forgeci

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	actions "github.com/submitqueue/submitqueue/workers/forgeci/workflow"
)

// dependabot is whose pushes start runs with secrets of their own (docs.github.com,
// "Troubleshooting Dependabot on GitHub Actions").
const dependabot = "dependabot[bot]"

// maxAwaited is how many commits are remembered on which something ran when they were
// looked at.
const maxAwaited = 256

// PassedOn implements workers.Attester. Only runs count that a push has started: they
// test the very commit; those of a pull request test its merge with some base, or the
// base. And the workflow must show the same on any branch (actions.Differs).
func (c *Controller) PassedOn(ctx context.Context, commit queue.CommitID, steps []config.Step, files map[string][]byte) (out workers.HeadResults, err error) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s config.Step) bool { return !s.CountsEarlier() })
	if len(steps) == 0 {
		return out, nil
	}
	asked := c.o.Now()
	runs, err := c.o.CI.CIRunsOf(ctx, commit)
	if err != nil {
		return out, err
	}
	got, err := c.o.CI.CIResults(ctx, commit)
	if err != nil {
		return out, err
	}
	c.mu.Lock()
	c.clock(asked, c.o.Now(), got.Now)
	skew := c.skew
	c.mu.Unlock()
	for _, s := range steps {
		list, why, open := passedEarlier(s, got.List, runs)
		out.Open = out.Open || open
		if why == "" {
			why = c.differs(list, s, runs, files)
		}
		p := queue.HeadPass{Step: s.Digest()}
		if why == "" {
			p.Began, p.Ended, why = spanOf(list, skew)
		}
		if why != "" {
			out.Doubts = append(out.Doubts, queue.HeadDoubt{Step: s.Name, Why: why})
			continue
		}
		out.Passed = append(out.Passed, p)
	}
	if out.Open {
		c.await(commit)
	}
	return out, nil
}

// spanOf returns when results were run, by our clock.
func spanOf(list []forge.CIResult, skew time.Duration) (began, ended queue.Instant, why string) {
	first, last := list[0].At, list[0].Ended
	for _, r := range list {
		if r.At.IsZero() || r.Ended.IsZero() {
			return 0, 0, fmt.Sprintf("nobody says when the check %q was run", oneLine(r.Name))
		}
		if r.At.Before(first) {
			first = r.At
		}
		if r.Ended.After(last) {
			last = r.Ended
		}
	}
	return queue.At(first.Add(-skew)), queue.At(last.Add(-skew)), ""
}

// differs says why the workflows by which a step has passed on one branch say nothing of
// another.
func (c *Controller) differs(list []forge.CIResult, s config.Step, runs []forge.CIRun, files map[string][]byte) string {
	for _, r := range list {
		i := slices.IndexFunc(runs, func(run forge.CIRun) bool { return run.Suite == r.Suite })
		run := runs[i]
		if run.Path == "" {
			return "the forge does not say by which workflow it was run"
		}
		if run.Actor == dependabot {
			return "Dependabot has started it, and its runs get other secrets"
		}
		at, _, _ := strings.Cut(run.Path, "@")
		if why := actions.Differs(files, at, r.Name, c.o.Prefix+"/"); len(why) > 0 {
			return oneLine(strings.TrimPrefix(at, actions.Folder) + ": " + strings.Join(why[:min(len(why), 3)], "; "))
		}
	}
	return ""
}

// passedEarlier returns the results by which a step has passed on a commit, or why it has
// not: each of its checks has them, and all of them are passes of ended runs that a push
// has started. open says that it may yet.
func passedEarlier(s config.Step, list []forge.CIResult, runs []forge.CIRun) (out []forge.CIResult, why string, open bool) {
	if !s.CountsEarlier() {
		return nil, "earlier: count is not said", false
	}
	pushed, pulled, byRuns := map[int64]bool{}, map[int64]bool{}, (&job{Job: queue.Job{Step: s}}).byRuns()
	for _, r := range runs {
		if r.Push && !r.Done && byRuns {
			return nil, fmt.Sprintf("the workflow %q runs there still", oneLine(r.Name)), true // it may bring another check of one of the names
		}
		pushed[r.Suite], pulled[r.Suite] = r.Push && r.Done, r.Pull
	}
	for _, check := range s.Checks {
		var found []forge.CIResult
		merged := false
		for _, r := range list {
			if !check.Is(r.Name, r.App) {
				continue
			}
			if r.Status || !r.Bound {
				return nil, fmt.Sprintf("the check %q is not of GitHub Actions alone: nobody can tell which tree it is about", check.Name), false
			}
			if pushed[r.Suite] {
				found = append(found, r)
			}
			merged = merged || pulled[r.Suite]
		}
		found = standing(found, runs)
		if len(found) == 0 && merged {
			return nil, fmt.Sprintf("the check %q was run for the pull request only, on a merge that nobody can tell: the workflow needs on: push for the branches of pull requests", check.Name), false
		}
		if len(found) == 0 {
			return nil, fmt.Sprintf("no push of the head has had the check %q run", check.Name), false
		}
		if i := slices.IndexFunc(found, func(r forge.CIResult) bool { return r.State != forge.CIPassed }); i >= 0 {
			return nil, fmt.Sprintf("the check %q ended there as %s", check.Name, oneLine(found[i].Word)), !found[i].State.Ended()
		}
		out = append(out, found...)
	}
	return out, "", false
}

// await remembers a commit on which something runs.
func (c *Controller) await(commit queue.CommitID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.awaited, commit) {
		return
	}
	if c.awaited = append(c.awaited, commit); len(c.awaited) > maxAwaited {
		c.awaited = c.awaited[1:]
	}
}

// endedThere tells of runs that have ended on commits that are awaited. The caller holds
// mu.
func (c *Controller) endedThere(runs []forge.CIRun) {
	for _, r := range runs {
		if i := slices.Index(c.awaited, r.Commit); i >= 0 && r.Done && r.Push {
			c.awaited = slices.Delete(c.awaited, i, i+1)
			c.events.Put(queue.HeadChecked{Head: r.Commit})
		}
	}
}
