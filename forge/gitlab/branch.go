package gitlab

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

func (f *Forge) branch(ctx context.Context, name string) (*gitlab.Branch, error) {
	id, err := f.project(ctx)
	if err != nil {
		return nil, err
	}
	b, _, err := f.client.Branches.GetBranch(id, name, gitlab.WithContext(ctx))
	return b, err
}

// Protection implements forge.Forge. GitLab itself says whether we may push: the right
// to merge is not enough.
func (f *Forge) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	if kept, ok := recall(f, f.protected, branch); ok && time.Since(kept.at) < protectedFor {
		return kept.Protection, nil
	}
	b, err := f.branch(ctx, branch)
	if err != nil {
		forget(f, f.protected, branch)
		return forge.Protection{}, failure(ctx, "read how branch "+branch+" is protected", err)
	}
	out := forge.Protection{Protected: b.Protected, MayPush: b.CanPush}
	if !out.MayPush {
		out.Rule = "the branch is protected, and the queue's account is not among those who are allowed to push"
	}
	remember(f, f.protected, branch, keptProtection{out, time.Now()})
	return out, nil
}

// protectedFor is how long a branch's protection is kept before it is read again.
const protectedFor = 5 * time.Minute

type keptProtection struct {
	forge.Protection
	at time.Time
}

// Trains reports whether the project has merge trains: each push of ours would restart
// its train, so such a project must not be served.
func (f *Forge) Trains(ctx context.Context) (bool, error) {
	p, err := f.settings(ctx)
	if err != nil {
		return false, failure(ctx, "read whether the project has merge trains", err)
	}
	return p.MergeTrainsEnabled, nil
}

// refsPerPush is how many refs of one push get pipelines and webhooks. If a push has more
// than three refs of a kind, GitLab sends no webhook for them; from the fifth ref on, it
// makes no pipeline.
const refsPerPush = 3

// Remote implements forge.Forge.
func (f *Forge) Remote(ctx context.Context) (forge.Remote, error) {
	if _, err := f.project(ctx); err != nil {
		return forge.Remote{}, failure(ctx, "reach the repository by git", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	basic := base64.StdEncoding.EncodeToString([]byte("oauth2:" + f.o.Token))
	return forge.Remote{URL: f.base.String() + "/" + f.path + ".git", Header: []string{"Authorization: Basic " + basic}, Refs: refsPerPush, Quiet: quietPush}, nil
}

// Locate implements forge.Locator.
func (f *Forge) Locate(ctx context.Context, id int64) (forge.Place, error) {
	p, err := f.readProject(ctx, id)
	if err != nil {
		err = failure(ctx, "find the project", err)
		if errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrForbidden) {
			err = fmt.Errorf("%w: %w", forge.ErrAway, err)
		}
		return forge.Place{}, err
	}
	return forge.Place{ID: int64(p.ID), Name: p.PathWithNamespace, Default: p.DefaultBranch}, nil
}

// BranchNow implements forge.Locator: GitLab has no memory of a branch's former name.
func (f *Forge) BranchNow(ctx context.Context, branch string) (string, error) {
	b, err := f.branch(ctx, branch)
	if err != nil {
		return "", failure(ctx, "find branch "+branch, err)
	}
	return b.Name, nil
}
