package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// PushOutcome is the outcome of a push that the remote has answered: exactly one of
// three.
type PushOutcome struct {
	Moved   bool   // the branch is at the commit that was pushed
	Lost    bool   // the branch is not where it was expected: somebody else moved it
	Refused string // why the remote refused the push, in its words: hostile text; queue.RefusalOf tells whether that is a rule; it is never RefusalTrouble
}

// Push moves a branch at the remote from expected to next, which must descend
// from it: an update is never forced. A push that is repeated after an unknown end is Moved if
// the first one had arrived. Errors: *Transient when it is not known whether the branch moved,
// the remote could not be asked, or it has trouble itself (queue.RefusalTrouble); fetch, then
// push again. Any other error is a mistake of the caller.
func (m *Remotes) Push(ctx context.Context, r forge.Remote, branch string, expected, next queue.CommitID) (PushOutcome, error) {
	ref, err := branchRef(branch)
	if err != nil {
		return PushOutcome{}, err
	}
	descends, err := m.history.IsAncestor(ctx, expected, next)
	if err != nil {
		return PushOutcome{}, fmt.Errorf("pushing %s: %w", branch, err)
	}
	if !descends {
		return PushOutcome{}, fmt.Errorf("pushing %s: %s does not descend from %s, and updates are never forced", branch, next, expected)
	}
	if err := m.objects.Flush(ctx); err != nil {
		return PushOutcome{}, fmt.Errorf("pushing %s: %w", branch, err)
	}
	out, stderr, err := m.ask(ctx, r, []string{"push", receivePack(r), "--porcelain", "--no-verify", "--no-recurse-submodules",
		lease(ref, expected), "--", r.URL, string(next) + ":" + ref})
	outcome, answered := readPush(out, stderr, ref)
	switch {
	case answered && outcome.Moved:
		return outcome, m.setBranch(ctx, branch, next)
	case answered:
		return m.settled(ctx, r, Move{Branch: ref, From: expected, To: next}, outcome, stderr)
	case err == nil:
		err = fmt.Errorf("unexpected answer %.200q", out)
	}
	return unanswered(ctx, branch, stderr, err)
}

// lease returns the option by which a push moves a ref only if it is at its
// expected commit.
func lease(ref string, expected queue.CommitID) string {
	return "--force-with-lease=" + ref + ":" + string(expected)
}

// documentRefs is the prefix of the refs of a Store's documents.
const documentRefs = "refs/submitqueue/"

// receivePack names the program at the other end. A repository on this machine is not
// packed after each push: its server does that (Store.Tidy), and once it has many
// unreachable objects, git would repack it every time, in vain. The documents of a Store
// are not read for each push either: a push cannot use them as history, and there is one
// for each change that ever landed.
func receivePack(r forge.Remote) string {
	if filepath.IsAbs(strings.TrimPrefix(r.URL, "file://")) {
		return "--receive-pack=git -c receive.autogc=false -c receive.hideRefs=" + documentRefs + " receive-pack"
	}
	return "--receive-pack=git-receive-pack"
}

// unanswered returns the outcome of a push for which the remote gave no answer about
// the branch.
func unanswered(ctx context.Context, branch, stderr string, err error) (PushOutcome, error) {
	if words := remoteWords(stderr); words != "" && queue.RefusalOf(words) == queue.RefusalBranch {
		return PushOutcome{Refused: words}, nil
	}
	err = remoteError(err)
	var transient *forge.Transient
	if ctx.Err() == nil && !errors.As(err, &transient) {
		err = &forge.Transient{Err: err}
	}
	return PushOutcome{}, fmt.Errorf("pushing %s: %w", branch, err)
}

// readPush reads the line that `push --porcelain` has for the ref:
// "<flag> TAB <from>:<to> TAB <summary> (<reason>)".
func readPush(stdout, stderr, ref string) (PushOutcome, bool) {
	for line := range strings.SplitSeq(stdout, "\n") {
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 || !strings.HasSuffix(fields[1], ":"+ref) {
			continue
		}
		if fields[0] != "!" {
			return PushOutcome{Moved: true}, true
		}
		summary := fields[2]
		if raced(summary) {
			return PushOutcome{Lost: true}, true
		}
		if !strings.HasPrefix(summary, "[remote rejected]") {
			return PushOutcome{}, false
		}
		reason := strings.Trim(strings.TrimSpace(strings.TrimPrefix(summary, "[remote rejected]")), "()")
		if words := remoteWords(stderr); words != "" {
			reason = strings.TrimSpace(words + "\n" + reason)
		}
		if queue.RefusalOf(reason) == queue.RefusalTrouble {
			return PushOutcome{}, false
		}
		if reason == "" {
			reason = "the remote gave no reason"
		}
		return PushOutcome{Refused: reason}, true
	}
	return PushOutcome{}, false
}

// raced reports whether a ref was refused because of where it is.
func raced(summary string) bool {
	return slices.ContainsFunc([]string{
		"stale info", "fetch first", "non-fast-forward", "needs force", "cannot lock ref", "failed to update ref",
		"incorrect old value", "failed to lock", "reference already exists",
	}, func(words string) bool { return strings.Contains(summary, words) })
}

// remoteWords returns what the remote said to people.
func remoteWords(stderr string) string {
	var words []string
	for line := range strings.SplitSeq(stderr, "\n") {
		if rest, ok := strings.CutPrefix(line, "remote:"); ok {
			if rest = strings.TrimSpace(rest); rest != "" {
				words = append(words, rest)
			}
		}
	}
	return strings.Join(words, "\n")
}

// settled looks where the branch, by its full name, is after a push that did not move it.
// Words such as "cannot lock ref" may mean a race, a full disk or the lock of a process
// that was killed; the place of the branch tells. If it is still at its expected commit,
// nobody else has moved it, and the same push may go through later: a *Transient.
func (m *Remotes) settled(ctx context.Context, r forge.Remote, move Move, outcome PushOutcome, stderr string) (PushOutcome, error) {
	if !outcome.Lost {
		return outcome, nil
	}
	refs, err := m.list(ctx, r, move.Branch)
	if err != nil {
		return PushOutcome{}, fmt.Errorf("pushing %s: %w", move.Branch, err)
	}
	switch refs[move.Branch] {
	case move.To:
		return PushOutcome{Moved: true}, nil
	case move.From:
		why := cmp.Or(remoteWords(stderr), "it gave no reason")
		if lock := takeStaleLock(r, move.Branch, stderr); lock != "" {
			why += "; nobody held " + lock + " any more, and it has been removed"
		}
		return PushOutcome{}, fmt.Errorf("pushing %s: %w", move.Branch, &forge.Transient{Err: fmt.Errorf("the remote did not move it from %s: %s", move.From, why)})
	}
	return outcome, nil
}
