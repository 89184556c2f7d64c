package mirror_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// A path that git checks out nowhere is told apart from what may go away by itself, in a
// directory that was used before as well.
func TestCheckoutOfOddPaths(t *testing.T) {
	t.Parallel()
	m := must(mirror.Open(t.Context(), filepath.Join(t.TempDir(), "mirror")))(t)
	defer m.Close()
	in := func(stdin string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", m.Dir(), "-c", "user.name=a", "-c", "user.email=a@x"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	blob := "100644 blob " + in("x\n", "hash-object", "-w", "--stdin") + "\t"
	commit := func(tree string) queue.CommitID {
		return queue.CommitID(in("", "commit-tree", "-m", "x", in(tree, "mktree")))
	}
	good, odd := commit(blob+"a\n"), commit("040000 tree "+in(blob+"config\n", "mktree")+"\t.git\n")
	dir := filepath.Join(t.TempDir(), "checkout")
	for range 2 {
		_, err := m.Checkout(t.Context(), odd, dir)
		var own *mirror.ContentError
		if !errors.As(err, &own) || own.Path != ".git/config" || !strings.Contains(own.Content(), `".git/config"`) {
			t.Fatalf("%v", err)
		}
		release := must(m.Checkout(t.Context(), good, dir))(t)
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Checkout(t.Context(), queue.CommitID(strings.Repeat("1", 40)), dir); err == nil || errors.As(err, new(*mirror.ContentError)) {
		t.Errorf("a commit that is not there: %v", err)
	}
}
