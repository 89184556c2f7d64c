package mirror_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A step's edits of the commit's own files are undone, and named; files that it has
// made beside them stay.
func TestRestorePutsBackTheCommitsFiles(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.commit("main", "1", files{".gitignore": "*.o\n", "+x run": "1", "@ link": "run", "d/a": "1", "d/b": "1", "same": "1", "kept": "1"})
	m := r.fetched()
	dir, outside := t.TempDir(), t.TempDir()
	release := must(m.Checkout(t.Context(), one, dir))(t)
	fresh := contents(t, dir)
	if changed, err := m.Worktrees.Restore(t.Context(), one, dir); err != nil || len(changed) > 0 {
		t.Fatalf("nothing was changed, but %q %v", changed, err)
	}
	script := `cd "$0" && touch same && chmod 644 run && rm link && mkdir link && echo new >link/x && rm -r d && ln -s "$1" d && printf 2 >kept && echo o >x.o`
	if out, err := exec.Command("sh", "-c", script, dir, outside).CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	changed, err := m.Worktrees.Restore(t.Context(), one, dir)
	slices.Sort(changed)
	if want := "d/a d/b kept link run"; err != nil || strings.Join(changed, " ") != want {
		t.Errorf("%q %v, want %s", changed, err, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "x.o")); err != nil || string(text) != "o\n" {
		t.Errorf("what was made beside the commit's files: %q %v", text, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("it wrote through a symbolic link: %v %v", entries, err)
	}
	if err := os.Remove(filepath.Join(dir, "x.o")); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir); got != fresh {
		t.Errorf("%s\nwant\n%s", got, fresh)
	}
	// A change that keeps size and time of modification is seen as well.
	script = `cd "$0" && touch -r kept ref && printf 3 >kept && touch -r ref kept && rm ref`
	if out, err := exec.Command("sh", "-c", script, dir).CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	if changed, err := m.Worktrees.Restore(t.Context(), one, dir); err != nil || !slices.Equal(changed, []string{"kept"}) {
		t.Errorf("%q %v", changed, err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
