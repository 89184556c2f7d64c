package forgeci

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	actions "github.com/submitqueue/submitqueue/workers/forgeci/workflow"
)

// dependabot is the actor of pushes that start runs with other secrets (docs.github.com,
// "Troubleshooting Dependabot on GitHub Actions").
const dependabot = "dependabot[bot]"

// maxWhy bounds the reason that is given for a step, in bytes: anybody can write workflows.
const maxWhy = 600

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// maxAwaited is how many commits are remembered with runs that had not ended, or not begun,
// when PassedOn looked at them.
const maxAwaited = 256

// PassedOn implements workers.Attester. Runs that a push has started count, because they test
// the very commit. Runs that a pull request has started test its merge with some base: they
// count only if they say which merge it was (workflow.CommitIn). In both cases the workflow
// must show the same on any branch (workflow.Differs).
func (c *Controller) PassedOn(ctx context.Context, head queue.CommitID, steps []config.Step, tree workers.HeadTree) (out workers.HeadResults, err error) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s config.Step) bool { return !s.CountsEarlier() })
	if len(steps) == 0 {
		return out, nil
	}
	asked := c.o.Now()
	l := look{c: c, tree: tree}
	if l.runs, err = c.o.CI.CIRunsOf(ctx, head); err != nil {
		return out, err
	}
	statuses := slices.ContainsFunc(steps, func(s config.Step) bool {
		return slices.ContainsFunc(s.Checks, func(check config.Check) bool { return check.App == "" }) // anybody may post one
	})
	got, err := c.o.CI.CIChecks(ctx, head, statuses)
	if err != nil {
		return out, err
	}
	l.list, l.open = got.List, len(l.runs) == 0 // runs of a push may appear seconds after it
	c.mu.Lock()
	c.clock(asked, c.o.Now(), got.Now)
	skew := c.skew
	c.mu.Unlock()
	for _, s := range steps {
		list, p, why, err := l.step(ctx, s)
		if err != nil {
			return workers.HeadResults{}, err
		}
		if why == "" {
			p.Began, p.Ended, why = spanOf(list, skew)
		}
		if why != "" {
			out.Doubts = append(out.Doubts, queue.HeadDoubt{Step: s.Name, Why: cut(why, maxWhy)})
			continue
		}
		out.Passed = append(out.Passed, p)
	}
	if out.Open = l.open; out.Open {
		c.await(head)
	}
	return out, nil
}

// look has the runs and the results on one head.
type look struct {
	c    *Controller
	tree workers.HeadTree
	runs []forge.CIRun
	list []forge.CIResult
	open bool // a run there has not ended
}

// step returns the results by which a step has passed, and the commit that they tested, or why
// it has not passed.
func (l *look) step(ctx context.Context, s config.Step) (list []forge.CIResult, p queue.HeadPass, why string, err error) {
	p.Step = s.Digest()
	list, why, open := passedEarlier(s, l.list, l.runs, onPush)
	l.open = l.open || open
	if why == nothingRun {
		merged := ""
		list, merged, open = passedEarlier(s, l.list, l.runs, onMerge)
		if l.open = l.open || open; merged == nothingRun {
			return nil, p, why, nil // by neither
		}
		if why = merged; why == "" {
			p.On, why = l.merge(list)
		}
	}
	if why != "" {
		return nil, p, why, nil
	}
	files, why, err := l.tree(ctx, p.On)
	if err == nil && why == "" {
		why = l.differs(list, files)
	}
	return list, p, why, err
}

func onPush(r forge.CIRun) bool  { return r.Push }
func onMerge(r forge.CIRun) bool { return r.Pull && r.Own }

// titled finds words in a run's title that may be a commit. Its workflow must say which of them
// is the tested commit.
var titled = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// merge returns the commit that the titles of all runs of these results name as tested.
func (l *look) merge(list []forge.CIResult) (commit queue.CommitID, why string) {
	for _, r := range list {
		run := l.run(r)
		found := titled.FindAllString(run.Title, -1)
		if len(found) != 1 || commit != "" && string(commit) != found[0] {
			return "", fmt.Sprintf("the check %q was run for the pull request only, on a merge that the workflow does not name: give it on: push for the branches of pull requests, or %s", r.Name, actions.TitleExample)
		}
		commit = queue.CommitID(found[0])
	}
	return commit, ""
}

// run returns the run of a result.
func (l *look) run(r forge.CIResult) forge.CIRun {
	return l.runs[slices.IndexFunc(l.runs, func(run forge.CIRun) bool { return run.Suite == r.Suite })]
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

// differs says why a pass by the workflows of these results says nothing of another branch.
// files are the files of the tested tree.
func (l *look) differs(list []forge.CIResult, files map[string][]byte) string {
	for _, r := range list {
		run := l.run(r)
		if run.Path == "" {
			return "the forge does not say by which workflow it was run"
		}
		if run.Actor == dependabot {
			return "Dependabot has started it, and its runs get other secrets"
		}
		at, _, _ := strings.Cut(run.Path, "@")
		name := strings.TrimPrefix(at, actions.Folder)
		builds := l.c.o.Prefix + "/"
		if why := actions.Differs(files, at, r.Name, builds); len(why) > 0 {
			return oneLine(name + ": " + strings.Join(why[:min(len(why), 3)], "; "))
		}
		if run.Pull && actions.Read(at, files[at], builds).CommitIn(run.Title) == "" {
			return oneLine(fmt.Sprintf("%s: its title does not say for sure which merge was tested; %s does", name, actions.TitleExample))
		}
	}
	return ""
}

// nothingRun says that no push there has run a step.
const nothingRun = "its checks were not run on a push of the head in this repository"

// passedEarlier returns the results by which a step has passed on a commit, or why it has not.
// Each of its checks needs results, and all of these must be passes of ended runs of one kind.
// open says that it may still pass.
func passedEarlier(s config.Step, list []forge.CIResult, runs []forge.CIRun, of func(forge.CIRun) bool) (out []forge.CIResult, why string, open bool) {
	if !s.CountsEarlier() {
		return nil, "earlier: count is not said", false
	}
	ended, byRuns := map[int64]bool{}, (&job{Job: queue.Job{Step: s}}).byRuns()
	for _, r := range runs {
		if of(r) && !r.Done && byRuns {
			return nil, fmt.Sprintf("the workflow %q runs there still", oneLine(r.Name)), true // it may bring another check of one of the names
		}
		ended[r.Suite] = of(r) && r.Done
	}
	some := false
	for _, check := range s.Checks {
		var found []forge.CIResult
		for _, r := range list {
			if !check.Is(r.Name, r.App) {
				continue
			}
			if r.Status || !r.Bound {
				return nil, fmt.Sprintf("the check %q is not of GitHub Actions alone: nobody can tell which tree it is about", check.Name), false
			}
			if ended[r.Suite] {
				found = append(found, r)
			}
		}
		if found = standing(found, runs); len(found) == 0 {
			why = cmp.Or(why, fmt.Sprintf("the check %q was not run with the others of the step", check.Name))
			continue
		}
		some = true
		if i := slices.IndexFunc(found, func(r forge.CIResult) bool { return r.State != forge.CIPassed }); i >= 0 {
			return nil, fmt.Sprintf("the check %q ended there as %s", check.Name, oneLine(found[i].Word)), !found[i].State.Ended()
		}
		out = append(out, found...)
	}
	switch {
	case !some:
		return nil, nothingRun, false
	case why != "":
		return nil, why, false
	}
	return out, "", false
}

// await remembers a commit with runs that have not ended or not begun.
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

// endedThere reports the awaited commits on which a run has ended. The caller holds mu.
func (c *Controller) endedThere(runs []forge.CIRun) {
	for _, r := range runs {
		if i := slices.Index(c.awaited, r.Commit); i >= 0 && r.Done && (onPush(r) || onMerge(r)) {
			c.awaited = slices.Delete(c.awaited, i, i+1)
			c.events.Put(queue.HeadChecked{Head: r.Commit})
		}
	}
}
