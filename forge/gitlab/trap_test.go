package gitlab_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// lander lands as the service does: by the port, and git.
type lander struct {
	*world
	mirror *mirror.Mirror
}

func (w *world) lander() lander {
	w.Helper()
	m, err := mirror.Open(w.Context(), filepath.Join(w.TempDir(), "mirror"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { m.Close() })
	return lander{w, m}
}

// until reads a merge request until it is as it should be.
func (l lander) until(ctx context.Context, iid int, ok func(forge.PullRequest) bool) error {
	for {
		pr, err := l.forge.PullRequest(ctx, iid)
		if err != nil || ok(pr) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it stays %+v: %w", pr, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

func (l lander) Land(ctx context.Context, iid int, commit string) error {
	remote, err := l.forge.Remote(ctx)
	if err != nil {
		return err
	}
	pr, err := l.forge.PullRequest(ctx, iid)
	if err != nil {
		return err
	}
	main, err := l.mirror.Remotes.FetchBranch(ctx, remote, pr.Base)
	if err != nil {
		return err
	}
	to := queue.CommitID(commit)
	if err := errors.Join(l.mirror.Remotes.FetchCommit(ctx, remote, pr.Head), l.mirror.Remotes.FetchCommit(ctx, remote, to)); err != nil {
		return err
	}
	out, err := l.mirror.Remotes.PushHeads(ctx, remote, pr.Base, []mirror.Move{{Branch: pr.Source, From: pr.Head, To: to}})
	if err != nil || !out[0].Moved {
		return errors.Join(fmt.Errorf("the head: %+v", out), err)
	}
	if err := l.until(ctx, iid, func(pr forge.PullRequest) bool { return pr.Head == to }); err != nil {
		return err
	}
	one, err := l.mirror.Remotes.Push(ctx, remote, pr.Base, main, to)
	if err != nil || !one.Moved {
		return errors.Join(fmt.Errorf("main: %+v", one), err)
	}
	return l.until(ctx, iid, func(pr forge.PullRequest) bool { return pr.Merged })
}

func (l lander) Report(ctx context.Context, commit, state string) error {
	of := map[string]forge.CheckState{"running": forge.CheckRunning, "success": forge.CheckPassed, "failed": forge.CheckFailed}
	return l.forge.Check(ctx, forge.Check{Name: "submitqueue", Head: queue.CommitID(commit), State: of[state], Title: state})
}

func (l lander) Judge(ctx context.Context, iid int) (fake.Judgement, error) {
	pr, err := l.forge.PullRequest(ctx, iid)
	if err != nil {
		return "", err
	}
	s, err := l.forge.Unmet(ctx, forge.Requirements{Number: iid, Head: pr.Head, Base: pr.Base, Branch: pr.Base, Checks: true, Except: []string{"submitqueue"}})
	switch {
	case errors.As(err, new(*forge.Transient)):
		return fake.Waiting, nil
	case err != nil:
		return "", err
	case len(s.Unmet) == 0:
		return fake.Ready, nil
	case slices.ContainsFunc(s.Unmet, func(r queue.Requirement) bool { return r.Kind == queue.RequireJudged }):
		return fake.Waiting, nil
	}
	return fake.Unmet, nil
}

// TestTraps has the adapter walk into the three ways to go wrong with GitLab.
func TestTraps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		for _, trap := range fake.Traps(seed) {
			t.Run(fmt.Sprint(trap.Name, " ", seed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, trap.Options)
				w.project.Set(trap.Settings)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				if err := trap.Spring(ctx, w.project, w.opened("topic"), w.lander()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestRefusalsOfPushes has each refusal that GitLab can give be taken for what it is: all
// come with the same words around them.
func TestRefusalsOfPushes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	l := w.lander()
	remote, err := w.forge.Remote(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := queue.CommitID(w.project.Push("ann", "next", nil))
	main, err := l.mirror.Remotes.FetchBranch(t.Context(), remote, "main")
	if err == nil {
		err = l.mirror.Remotes.FetchCommit(t.Context(), remote, next)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range fake.Refusals() {
		w.project.RefusePush("main", r)
		out, err := l.mirror.Remotes.Push(t.Context(), remote, "main", main, next)
		passing := errors.As(err, new(*forge.Transient)) || err == nil && out.Refused != "" && !queue.RefusalOf(out.Refused).Rule()
		switch {
		case err == nil && (out.Moved || out.Lost):
			t.Errorf("%s: %+v", r.Name, out)
		case r.Rule == passing:
			t.Errorf("%s: a rule: %v; taken for passing: %v (%+v, %v)", r.Name, r.Rule, passing, out, err)
		}
	}
	applied := fake.Refusals()[16]
	applied.Applied = true
	w.project.RefusePush("main", applied)
	if _, err := l.mirror.Remotes.Push(t.Context(), remote, "main", main, next); err != nil && !errors.As(err, new(*forge.Transient)) {
		t.Errorf("%s, and it moved: %v", applied.Name, err)
	}
	if out, err := l.mirror.Remotes.Push(t.Context(), remote, "main", main, next); err != nil || !out.Moved {
		t.Errorf("pushed again: %+v, %v", out, err)
	}
}
