package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The mirror throws away what nobody has needed for days, and a quiet weekend may
// leave the latest judged tree among it. It is near nothing then, and no reason to
// fail.
func TestWhatIsRememberedIsGone(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, config.Path), []byte("version: 1\nsteps:\n  - {name: test, run: make}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("add", ".")
	run("commit", "-qm", "one")
	m, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "mirror"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tip, err := m.Remotes.FetchBranch(t.Context(), forge.Remote{URL: dir}, "main")
	if err != nil {
		t.Fatal(err)
	}
	j := newJudge(m, func(config.Analysis) (conflict.Analyzer, error) { return nil, nil })
	old := queue.TreeID(strings.Repeat("ab", 20))
	snap, err := j.commit(t.Context(), tip, inForce{tip: tip}, "")
	if err != nil {
		t.Fatal(err)
	}
	clear(j.byTree)
	j.order, j.size = nil, 0
	j.keep(treeBy{tree: old}, snap)
	if _, err := j.commit(t.Context(), tip, inForce{tip: tip}, ""); err != nil {
		t.Errorf("judged beside a tree that is gone: %v", err)
	}
}
