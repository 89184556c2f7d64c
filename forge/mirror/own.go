package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// RefMove is one of our own branches that is to point at a commit, wherever it
// pointed before; without a commit it is to be deleted.
type RefMove struct {
	Branch string
	Commit queue.CommitID
	Quiet  bool // no CI is to test it
}

// OwnRefs are branches that only the queue writes, at the repository of a forge.
type OwnRefs struct {
	Mirror *Mirror
	Forge  forge.Forge
}

// Push moves branches in this order, as far as the remote keeps it, and returns an error
// for each that did not move. It uses one push, or as few as the remote takes. Where the
// host tests only so many refs of one push (forge.Remote.Refs), it uses enough pushes
// that every ref that is not Quiet is tested; the Quiet ones go first then. fresh tells
// which branches were not yet as they should be. It is no error if a branch to delete is
// gone. The last error is about all of them: *Transient as in Remotes.Push.
func (o OwnRefs) Push(ctx context.Context, moves []RefMove) (fresh []bool, each []error, err error) {
	r, err := o.Forge.Remote(ctx)
	if err != nil {
		return nil, nil, err
	}
	var commits []queue.CommitID
	for _, move := range moves {
		if move.Commit != "" {
			commits = append(commits, move.Commit)
		}
	}
	o.Mirror.Remotes.pace.ours()
	err = o.Mirror.mending(ctx, func() error {
		fresh, each, err = o.Mirror.Remotes.stageParts(ctx, r, moves)
		return err
	}, commits...)
	return fresh, each, err
}

// Wait returns how long a push of our own refs must wait, so that the host is used no
// more often than it wants (forge.Pace); refs that wait meanwhile go in one push.
// idle: nobody waits for these refs.
func (o OwnRefs) Wait(ctx context.Context, idle bool) time.Duration {
	r, err := o.Forge.Remote(ctx)
	if err != nil {
		return 0 // Push says so
	}
	return o.Mirror.Remotes.pace.wait(r.Pace, idle)
}

// List returns the branches under a prefix, which ends with a slash.
func (o OwnRefs) List(ctx context.Context, prefix string) (map[string]queue.CommitID, error) {
	if _, err := branchRef(strings.TrimSuffix(prefix, "/")); err != nil || !strings.HasSuffix(prefix, "/") {
		return nil, fmt.Errorf("%q is not the beginning of names of branches", prefix)
	}
	r, err := o.Forge.Remote(ctx)
	if err != nil {
		return nil, err
	}
	refs, err := o.Mirror.Remotes.list(ctx, r, "refs/heads/"+prefix+"*")
	if err != nil {
		return nil, fmt.Errorf("listing %s*: %w", prefix, err)
	}
	found := map[string]queue.CommitID{}
	for ref, id := range refs {
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok && strings.HasPrefix(branch, prefix) {
			found[branch] = id
		}
	}
	return found, nil
}

// File makes a commit without parents that holds one file.
func (o OwnRefs) File(_ context.Context, name string, data []byte) (queue.CommitID, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("%q is not the name of a file", name)
	}
	m := o.Mirror
	tree, err := m.Objects.makeTree([]treeEntry{{"100644", name, m.Objects.fresh.add("blob", data)}})
	if err != nil {
		return "", err
	}
	return m.Merges.add(m.Merges.body(commitInfo{tree: queue.TreeID(tree), date: 1, message: "Targets of a build\n"})), nil
}

// Read returns the content of a file of a commit; hostile text. Nil: there is no
// such file.
func (o OwnRefs) Read(ctx context.Context, commit queue.CommitID, path string) ([]byte, error) {
	tree, err := o.Mirror.Objects.Tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	file, found, err := tree.Find(ctx, path)
	if err != nil || !found {
		return nil, err
	}
	return tree.Blob(ctx, file.OID)
}

// Message returns the message of a commit; hostile text.
func (o OwnRefs) Message(ctx context.Context, commit queue.CommitID) (string, error) {
	info, err := o.Mirror.Objects.info(ctx, commit)
	return info.message, err
}

// stageParts moves refs by as few pushes as possible, so that the remote takes each and
// its host tests the refs.
func (m *Remotes) stageParts(ctx context.Context, r forge.Remote, moves []RefMove) (fresh []bool, each []error, err error) {
	if r.Refs == 0 {
		return m.stageAs(ctx, r, moves, len(moves))
	}
	var quiet, tested []int
	for i, move := range moves {
		if move.Quiet || move.Commit == "" {
			quiet = append(quiet, i)
		} else {
			tested = append(tested, i)
		}
	}
	fresh, each = make([]bool, len(moves)), make([]error, len(moves))
	for i, at := range [][]int{quiet, tested} {
		var part []RefMove
		for _, k := range at {
			part = append(part, moves[k])
		}
		most := len(part)
		if i == 1 {
			most = r.Refs
		}
		news, errs, err := m.stageAs(ctx, r, part, most)
		if err != nil && (i == 0 || len(quiet) == 0) {
			return nil, nil, err
		}
		for j, k := range at {
			if err != nil { // the results of earlier pushes are known
				each[k] = err
			} else {
				fresh[k], each[k] = news[j], errs[j]
			}
		}
	}
	return fresh, each, nil
}

// stageAs moves refs by as few pushes as the remote takes, each of at most so many
// refs.
func (m *Remotes) stageAs(ctx context.Context, r forge.Remote, moves []RefMove, most int) (fresh []bool, each []error, err error) {
	for len(fresh) < len(moves) {
		part := moves[len(fresh):]
		part = part[:m.width.fits(min(len(part), most))]
		news, errs, narrower, err := m.stageAll(ctx, r, part)
		switch {
		case narrower:
			continue
		case err != nil && len(fresh) == 0:
			return nil, nil, err
		case err != nil: // the results of earlier pushes are known
			news, errs = make([]bool, len(part)), slices.Repeat([]error{err}, len(part))
		}
		fresh, each = append(fresh, news...), append(each, errs...)
	}
	return fresh, each, nil
}

// stageAll moves refs by one push. narrower: the remote takes fewer refs at a time, no
// ref has moved, and the width of pushes is reduced to the remote's limit.
func (m *Remotes) stageAll(ctx context.Context, r forge.Remote, moves []RefMove) (fresh []bool, each []error, narrower bool, err error) {
	var specs []string
	quiet := true
	fresh, each = make([]bool, len(moves)), make([]error, len(moves))
	for i, move := range moves {
		ref, err := branchRef(move.Branch)
		switch {
		case err != nil:
			each[i] = err
		case move.Commit == "":
			specs = append(specs, ":"+ref)
		case !isID(string(move.Commit)):
			each[i] = fmt.Errorf("%q is not a commit id", move.Commit)
		default:
			specs = append(specs, "+"+string(move.Commit)+":"+ref)
			quiet = quiet && move.Quiet
		}
	}
	if len(specs) == 0 {
		return fresh, each, false, nil
	}
	if err := m.objects.Flush(ctx); err != nil {
		return nil, nil, false, err
	}
	args := []string{"push", receivePack(r), "--porcelain", "--no-verify", "--no-recurse-submodules"}
	if quiet { // the options are of the whole push
		for _, option := range r.Quiet {
			args = append(args, "--push-option="+option)
		}
	}
	stdout, stderr, err := m.ask(ctx, r, append(append(args, "--", r.URL), specs...))
	told := map[string][2]string{} // flag and summary by ref
	for line := range strings.SplitSeq(stdout, "\n") {
		if f := strings.SplitN(line, "\t", 3); len(f) == 3 {
			_, ref, _ := strings.Cut(f[1], ":")
			told[ref] = [2]string{f[0], f[2]}
		}
	}
	if err != nil && m.width.learn(stderr, len(specs)) {
		return nil, nil, true, nil
	}
	if len(told) == 0 {
		if err == nil {
			err = fmt.Errorf("unexpected answer %.200q", stdout)
		}
		if words := remoteWords(stderr); words != "" && queue.RefusalOf(words) == queue.RefusalBranch {
			return nil, nil, false, fmt.Errorf("pushing branches of our own: %w: %s", forge.ErrForbidden, words)
		}
		err = remoteError(err)
		var transient *forge.Transient
		if ctx.Err() == nil && !errors.As(err, &transient) {
			err = &forge.Transient{Err: err}
		}
		return nil, nil, false, fmt.Errorf("pushing branches of our own: %w", err)
	}
	for i, move := range moves {
		if each[i] != nil {
			continue
		}
		t, ok := told["refs/heads/"+move.Branch]
		switch {
		case !ok:
			each[i] = &forge.Transient{Err: fmt.Errorf("pushing %s: the remote said nothing of it", move.Branch)}
		case t[0] != "!":
			fresh[i] = t[0] != "="
		case move.Commit == "" && strings.Contains(t[1], "does not exist"):
		default:
			each[i] = fmt.Errorf("pushing %s: %w", move.Branch, refusedRef(t[1], stderr))
		}
	}
	return fresh, each, false, nil
}

// refusedRef tells a refusal that may go away without our doing from one that follows
// from a rule of the remote.
func refusedRef(summary, stderr string) error {
	said := strings.TrimSpace(summary + "\n" + remoteWords(stderr))
	if strings.HasPrefix(summary, "[remote rejected]") {
		reason := strings.Trim(strings.TrimSpace(strings.TrimPrefix(summary, "[remote rejected]")), "()")
		if !raced(reason) && queue.RefusalOf(reason+"\n"+remoteWords(stderr)).Rule() {
			return fmt.Errorf("%w: %s", forge.ErrForbidden, said)
		}
	}
	return &forge.Transient{Err: errors.New(said)}
}
