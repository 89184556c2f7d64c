package forgeci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// starts reports whether the run of a build is asked for, and not made by a push, and what
// the run is told then.
func (c *Controller) starts(ctx context.Context, e *entry) (asks bool, told forge.CITold) {
	if c.o.Starter == nil {
		return false, told
	}
	told = forge.CITold{Variables: c.variables(e)}
	told.Inputs = c.inputs(ctx, e, told.Variables)
	return c.o.Starter.CIStarts(ctx, len(told.Inputs) > 0), told
}

// inputs returns the variables of a build's run that its CI file declares as inputs, with their
// names in lower case.
func (c *Controller) inputs(ctx context.Context, e *entry, variables []forge.CIVariable) (out []forge.CIVariable) {
	if c.o.Inputs == nil {
		return nil
	}
	path := c.o.Starter.CIFile(ctx)
	if path == "" {
		return nil
	}
	data, err := c.o.Refs.Read(ctx, e.build.Commit, path)
	if err != nil {
		c.o.Log.Warn("the CI file of a build cannot be read; its run gets no inputs", "build", e.build.ID, "file", path, "error", err)
		return nil
	}
	declared := c.o.Inputs(data)
	for _, v := range variables {
		if name := strings.ToLower(v.Name); slices.Contains(declared, name) {
			out = append(out, forge.CIVariable{Name: name, Value: v.Value})
		}
	}
	return out
}

// variables are the variables that describe a build to the jobs of its run.
func (c *Controller) variables(e *entry) []forge.CIVariable {
	b := e.build
	var steps, chain []string
	for _, j := range b.Jobs {
		steps = append(steps, j.Step.Name)
	}
	for _, id := range b.Chain {
		chain = append(chain, string(id))
	}
	return []forge.CIVariable{
		{Name: "SUBMITQUEUE_BUILD", Value: string(b.ID)},
		{Name: "SUBMITQUEUE_BRANCH", Value: c.o.Branch},
		{Name: "SUBMITQUEUE_CHANGE", Value: string(b.Change)},
		{Name: "SUBMITQUEUE_CHAIN", Value: strings.Join(chain, " ")},
		{Name: "SUBMITQUEUE_MAIN", Value: string(b.Main)},
		{Name: "SUBMITQUEUE_STEPS", Value: strings.Join(steps, " ")},
		{Name: "SUBMITQUEUE_TARGETS_REF", Value: e.side},
	}
}

// unstarted reports whether a build's ref is there and its run is still to be asked for.
func (e *entry) unstarted() bool { return e.asks && e.arrived && e.pushed.IsZero() && e.done == nil }

// begin asks for the run of a build once its ref is there, or finds the run that was asked for
// before a restart.
func (c *Controller) begin(ctx context.Context, e *entry) {
	began := c.o.Now()
	run, err := c.askFor(ctx, e)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err == nil && e.done != nil: // stopped meanwhile
		c.mu.Unlock()
		err = c.o.CI.CancelRun(ctx, run.ID)
		c.mu.Lock()
		if err != nil {
			c.o.Log.Warn("a run could not be cancelled", "build", e.build.ID, "run", run.ID, "error", err)
		}
	case e.done != nil:
	case err == nil:
		e.adopt(run, began)
		e.log.say("asked for run %d on %s", run.ID, e.branch)
		c.settle(e)
	case errors.Is(err, forge.ErrPushStarts):
		e.log.say("the push to %s is to start its run: %v", e.branch, err)
		c.o.Log.Info("runs cannot be asked for with variables here; pushes start them", "error", err)
		e.asks, e.arrived, e.notBefore = false, false, c.o.Now()
		e.tries = -1 // so that it is not pushed meanwhile
		c.mu.Unlock()
		_, each, err := c.o.Refs.Push(ctx, []mirror.RefMove{{Branch: e.branch}}) // the same commit on the same ref is no event
		if err == nil {
			err = errors.Join(each...)
		}
		c.mu.Lock()
		e.tries = 0
		switch {
		case e.done != nil: // stopped meanwhile; the ref of its targets is there still
			e.pushed, e.tidyAt = c.o.Now(), c.o.Now()
			poke(c.toSee)
		case refusedForGood(err): // the next attempt has another ref
			e.arrived = true // its refs are there, and are tidied up
			c.finish(e, queue.BuildDone{Outcome: queue.JobInfra, Detail: fmt.Sprintf("only a push begins a run here, and for that the ref %s would have to be deleted first: %s", e.branch, ruleOf(err))})
		case err != nil:
			e.asks, e.arrived, e.unsure, e.beginAt = true, true, true, c.o.Now().Add(c.o.Poll)
		}
		poke(c.toPush)
	default:
		c.notBegun(e, err)
	}
}

// askFor returns the run of a build.
func (c *Controller) askFor(ctx context.Context, e *entry) (forge.CIRun, error) {
	c.mu.Lock()
	unsure := e.unsure
	e.unsure = true // until it is answered
	c.mu.Unlock()
	if unsure {
		runs, err := c.o.CI.CIRuns(ctx, e.branch)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return forge.CIRun{}, err
		}
		for _, r := range runs {
			if r.Asked && r.Commit == e.build.Commit {
				return r, nil
			}
		}
	}
	return c.o.Starter.CIStart(ctx, e.branch, e.build.Commit, e.tells)
}

// adopt makes a run the only one that counts.
func (e *entry) adopt(run forge.CIRun, began time.Time) {
	e.run, e.pushed, e.look = run.ID, began, e.look || run.Done
	for id, r := range e.runs {
		if id != run.ID {
			delete(e.runs, id)
			e.foreign[r.Suite] = true
		}
	}
	if _, known := e.runs[run.ID]; !known { // else webhooks have told more of it
		e.foldRun(run)
	}
}

// notBegun takes in the error of asking for a run. The caller holds mu.
func (c *Controller) notBegun(e *entry, err error) {
	c.o.Log.Warn("the run of a build could not be asked for", "build", e.build.ID, "ref", e.branch, "error", err)
	e.log.say("no run on %s yet: %v", e.branch, err)
	var transient *forge.Transient
	e.starts++
	switch {
	case !errors.As(err, &transient):
		c.finish(e, queue.BuildDone{Outcome: queue.JobInfra, NoCheck: true, Detail: "the forge makes no run for " + e.branch + ": " + oneLine(err.Error())})
	case e.starts >= pushTries:
		c.finish(e, queue.BuildDone{Outcome: queue.JobInfra, Detail: fmt.Sprintf("no run could be had for %s: %s", e.branch, oneLine(err.Error()))})
	default:
		e.beginAt = c.o.Now().Add(max(backoff(e.starts-1), transient.After))
		poke(c.toSee)
	}
}

// readOwn reads the run that was asked for, with the results of its jobs, in one answer. enough
// says that these are all the checks that a build waits for: a check that no job of the run
// brings may be of another CI. If a job has the name of a check, statuses of others with that
// name are not read.
func (c *Controller) readOwn(ctx context.Context, e *entry) (enough bool, got forge.CIResults, err error) {
	c.mu.Lock()
	run := e.run
	var checks []config.Check
	var names []string
	for _, j := range e.jobs {
		if !j.done {
			checks = append(checks, j.Step.Checks...)
		}
	}
	c.mu.Unlock()
	if run == 0 || c.o.Starter == nil {
		return false, got, nil
	}
	for _, check := range checks {
		names = append(names, check.Name)
	}
	of, got, err := c.o.Starter.CIRunResults(ctx, run, names)
	if errors.Is(err, forge.ErrNotFound) {
		return false, forge.CIResults{}, nil
	} else if err != nil {
		return false, got, err
	}
	for _, check := range checks {
		if !slices.ContainsFunc(got.List, func(r forge.CIResult) bool { return check.Is(r.Name, r.App) }) {
			return false, forge.CIResults{}, nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, known := e.runs[run]; known && of.Done {
		r.Done, r.Word = true, of.Word
		e.foldRun(r)
	}
	return true, got, nil
}
