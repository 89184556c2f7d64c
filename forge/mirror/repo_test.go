package mirror_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// repo is a real repository that stands for the one at a forge.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t, filepath.Join(t.TempDir(), "remote.git")}
	r.run("", "init", "--quiet", "--bare", "--initial-branch=main", r.dir)
	return r
}

func (r *repo) remote() forge.Remote { return forge.Remote{URL: r.dir} }

func (r *repo) run(stdin string, args ...string) string {
	r.t.Helper()
	return r.runIn(nil, stdin, args...)
}

// runIn is run with more in the environment.
func (r *repo) runIn(env []string, stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(append(os.Environ(), env...), "GIT_DIR="+r.dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@x")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// files maps paths to contents; a path with content "-" is removed. A path
// that begins with "+x " is executable, "@ " a symbolic link.
type files map[string]string

// commit makes a commit on a branch, which is created from parents[0]; without
// parents it goes on from the branch's tip, if there is one.
func (r *repo) commit(branch, message string, change files, parents ...queue.CommitID) queue.CommitID {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter A <a@x> 1700000000 +0000\ndata %d\n%s\n", branch, len(message), message)
	tip := exec.Command("git", "--git-dir="+r.dir, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if len(parents) > 0 {
		fmt.Fprintf(&b, "from %s\n", parents[0])
		for _, p := range parents[1:] {
			fmt.Fprintf(&b, "merge %s\n", p)
		}
	} else if out, err := tip.Output(); err == nil {
		fmt.Fprintf(&b, "from %s\n", strings.TrimSpace(string(out)))
	}
	for path, content := range change {
		mode := "100644"
		if rest, ok := strings.CutPrefix(path, "+x "); ok {
			path, mode = rest, "100755"
		}
		if rest, ok := strings.CutPrefix(path, "@ "); ok {
			path, mode = rest, "120000"
		}
		if content == "-" {
			fmt.Fprintf(&b, "D %s\n", path)
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, path, len(content), content)
	}
	r.run(b.String(), "fast-import", "--quiet", "--force")
	return r.tip(branch)
}

func (r *repo) tip(branch string) queue.CommitID {
	r.t.Helper()
	return queue.CommitID(r.run("", "rev-parse", "--verify", "refs/heads/"+branch))
}

func (r *repo) point(branch string, to queue.CommitID) {
	r.t.Helper()
	r.run("", "update-ref", "refs/heads/"+branch, string(to))
}

func openMirror(t testing.TB) *mirror.Mirror {
	t.Helper()
	m, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "mirror.git"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// flush lets other processes see what the mirror has made.
func flush(t testing.TB, m *mirror.Mirror) {
	t.Helper()
	if err := m.Objects.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// fetched is a mirror with main and the given branches of the repository.
func (r *repo) fetched(branches ...string) *mirror.Mirror {
	r.t.Helper()
	m := openMirror(r.t)
	r.fetch(m, append([]string{"main"}, branches...)...)
	return m
}

func (r *repo) fetch(m *mirror.Mirror, branches ...string) {
	r.t.Helper()
	for _, b := range branches {
		if _, err := m.Remotes.FetchBranch(r.t.Context(), r.remote(), b); err != nil {
			r.t.Fatal(err)
		}
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func lines(n int, changed map[int]string) string {
	var b strings.Builder
	for i := range n {
		if s, ok := changed[i]; ok {
			b.WriteString(s + "\n")
		} else {
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	return b.String()
}
