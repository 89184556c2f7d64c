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
// push main, other branches, and our own branches.
type Remotes struct {
	repo    *repository
	objects *Objects
	history *History
	merges  *Merges
	names   *Refs
	pace    pace
	width   *width
	fetches chan struct{} // one fetch at a time

	mu        sync.Mutex
	exchanges map[string]*exchange // fetches of heads that can still be joined
	sources   map[string]*helper   // cat-file of repositories on this machine, by directory
}

// FetchBranch brings a branch and all that it reaches into the mirror and returns
// its tip. For a repository on this machine it costs one file read if the mirror
// has the tip already. ErrNotFound: there is no such branch.
func (m *Remotes) FetchBranch(ctx context.Context, r forge.Remote, branch string) (queue.CommitID, error) {
	ref, err := branchRef(branch)
	if err != nil {
		return "", err
	}
	if tip := localTip(r.URL, ref); tip != "" {
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

// TipAt asks the remote alone for the tip of a branch: the mirror's memory may be damaged.
// ErrNotFound: it has no such branch.
func (m *Remotes) TipAt(ctx context.Context, r forge.Remote, branch string) (queue.CommitID, error) {
	ref, err := branchRef(branch)
	if err != nil {
		return "", err
	}
	refs, err := m.list(ctx, r, ref)
	if err == nil && refs[ref] == "" {
		err = forge.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("asking for branch %s: %w", branch, err)
	}
	return refs[ref], nil
}

// ask runs a git command that changes nothing here, and returns what it printed and what
// the remote said.
func (m *Remotes) ask(ctx context.Context, r forge.Remote, args []string) (out, said string, err error) {
	if args[0] == "push" {
		m.pace.pushed()
	}
	stdout, stderr, err := m.repo.run(ctx, invocation{args: args, header: r.Header, alone: true})
	return string(stdout), string(stderr), err
}

// list asks the remote for the refs that match a pattern, by their full names.
func (m *Remotes) list(ctx context.Context, r forge.Remote, pattern string) (map[string]queue.CommitID, error) {
	if err := m.pace.read(ctx, r); err != nil {
		return nil, err
	}
	out, _, err := m.ask(ctx, r, []string{"ls-remote", "--", r.URL, pattern})
	if err != nil {
		return nil, remoteError(err)
	}
	refs := map[string]queue.CommitID{}
	for line := range strings.Lines(out) {
		if id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && isID(id) {
			refs[name] = queue.CommitID(id)
		}
	}
	return refs, nil
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

// fetchNow runs one git fetch. The refspecs go through standard input, where their
// number and first characters do not matter.
func (m *Remotes) fetchNow(ctx context.Context, r forge.Remote, refspecs []string) error {
	if err := m.pace.read(ctx, r); err != nil {
		return err
	}
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

// remoteError makes the failure of an exchange with a remote a *Transient: every
// failure may go away, even a refusal, because credentials are renewed.
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
	if strings.Contains(failed.Stderr, "repository corruption on the remote side") {
		return &forge.Transient{Err: fmt.Errorf("%w: %w", forge.ErrTorn, err)}
	}
	return &forge.Transient{Err: err}
}

// localDir returns the git directory of a repository on this machine, or "".
func localDir(url string) string {
	dir := strings.TrimPrefix(url, "file://")
	if !filepath.IsAbs(dir) {
		return ""
	}
	for _, d := range []string{filepath.Join(dir, ".git"), dir} {
		if _, err := os.Stat(filepath.Join(d, "objects")); err == nil {
			return d
		}
	}
	return ""
}

// localTip reads a ref of a repository on this machine. It is only a short cut: it
// returns "" whenever anything is unusual, and then git is asked.
func localTip(url, ref string) queue.CommitID {
	dir := localDir(url)
	if dir == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(ref)))
	if err != nil {
		if text, err = os.ReadFile(filepath.Join(dir, "packed-refs")); err != nil {
			return ""
		}
		at := bytes.Index(text, []byte(" "+ref+"\n"))
		if at < 40 {
			return ""
		}
		text = text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	}
	if id := strings.TrimSpace(string(text)); isID(id) {
		return queue.CommitID(id)
	}
	return ""
}

func (m *History) branch(name string) queue.CommitID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.branches[name]
}

// branchTips returns the names of the known branches, by their tips.
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
	if err := m.names.transact(ctx, transactWithin, []byte("update "+remoteRefs+name+"\x00"+string(tip)+"\x00\x00")); err != nil {
		return err
	}
	m.history.noteBranch(name, tip)
	return nil
}
