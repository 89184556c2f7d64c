package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)
	out, err := git(t.Context(), dir, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

func mustWrite(t *testing.T, dir string, files Files) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mustRepository makes a repository with the files as its first commit on main.
func mustRepository(t *testing.T, files Files) (dir string) {
	t.Helper()
	dir = t.TempDir()
	mustGit(t, dir, "init", "--quiet", "--initial-branch=main")
	mustCommit(t, dir, "the beginning", files)
	return dir
}

func mustCommit(t *testing.T, dir, message string, files Files) string {
	t.Helper()
	mustWrite(t, dir, files)
	mustGit(t, dir, "add", "--all")
	mustGit(t, dir, "commit", "--quiet", "--allow-empty", "--message", message)
	return mustGit(t, dir, "rev-parse", "HEAD")
}

// mustBranch makes a branch on main with the files as its one commit, and
// leaves main checked out.
func mustBranch(t *testing.T, dir, branch, message string, files Files) string {
	t.Helper()
	mustGit(t, dir, "checkout", "--quiet", "-b", branch, "main")
	head := mustCommit(t, dir, message, files)
	mustGit(t, dir, "checkout", "--quiet", "main")
	return head
}

// mustMerge merges branches into what is checked out, one merge commit each.
func mustMerge(t *testing.T, dir string, branches ...string) {
	t.Helper()
	for _, b := range branches {
		mustGit(t, dir, "merge", "--quiet", "--no-ff", "--message", "merge "+b, b)
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", name, show(got), show(string(want)))
	}
}

func show(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		fmt.Fprintf(&b, "%q\n", line)
	}
	return b.String()
}
