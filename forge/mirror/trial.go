package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
)

// TrialRefs is how many branches TrialPush pushes: one more than the larger of the
// usual limits.
const TrialRefs = 21

const trialPrefix = "submitqueue/"

// TrialPush finds out how many refs the remote takes in one push, which no interface tells. It
// pushes TrialRefs branches, named by prefix and a number, at a commit without files and with a
// message that starts no CI, and deletes them again. The prefix begins like the names of builds'
// branches (trialPrefix): nobody else has branches there. It returns 0 if the remote took all of
// them in one push, and otherwise how many it takes. An error says what the remote answered
// instead, or which branches could not be deleted.
func TrialPush(ctx context.Context, r forge.Remote, prefix string) (most int, err error) {
	if _, err := branchRef(prefix + "1"); err != nil || !strings.HasPrefix(prefix, trialPrefix) {
		return 0, fmt.Errorf("%q is no beginning of branches of our own", prefix)
	}
	dir, err := os.MkdirTemp("", "submitqueue-trial-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m := &repository{dir: dir}
	if _, err := m.git(ctx, "init", "--quiet", "--bare", dir); err != nil {
		return 0, err
	}
	tree, _, err := m.run(ctx, invocation{args: []string{"mktree"}})
	if err != nil {
		return 0, err
	}
	who := []string{"GIT_AUTHOR_NAME=submitqueue", "GIT_AUTHOR_EMAIL=submitqueue@localhost", "GIT_COMMITTER_NAME=submitqueue", "GIT_COMMITTER_EMAIL=submitqueue@localhost"}
	commit, _, err := m.run(ctx, invocation{args: []string{"commit-tree", "-m", "Trial of pushes by submitqueue doctor [skip ci]", strings.TrimSpace(string(tree))}, env: who})
	if err != nil {
		return 0, err
	}
	var refs []string
	for i := range TrialRefs {
		refs = append(refs, fmt.Sprintf("refs/heads/%s%d", prefix, i+1))
	}
	push := func(refs []string, object string) (string, error) {
		args := []string{"push", receivePack(r), "--quiet", "--no-verify", "--", r.URL}
		for _, ref := range refs {
			args = append(args, object+":"+ref)
		}
		_, stderr, err := m.run(ctx, invocation{args: args, header: r.Header, alone: true})
		failed := (*GitError)(nil)
		if errors.As(err, &failed) {
			return failed.Stderr, err
		}
		return string(stderr), err
	}
	said, pushed := push(refs, strings.TrimSpace(string(commit)))
	most, limited := limitIn(said, TrialRefs)
	switch {
	case pushed == nil:
		most = 0
	case !limited:
		err = fmt.Errorf("push %d branches %s…: %w", TrialRefs, prefix, remoteError(pushed))
	}
	there := refs // a refused push should be refused as a whole
	if pushed != nil {
		list, _, failed := m.run(ctx, invocation{args: []string{"ls-remote", "--", r.URL, "refs/heads/" + prefix + "*"}, header: r.Header, alone: true})
		if failed != nil {
			return most, errors.Join(err, fmt.Errorf("look for branches %s…: %w", prefix, remoteError(failed)))
		}
		there = nil
		for line := range strings.Lines(string(list)) {
			if _, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				there = append(there, ref)
			}
		}
	}
	for part := range slices.Chunk(there, cmp.Or(most, TrialRefs)) {
		if _, failed := push(part, ""); failed != nil {
			err = errors.Join(err, fmt.Errorf("take away the branches %s…: %w", prefix, remoteError(failed)))
		}
	}
	return most, err
}
