package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// Remotes exchange commits with other repositories: they fetch branches and heads, and
// push main, branches beside it, and branches of our own.
type Remotes struct {
	repo    *repository
	objects *Objects
	history *History
	merges  *Merges
	names   *Refs
	fetches chan struct{} // one fetch at a time

	mu        sync.Mutex
	exchanges map[string]*exchange // fetches of heads that can still be joined
	sources   map[string]*helper   // cat-file of repositories on this machine, by directory
}

// FetchBranch brings a branch and all it reaches into the mirror and returns
// its tip. Of a repository on this machine it costs a file read when the mirror
// has the tip already. ErrNotFound: there is no such branch.
func (m *Remotes) FetchBranch(ctx context.Context, r forge.Remote, branch string) (queue.CommitID, error) {
	ref, err := branchRef(branch)
	if err != nil {
		return "", err
	}
	if tip, ok := localTip(r.URL, ref); ok {
		if m.history.branch(branch) == tip {
			return tip, nil
		}
		if found, err := m.objects.has(ctx, []queue.CommitID{tip}); err == nil && found[0] {
			return tip, m.setBranch(ctx, branch, tip)
		}
	}
	if err := m.fetch(ctx, r, []string{"+" + ref + ":" + remoteRefs + branch}); err != nil {
		return "", fmt.Errorf("fetching branch %s: %w", branch, err)
	}
	out, err := m.repo.git(ctx, "rev-parse", "--verify", "--quiet", remoteRefs+branch+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("fetching branch %s: %w", branch, err)
	}
	tip := queue.CommitID(strings.TrimSpace(string(out)))
	m.history.noteBranch(branch, tip)
	return tip, nil
}

// TipAt asks the remote where a branch is, and nobody else: what a mirror remembers may be
// damaged. ErrNotFound: it has no such branch.
func (m *Remotes) TipAt(ctx context.Context, r forge.Remote, branch string) (queue.CommitID, error) {
	ref, err := branchRef(branch)
	if err != nil {
		return "", err
	}
	out, _, err := m.repo.run(ctx, invocation{args: []string{"ls-remote", "--", r.URL, ref}, header: r.Header, alone: true})
	if err != nil {
		return "", fmt.Errorf("asking for branch %s: %w", branch, remoteError(err))
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		if id, name, _ := strings.Cut(line, "\t"); name == ref && isID(id) {
			return queue.CommitID(id), nil
		}
	}
	return "", fmt.Errorf("asking for branch %s: %w", branch, forge.ErrNotFound)
}

// missingRef says that the remote has no such ref.
type missingRef struct{ ref string }

func (e *missingRef) Error() string {
	return forge.ErrNotFound.Error() + ": " + e.ref + " at the remote"
}
func (e *missingRef) Unwrap() error { return forge.ErrNotFound }

var missingRefLine = regexp.MustCompile(`(?m)^fatal: couldn't find remote ref (.+)$`)

// fetch runs one git fetch when no other runs.
func (m *Remotes) fetch(ctx context.Context, r forge.Remote, refspecs []string) error {
	select {
	case m.fetches <- struct{}{}:
		defer func() { <-m.fetches }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return m.fetchNow(ctx, r, refspecs)
}

// fetchNow runs one git fetch. The refspecs go through standard input, where
// neither their number nor how they begin matters.
func (m *Remotes) fetchNow(ctx context.Context, r forge.Remote, refspecs []string) error {
	_, stderr, err := m.repo.run(ctx, invocation{
		args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
			"--no-recurse-submodules", "--no-show-forced-updates", "--stdin", "--", r.URL},
		stdin:  []byte(strings.Join(refspecs, "\n") + "\n"),
		header: r.Header,
	})
	if err == nil {
		m.objects.wrote(1, 0)
		return nil
	}
	if found := missingRefLine.FindSubmatch(stderr); found != nil {
		return &missingRef{string(found[1])}
	}
	return remoteError(err)
}

// remoteError says whether it may go away by itself what ended an exchange
// with a remote: all may, even a refusal, because credentials are renewed.
func remoteError(err error) error {
	var failed *GitError
	if !errors.As(err, &failed) {
		return err
	}
	for _, words := range []string{
		"Authentication failed", "could not read Username", "Permission denied", "error: 401", "error: 403",
	} {
		if strings.Contains(failed.Stderr, words) {
			return &forge.Transient{Err: fmt.Errorf("%w: %w", forge.ErrForbidden, err)}
		}
	}
	return &forge.Transient{Err: err}
}

// localTip reads a branch of a repository on this machine. It is only ever a
// short cut: false whenever anything is unusual, and git is asked.
func localTip(url, ref string) (queue.CommitID, bool) {
	dir := strings.TrimPrefix(url, "file://")
	if !filepath.IsAbs(dir) {
		return "", false
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "HEAD")); err == nil {
		dir = filepath.Join(dir, ".git")
	}
	if _, err := os.Stat(filepath.Join(dir, "objects")); err != nil {
		return "", false
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(ref)))
	if err == nil {
		id := strings.TrimSpace(string(text))
		return queue.CommitID(id), isID(id)
	}
	packed, err := os.ReadFile(filepath.Join(dir, "packed-refs"))
	if err != nil {
		return "", false
	}
	at := bytes.Index(packed, []byte(" "+ref+"\n"))
	if at < 40 {
		return "", false
	}
	start := bytes.LastIndexByte(packed[:at], '\n') + 1
	id := string(packed[start:at])
	return queue.CommitID(id), isID(id)
}

func (m *History) branch(name string) queue.CommitID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.branches[name]
}

// branchTips returns the branches that are known, by where they are.
func (m *History) branchTips() map[queue.CommitID]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	tips := make(map[queue.CommitID]string, len(m.branches))
	for name, tip := range m.branches {
		tips[tip] = name
	}
	return tips
}

func (m *History) noteBranch(name string, tip queue.CommitID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.branches[name] = tip
}

func (m *Remotes) setBranch(ctx context.Context, name string, tip queue.CommitID) error {
	if err := m.names.transact(ctx, []byte("update "+remoteRefs+name+"\x00"+string(tip)+"\x00\x00")); err != nil {
		return err
	}
	m.history.noteBranch(name, tip)
	return nil
}
