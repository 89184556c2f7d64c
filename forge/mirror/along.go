package mirror

import (
	"context"
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

// PushAlong moves main as Push does and, in one transaction, other branches: all
// of them or none. Each is expected to be where its From says; other branches than
// main may move to where they do not descend from. Errors and outcomes as in Push;
// Refused may be for one of the others, or because one of them is somewhere else by
// now, which Push tells.
func (m *Remotes) PushAlong(ctx context.Context, r forge.Remote, main Move, others []Move) (PushOutcome, error) {
	ref, err := branchRef(main.Branch)
	if err != nil {
		return PushOutcome{}, err
	}
	descends, err := m.history.IsAncestor(ctx, main.From, main.To)
	if err == nil && !descends {
		err = fmt.Errorf("%s does not descend from %s, and updates are never forced", main.To, main.From)
	}
	if err == nil {
		err = m.objects.Flush(ctx)
	}
	if err != nil {
		return PushOutcome{}, fmt.Errorf("pushing %s: %w", main.Branch, err)
	}
	options := []string{"--atomic", lease(ref, main.From)}
	specs := []string{string(main.To) + ":" + ref}
	for _, o := range others {
		other, err := branchRef(o.Branch)
		if err != nil || other == ref || !isID(string(o.From)) || !isID(string(o.To)) {
			return PushOutcome{Refused: fmt.Sprintf("%q is not a branch that could be moved", o.Branch)}, nil
		}
		options = append(options, lease(other, o.From))
		specs = append(specs, string(o.To)+":"+other)
	}
	out, stderr, err := m.push(ctx, r, options, specs...)
	outcome, answered := readPush(out, stderr, ref)
	switch {
	case answered && outcome.Moved && err != nil:
		return PushOutcome{Refused: "the branches did not move together"}, nil
	case answered && outcome.Moved:
		return outcome, m.setBranch(ctx, main.Branch, main.To)
	case answered && outcome.Lost:
		return m.settled(ctx, r, Move{Branch: ref, From: main.From, To: main.To}, outcome, stderr)
	case answered:
		return outcome, nil
	case err == nil:
		err = fmt.Errorf("unexpected answer %.200q", out)
	}
	for _, words := range []string{"atomic push fail", "does not support --atomic"} {
		if strings.Contains(out+stderr, words) {
			return PushOutcome{Refused: "one of the branches could not be moved"}, nil
		}
	}
	return unanswered(ctx, main.Branch, stderr, err)
}

// Delete deletes a branch at the remote that is where it is expected. One that is
// gone, or somewhere else, is left as it is. ErrForbidden where it is protected.
func (m *Remotes) Delete(ctx context.Context, r forge.Remote, branch string, expected queue.CommitID) error {
	ref, err := branchRef(branch)
	if err != nil || !isID(string(expected)) {
		return nil // the forge's name for a branch that we do not know
	}
	out, stderr, err := m.push(ctx, r, []string{lease(ref, expected)}, ":"+ref)
	if outcome, answered := readPush(out, stderr, ref); answered {
		if outcome.Refused != "" {
			return fmt.Errorf("deleting %s: %w: %s", branch, forge.ErrForbidden, outcome.Refused)
		}
		return nil
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("deleting %s: %w", branch, remoteError(err))
}
