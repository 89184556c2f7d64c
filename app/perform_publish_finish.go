package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

const (
	mergedFor = 10 * time.Minute // how long the forge may take to see that a pull request is merged
	lookAgain = 5 * time.Second
)

// finish leaves the pull request of a landed change as its author expects it: merged or
// else closed, and its branch deleted where the repository wants that. Steps that the
// forge forbids us are left to people. Doing it again is no error.
func (p *publisher) finish(ctx context.Context, ch queue.Change) error {
	f := p.Forge.Capabilities().Closer
	if f == nil || ch.Phase != queue.Landed || ch.Verdict == nil {
		return nil
	}
	closed := ch.Verdict.Closed // may become known after the rest was done once
	p.mu.Lock()
	as, done := p.finished[ch.ID]
	p.mu.Unlock()
	if done && as == closed {
		return nil
	}
	err := p.finishOn(ctx, f, ch)
	switch {
	case errors.Is(err, forge.ErrForbidden) && !isTransient(err):
		p.Log.Warn("a "+p.Texts.Words.Noun()+" that has landed could not be finished; close it, and delete its branch, by hand",
			"queue", p.Called(), "pull", ch.Number, "error", err)
	case err != nil && !errors.Is(err, forge.ErrNotFound):
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished[ch.ID] = closed
	return nil
}

func (p *publisher) finishOn(ctx context.Context, f forge.Closer, ch queue.Change) error {
	house, err := p.houseOf(ctx, f)
	if err != nil {
		return err
	}
	if ch.Verdict.Along {
		state, title, summary := texts.CheckPassed(ch)
		if err := p.Forge.Check(ctx, forge.Check{Name: CheckName, Head: ch.Verdict.Commit, ExternalID: string(ch.ID),
			State: forge.CheckState(state), Title: title, Summary: summary, DetailsURL: p.detailsURL(ch.ID),
			New: p.isUnseen(ch.Verdict.Commit)}); err != nil {
			return err
		}
		p.stopRuns(ctx, ch.Branch, ch.Verdict.Commit)
	}
	if onDefault := p.branch() == house.Default; !shownMerged(ch, onDefault) || queue.At(p.Now()).Sub(ch.Decided) > mergedFor {
		if err := f.Close(ctx, ch.Number, forge.Closing{Label: texts.LandedLabel, Issues: onDefault}); err != nil {
			return err
		}
	}
	if !house.Delete {
		return nil
	}
	return p.deleteBranch(ctx, f, ch)
}

// shownMerged reports whether the forge sees on its own that a landed change is merged:
// its head is on the default branch, and was recorded before that, or the forge has
// merged it itself.
func shownMerged(ch queue.Change, onDefault bool) bool {
	return onDefault && (ch.Method.Keeps() || ch.Verdict != nil && (ch.Verdict.ByForge || ch.Verdict.Along && !ch.Verdict.Closed))
}

// deleteBranch deletes the branch of a pull request that is merged or closed, as long
// as it is where it landed from. Pull requests in the queue that are on top of it are
// first given the queue's branch as base. A branch with any other use stays.
func (p *publisher) deleteBranch(ctx context.Context, f forge.Closer, ch queue.Change) error {
	branch := ""
	if err := p.facts(func(c *speculation.Core) {
		if pull := c.State().Pulls[ch.Number]; pull != nil && pull.Active == "" {
			branch = pull.Branch
		}
	}); err != nil {
		return err
	}
	if branch == "" {
		return nil
	}
	pr, err := p.Forge.PullRequest(ctx, ch.Number)
	if err != nil {
		return err
	}
	at := ch.Head
	if ch.Verdict.Along {
		at = ch.Verdict.Commit
	}
	switch {
	case pr.Source != branch || pr.Open && pr.Head != at: // the shown head of a closed pull request does not change any more
		return nil
	case pr.Open: // the forge has not seen yet that it is merged
		return &forge.Transient{Err: fmt.Errorf("the %s has landed and is still shown as open", p.Texts.Words.Noun()), After: lookAgain}
	}
	stacker := p.Forge.Capabilities().Stacker
	if stacker == nil {
		return nil
	}
	facts, err := p.factsOf(ctx, f, branch)
	if err != nil {
		return err
	}
	onTop, err := p.waitOn(branch, facts.Into)
	if err != nil {
		return err
	}
	alone := facts
	alone.Into = slices.DeleteFunc(slices.Clone(facts.Into), func(n int) bool { return slices.Contains(onTop, n) })
	if use := alone.use(branch, ch.Number); use != "" {
		p.Log.Info("the branch of a "+p.Texts.Words.Noun()+" that has landed is not deleted", "queue", p.Called(), "pull", ch.Number, "branch", texts.OneLine(branch, 100), "reason", use)
		return nil
	}
	for _, n := range onTop {
		if err := stacker.Retarget(ctx, n, p.branch()); err != nil {
			return err
		}
	}
	if facts, err = p.factsOf(ctx, f, branch); err != nil || facts.use(branch, ch.Number) != "" {
		return err
	}
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return err
	}
	return p.Mirror.Remotes.Delete(ctx, remote, branch, at)
}
