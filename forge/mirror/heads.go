package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// Move is a branch that is asked to move.
type Move struct {
	Branch string // hostile text
	From   queue.CommitID
	To     queue.CommitID
}

// PushHeads moves branches other than main. Each moves separately, and only from its
// expected commit; the new commit need not descend from it. The outcomes are in the
// order of the moves. A branch that is at To already counts as moved. Lost is a branch
// that is gone or somewhere else. Refused is a branch that the remote does not let us
// move, even in a push of this branch alone. Errors: *Transient when it is not known
// which branches moved; push again.
func (m *Remotes) PushHeads(ctx context.Context, r forge.Remote, main string, moves []Move) ([]PushOutcome, error) {
	out := make([]PushOutcome, len(moves))
	var all []int
	for i, o := range moves {
		if _, err := branchRef(o.Branch); err != nil || o.Branch == main || !isID(string(o.From)) || !isID(string(o.To)) {
			out[i].Refused = fmt.Sprintf("%q is not a branch that could be moved", o.Branch)
			continue
		}
		all = append(all, i)
	}
	if len(all) == 0 {
		return out, nil
	}
	if err := m.objects.Flush(ctx); err != nil {
		return nil, fmt.Errorf("pushing branches: %w", err)
	}
	if err := m.pushEach(ctx, r, moves, all, out); err != nil || len(all) == 1 {
		return out, err
	}
	for _, i := range all { // a rule on one of them, or on their number, makes the remote refuse them all
		if out[i].Refused != "" {
			if err := m.pushEach(ctx, r, moves, []int{i}, out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// pushEach pushes some of the moves in one push and writes down the outcome of
// each.
func (m *Remotes) pushEach(ctx context.Context, r forge.Remote, moves []Move, which []int, out []PushOutcome) error {
	args := []string{"push", receivePack(r), "--porcelain", "--no-verify", "--no-recurse-submodules"}
	var specs []string
	for _, i := range which {
		ref := "refs/heads/" + moves[i].Branch
		args = append(args, lease(ref, moves[i].From))
		specs = append(specs, string(moves[i].To)+":"+ref)
	}
	said, stderr, err := m.ask(ctx, r, append(append(args, "--", r.URL), specs...))
	for _, i := range which {
		move := moves[i]
		move.Branch = "refs/heads/" + move.Branch
		one, answered := readPush(said, stderr, move.Branch)
		if !answered {
			why := err
			if why == nil {
				why = fmt.Errorf("unexpected answer %.200q", said)
			}
			if one, why = unanswered(ctx, moves[i].Branch, stderr, why); why != nil {
				return why
			}
		}
		settled, err := m.settled(ctx, r, move, one, stderr)
		if err != nil {
			return err
		}
		out[i] = settled
	}
	return nil
}

// FetchCommit brings a commit into the mirror, unless it is there already. No ref need lead
// to the commit any more. ErrNotFound: the remote does not have it, or, unlike GitHub, gives
// out only commits that a ref leads to.
func (m *Remotes) FetchCommit(ctx context.Context, r forge.Remote, id queue.CommitID) error {
	found, err := m.objects.has(ctx, []queue.CommitID{id})
	if err != nil || found[0] {
		return err
	}
	if !isID(string(id)) {
		return fmt.Errorf("%w: %q is no commit", forge.ErrNotFound, id)
	}
	err = m.fetch(ctx, r, []string{string(id)})
	if failed := (*GitError)(nil); errors.As(err, &failed) && strings.Contains(failed.Stderr, "not our ref") {
		return fmt.Errorf("%w: %s at the remote", forge.ErrNotFound, id)
	}
	return err
}

// Delete deletes a branch at the remote if it is at the expected commit. A branch
// that is gone, or at another commit, is left as it is. ErrForbidden where the
// branch is protected. *Transient where it is at that commit still.
func (m *Remotes) Delete(ctx context.Context, r forge.Remote, branch string, expected queue.CommitID) error {
	ref, err := branchRef(branch)
	if err != nil || !isID(string(expected)) {
		return nil // the forge's name for a branch that we do not know
	}
	out, stderr, err := m.ask(ctx, r, []string{"push", receivePack(r), "--porcelain", "--no-verify", "--no-recurse-submodules",
		lease(ref, expected), "--", r.URL, ":" + ref})
	if outcome, answered := readPush(out, stderr, ref); answered {
		if outcome.Refused != "" {
			return fmt.Errorf("deleting %s: %w: %s", branch, forge.ErrForbidden, outcome.Refused)
		}
		// Lost may also mean that the branch could not be locked, and is there still.
		_, err := m.settled(ctx, r, Move{Branch: ref, From: expected}, outcome, stderr)
		return err
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("deleting %s: %w", branch, remoteError(err))
}
