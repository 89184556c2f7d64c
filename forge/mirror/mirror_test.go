package mirror_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

func TestReopenRemovesWhatADeadOwnerLeft(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	dir := filepath.Join(t.TempDir(), "m.git")
	m := must(mirror.Open(t.Context(), dir))(t)
	r.fetch(m, "main")
	if _, err := mirror.Open(t.Context(), dir); !errors.Is(err, mirror.ErrBusy) {
		t.Errorf("opened twice: %v", err)
	}
	m.Close()
	left := []string{
		"refs/submitqueue/remote/main.lock", "packed-refs.lock", "HEAD.lock", "refs/submitqueue/keep/" + string(base) + ".lock",
		"objects/pack/tmp_pack_x", "objects/pack/pack-x.pack", "objects/ab/" + strings.Repeat("c", 38),
	}
	for _, name := range left {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	m = must(mirror.Open(t.Context(), dir))(t)
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	defer m.Close()
	next := r.commit("main", "next", files{"f": "2"})
	if got := must(m.Remotes.FetchBranch(t.Context(), r.remote(), "main"))(t); got != next {
		t.Error(got)
	}
	if err := m.Refs.Keep(t.Context(), []queue.CommitID{base}); err != nil {
		t.Error(err)
	}
	(&repo{t, dir}).run("", "fsck")
}

func TestMaintainKeepsWhatIsKept(t *testing.T) {
	t.Parallel()
	_, m, base, a, b, _ := world(t)
	rs := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, a), pick(base, b)}))(t)
	if err := m.Refs.Keep(t.Context(), []queue.CommitID{rs[0].Commit, rs[0].Commit}); err != nil {
		t.Fatal(err)
	}
	flush(t, m)
	old := exec.Command("find", filepath.Join(m.Dir(), "objects"), "-type", "f", "-exec", "touch", "-d", "2020-01-01", "{}", "+")
	if out, err := old.CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	m.LooseLimit = 0
	if err := m.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	has := func(id queue.CommitID) bool {
		return exec.Command("git", "--git-dir="+m.Dir(), "cat-file", "-e", string(id)).Run() == nil
	}
	if !has(rs[0].Commit) || has(rs[1].Commit) {
		t.Errorf("kept: %v, not kept: %v", has(rs[0].Commit), has(rs[1].Commit))
	}
	again := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, a), pick(base, b)}))(t)
	flush(t, m)
	if fmt.Sprint(again) != fmt.Sprint(rs) || !has(rs[1].Commit) {
		t.Errorf("%+v, before %+v", again, rs)
	}
	for range 2 {
		if err := m.Refs.Release(t.Context(), []queue.CommitID{rs[0].Commit}); err != nil {
			t.Error(err)
		}
	}
	m.LooseLimit = 1_000_000
	if err := m.Maintain(t.Context()); err != nil || !has(rs[0].Commit) {
		t.Errorf("Maintain worked below its limit: %v", err)
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	var s strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&s, "%s %s", info.Mode().String()[:4], name)
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			s.WriteString(" -> " + to)
		case !d.IsDir():
			data, _ := os.ReadFile(path)
			fmt.Fprintf(&s, " %q", data)
		}
		s.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func TestCheckoutLeavesNothingStale(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.commit("main", "1", files{".gitignore": "*.o\n", "+x run": "1", "@ link": "run", "d/a": "1", "d/b": "1", "gone/x": "1"})
	two := r.commit("main", "2", files{"run": "2", "gone/x": "-", "d/a": "-", "d": "now a file", "link": "-"})
	m := r.fetched()
	check := func(commit queue.CommitID, dir string) string {
		t.Helper()
		release := must(m.Checkout(t.Context(), commit, dir))(t)
		if _, err := m.Checkout(t.Context(), commit, dir); err == nil {
			t.Error("a directory in use was given out")
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		return contents(t, dir)
	}
	fresh := map[queue.CommitID]string{one: check(one, t.TempDir()), two: check(two, t.TempDir())}
	if !strings.Contains(fresh[one], "-rwx run \"1\"") || !strings.Contains(fresh[one], "L") || !strings.Contains(fresh[one], "link -> run") {
		t.Fatal(fresh[one])
	}
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	mess := func() {
		script := `cd "$0" && rm -rf d link && echo o >x.o && echo changed >.gitignore && chmod 644 run && mkdir -p deep/er .git2 && echo y >deep/er/y &&
			git init -q nested && mkdir -p "$1" && ln -s "$1" d && echo '*' >deep/.gitignore && mkdir ro && echo z >ro/z && chmod 555 ro`
		if out, err := exec.Command("sh", "-c", script, dir, outside).CombinedOutput(); err != nil {
			t.Fatalf("%s %v", out, err)
		}
	}
	for i, commit := range []queue.CommitID{one, one, two, one, two} {
		if got := check(commit, dir); got != fresh[commit] {
			t.Errorf("%d:\n%s\nwant\n%s", i, got, fresh[commit])
		}
		mess()
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("a checkout wrote through a symbolic link: %v %v", entries, err)
	}
}

// A mirror that this process has closed can be opened at once, even if a child that was forked a
// moment before holds the lock until its exec.
func TestMirrorThatWasJustClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m.git")
	m := must(mirror.Open(t.Context(), dir))(t)
	child := must(os.Open(filepath.Join(dir, "submitqueue.owner")))(t)
	m.Close()
	if err := syscall.Flock(int(child.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		m, err := mirror.Open(t.Context(), dir)
		if err == nil {
			err = m.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("opened while it is held: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	child.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
