package forgetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// GitHub's own stacks of pull requests (public preview). Its sources:
//
//   - the member "stack" of a pull request, the webhook "stacked", and the lack of a webhook for
//     the end of a stack:
//     docs.github.com/en/pull-requests/reference/stacked-pull-requests-apis-and-webhooks,
//     github.github.com/gh-stack/reference/webhooks; the endpoints are in GitHub's OpenAPI
//     document;
//   - the base of a member cannot be changed, 422 with the words in errors[]:
//     theBGuy/GitDesktop#146, getstackit/stackit#1688, github/gh-stack#455;
//   - unstack removes all members that are not merged, regardless of the request's body, and
//     the merged members stay in the stack: theBGuy/GitDesktop#146, getstackit/stackit#1719,
//     github.github.com/gh-stack/guides/ui;
//   - the rules and CODEOWNERS of a member are those of the stack's base:
//     docs.github.com/en/pull-requests/reference/stacked-pull-requests, github.github.com/gh-stack/faq;
//   - when GitHub itself has merged a part, it rebases the rest and force-pushes it, unsigned,
//     and the lowest remaining member asks for the stack's base: gh-stack/guides/stacked-prs;
//   - when a member is merged because its commits have reached the base in another way, the
//     others stay where they are: github/gh-stack#407. The fake does that unless
//     RestackOnPush is called: this is the harder case for the queue.
type stack struct {
	id, number int
	base       string
	members    []int // the bottom first
	created    time.Time
}

const cannotRebase = "Cannot change the base branch because the pull request is part of a stack."

// Stack makes a stack of open pull requests, the bottom first, and returns its number.
func (r *Repository) Stack(login string, members ...int) (number int, err error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	k, err := r.issues.stack(r.s.mustUser(login), members)
	if err != nil {
		return 0, err
	}
	return k.number, nil
}

func (r *issues) stack(u *user, members []int) (*stack, error) {
	if err := r.linear("", members); err != nil {
		return nil, err
	}
	k := &stack{id: 9_000_000 + len(r.repo.stacks) + 1, number: len(r.repo.stacks) + 1, base: r.mustPull(members[0]).Base, created: r.repo.s.now()}
	r.repo.stacks = append(r.repo.stacks, k)
	r.stackOn(u, k, members)
	return k, nil
}

// linear returns why pull requests cannot stand on each other, the first on a given branch,
// if any.
func (r *issues) linear(on string, members []int) error {
	for _, n := range members {
		p := r.repo.pulls[n]
		switch {
		case p == nil || p.issue:
			return invalid(obj{"resource": "Stack", "field": "pull_requests", "code": "missing", "value": []int{n}})
		case r.stackOf(n) != nil:
			return &problem{status: 422, message: fmt.Sprintf("Pull request #%d is already part of a stack", n)}
		case p.Fork != "" || on != "" && p.Base != on || !p.open():
			return &problem{status: 422, message: "Pull requests must form a stack, where each PR's base ref is the previous PR's head ref"}
		}
		on = p.Branch
	}
	return nil
}

func (r *issues) stackOn(u *user, k *stack, members []int) {
	k.members = append(k.members, members...)
	for _, n := range members {
		p := r.mustPull(n)
		r.repo.shapes.emitPull(u, p, "stacked", obj{"stack": r.repo.shapes.stackOf(p)})
	}
	r.repo.s.touch()
}

// StackMore puts further pull requests on top of a stack.
func (r *Repository) StackMore(login string, number int, members ...int) error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.issues.stackMore(r.s.mustUser(login), r.stacks[number-1], members)
}

func (r *issues) stackMore(u *user, k *stack, members []int) error {
	on := k.base
	if n := len(k.members); n > 0 {
		on = r.mustPull(k.members[n-1]).Branch
	}
	if err := r.linear(on, members); err != nil {
		return err
	}
	r.stackOn(u, k, members)
	return nil
}

// Unstack removes all members that are not merged from a stack. It sends no
// webhook.
func (r *Repository) Unstack(number int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.issues.unstack(r.stacks[number-1])
}

func (r *issues) unstack(k *stack) {
	k.members = slices.DeleteFunc(k.members, func(n int) bool { return !r.mustPull(n).Merged })
	r.repo.s.touch()
}

// RestackOnPush makes GitHub restack the members above one that a push has merged, as
// it does when it has merged that member itself.
func (r *Repository) RestackOnPush() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.restacks = true
}

// Restack rebases the members of a stack that are not merged, the lowest onto the stack's
// base and each other onto the one below it, and pushes them by force, as GitHub does after
// a merge and for its button "Rebase stack".
func (r *Repository) Restack(login string, number int) error {
	r.refs.Lock()
	defer r.refs.Unlock()
	r.s.mu.Lock()
	u, k := r.s.mustUser(login), r.stacks[number-1]
	r.s.mu.Unlock()
	return r.store.restack(context.Background(), identity{user: u}, k)
}

// restack is Restack. The caller holds r.refs and not s.mu.
func (r *store) restack(ctx context.Context, who identity, k *stack) error {
	type layer struct {
		branch, head string
		below        []string // the former heads of the members below it
	}
	var layers []layer
	var below []string
	r.repo.s.mu.Lock()
	actor := r.repo.s.actor(who)
	lowest := true
	for _, n := range k.members {
		p := r.repo.issues.mustPull(n)
		if p.open() {
			layers = append(layers, layer{p.Branch, p.Head, slices.Clone(below)})
			if lowest && p.Base != k.base {
				from := p.Base
				p.Base = k.base
				r.repo.shapes.emitPull(actor, p, "edited", obj{"changes": obj{"base": obj{
					"ref": obj{"from": from}, "sha": obj{"from": orZero(r.readRef("refs/heads/" + from))}}}})
			}
			lowest = false
		}
		below = append(below, p.Head)
	}
	r.repo.s.mu.Unlock()
	onto := r.readRef("refs/heads/" + k.base)
	var moves []refMove
	for _, l := range layers {
		head, err := r.rebased(ctx, actor, onto, l.head, l.below)
		if err != nil {
			return fmt.Errorf("restack %s: %w", l.branch, err)
		}
		if head != l.head {
			moves = append(moves, refMove{ref: "refs/heads/" + l.branch, old: l.head, new: head})
		}
		onto = head
	}
	if len(moves) == 0 {
		return nil
	}
	return r.push(ctx, who, moves, pushOptions{}).err()
}

// rebased makes the commits of a head anew on a commit, without those that are on it
// or below the head.
func (r *store) rebased(ctx context.Context, u *user, onto, head string, below []string) (string, error) {
	upstream := onto
	if len(below) > 0 {
		upstream = below[len(below)-1]
	}
	dir, err := os.MkdirTemp("", "restack")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tree := filepath.Join(dir, "tree")
	if _, err := r.git(ctx, nil, "worktree", "add", "-q", "--detach", tree, head); err != nil {
		return "", err
	}
	_, err = r.git(ctx, nil, "-C", tree, "-c", "user.name="+u.login, "-c", "user.email="+u.login+"@users.example",
		"rebase", "-q", "--onto", onto, upstream)
	out, lost := r.git(ctx, nil, "-C", tree, "rev-parse", "HEAD")
	_, gone := r.git(ctx, nil, "worktree", "remove", "--force", tree)
	return strings.TrimSpace(string(out)), errors.Join(err, lost, gone)
}

// restackMerged restacks the stacks that have a member which a push has merged, if
// RestackOnPush was called. The caller holds r.refs and not s.mu.
func (r *store) restackMerged(ctx context.Context, who identity, merged []int) {
	r.repo.s.mu.Lock()
	var list []*stack
	for _, n := range merged {
		if k := r.repo.issues.stackOf(n); k != nil && r.repo.restacks && !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	r.repo.s.mu.Unlock()
	for _, k := range list {
		if err := r.restack(ctx, who, k); err != nil { // as at GitHub, if the commits cannot be rebased
			r.repo.s.log.Warn("a stack was not rebased", "stack", k.number, "err", err)
		}
	}
}

// stackOf returns the stack that a pull request is in, or nil.
func (r *issues) stackOf(number int) *stack {
	for _, k := range r.repo.stacks {
		if slices.Contains(k.members, number) {
			return k
		}
	}
	return nil
}

// ruledBy returns the branch with the rules and CODEOWNERS that apply to a pull request.
func (r *issues) ruledBy(p *pull) string {
	if k := r.stackOf(p.Number); k != nil {
		return k.base
	}
	return p.Base
}

// stackOf returns the JSON member "stack" of a pull request.
func (r *shapes) stackOf(p *pull) obj {
	k := r.repo.issues.stackOf(p.Number)
	if k == nil {
		return nil
	}
	return obj{"id": k.id, "number": k.number, "size": len(k.members), "position": slices.Index(k.members, p.Number) + 1,
		"base": obj{"ref": k.base, "sha": orZero(r.repo.store.readRef("refs/heads/" + k.base))}}
}

func (r *shapes) stackJSON(k *stack, full bool) obj {
	open, list := false, []obj{}
	for _, n := range k.members {
		p := r.repo.issues.mustPull(n)
		open = open || p.open()
		o := r.pullJSON(p)
		one := obj{"number": n, "state": o["state"], "draft": o["draft"], "merged_at": o["merged_at"], "head": obj{"ref": p.Branch, "sha": p.Head}}
		if full {
			repo := obj{"id": r.repo.id, "url": r.api(""), "name": r.repo.name}
			one["head"], one["base"] = obj{"ref": p.Branch, "sha": p.Head, "repo": repo}, obj{"ref": p.Base, "sha": o["base"].(obj)["sha"], "repo": repo}
			for _, name := range []string{"id", "url", "node_id", "title", "html_url", "user"} {
				one[name] = o[name]
			}
		}
		list = append(list, one)
	}
	return obj{"id": k.id, "number": k.number, "node_id": fmt.Sprintf("S_%d", k.id), "url": r.api("/stacks/%d", k.number),
		"base": obj{"ref": k.base}, "open": open, "created_at": stamp(k.created), "pull_requests": list}
}
