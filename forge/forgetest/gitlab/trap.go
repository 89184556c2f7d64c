package gitlab

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Judgement is an adapter's judgement of a merge request.
type Judgement string

// The judgements.
const (
	Ready   Judgement = "ready"   // all requirements are met
	Waiting Judgement = "waiting" // it is not known, or may change without people
	Unmet   Judgement = "unmet"   // people have to do something
)

// Adapter has the methods of an adapter that a Trap needs: the three things that are easy
// to get wrong.
type Adapter interface {
	// Land lands a merge request as a commit that is in the repository without a branch:
	// it moves the source branch and the target there. It returns once GitLab shows the
	// merge request as merged; an error otherwise.
	Land(ctx context.Context, iid int, commit string) error
	// Report shows the queue's state on a commit: "running", "success" or "failed".
	Report(ctx context.Context, commit, state string) error
	// Judge reads whether a merge request may land.
	Judge(ctx context.Context, iid int) (Judgement, error)
}

// Trap is a situation in which an adapter fails if it does the obvious thing.
type Trap struct {
	Name string
	// Options and Settings make the project.
	Options  Options
	Settings func(*Settings)
	// Spring makes the adapter act on a merge request of a branch of the project, and
	// returns an error if that went wrong.
	Spring func(ctx context.Context, p *Project, iid int, a Adapter) error
}

// Traps returns the usual ways to go wrong with GitLab. In each, GitLab's own jobs run
// during requests, in an order that the seed chooses.
func Traps(seed uint64) []Trap {
	o := Options{Seed: seed}
	return []Trap{
		{"head and main together", o, func(*Settings) {}, landTrap},
		{"a status inside the pipeline that it waits for", o, func(s *Settings) { s.Jobs, s.MustSucceed = []string{"test"}, true }, statusTrap},
		{"a status that makes GitLab content", o, func(s *Settings) { s.MustSucceed = true }, greenTrap},
		{"believing one answer", o, func(s *Settings) { s.MustResolve = true }, judgeTrap},
	}
}

func landTrap(ctx context.Context, p *Project, iid int, a Adapter) error {
	mr := p.Look(iid)
	commit := p.SquashCommit(p.Tip(mr.Target), mr.SHA, "Landed")
	err := a.Land(ctx, iid, commit)
	p.s.Settle()
	if mr = p.Look(iid); mr.State != "merged" {
		return errors.Join(fmt.Errorf("!%d is %s, its diff is empty: %v", iid, mr.State, mr.Empty), err)
	}
	if p.Tip(mr.Target) != commit {
		return fmt.Errorf("%s is not at what landed", mr.Target)
	}
	return err
}

func statusTrap(ctx context.Context, p *Project, iid int, a Adapter) error {
	head := p.Look(iid).SHA
	if err := a.Report(ctx, head, "running"); err != nil {
		return err
	}
	var ci Pipeline
	for _, pl := range p.Pipelines() {
		if pl.SHA == head && pl.Source == "push" {
			ci = pl
		}
	}
	p.ReportAll(ci.ID, "success")
	p.s.Settle()
	for _, pl := range p.Pipelines() {
		if pl.ID == ci.ID && pl.Status != "success" {
			return fmt.Errorf("all its jobs have passed, and the pipeline is %s: bot and pipeline wait for each other", pl.Status)
		}
	}
	if err := a.Report(ctx, head, "failed"); err != nil {
		return err
	}
	if s := p.settled(iid); s != "mergeable" {
		return fmt.Errorf("the queue's own verdict has turned the merge request to %s", s)
	}
	return nil
}

// greenTrap uses a project in which pipelines must succeed and there are none.
func greenTrap(ctx context.Context, p *Project, iid int, a Adapter) error {
	if err := a.Report(ctx, p.Look(iid).SHA, "success"); err != nil {
		return err
	}
	if s := p.settled(iid); s == "mergeable" {
		return errors.New("the queue's own status is all that pipelines-must-succeed asked for")
	}
	return nil
}

// settled returns the merge status after it is worked out.
func (p *Project) settled(iid int) string {
	p.s.mu.Lock()
	mr := p.mr(iid)
	mr.checked = "checked"
	defer p.s.mu.Unlock()
	return mr.detailed()
}

func judgeTrap(ctx context.Context, p *Project, iid int, a Adapter) error {
	thread := p.Discuss("ann", iid, "Why?")
	got := Waiting
	for end := time.Now().Add(time.Minute); got == Waiting && time.Now().Before(end); { // unchecked, then checking
		var err error
		if got, err = a.Judge(ctx, iid); err != nil {
			return err
		}
		if got == Ready {
			return errors.New("it is ready, with a thread open")
		}
	}
	if got != Unmet {
		return errors.New("what people have to do is never said")
	}
	p.Resolve("ann", iid, thread)
	p.SetStatus(iid, "awaiting_moon_phase")
	if got, err := a.Judge(ctx, iid); err != nil || got != Waiting {
		return errors.Join(fmt.Errorf("a status that nobody knows is %q", got), err)
	}
	p.SetStatus(iid, "checking")
	if got, err := a.Judge(ctx, iid); err != nil || got != Waiting {
		return errors.Join(fmt.Errorf("a status that GitLab is still working out is %q", got), err)
	}
	return nil
}
