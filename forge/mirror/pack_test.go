package mirror_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

func packsOf(t testing.TB, dir string) int {
	t.Helper()
	return len(must(filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack")))(t))
}

func looseOf(t testing.TB, dir string) int {
	t.Helper()
	return len(must(filepath.Glob(filepath.Join(dir, "objects", "[0-9a-f][0-9a-f]", "*")))(t))
}

// Packs are made few when there are many, without a word of what is kept: nothing goes.
func TestManyPacksBecomeFew(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	heads := []queue.CommitID{r.commit("x", "x", files{"x": "1"}, base), r.commit("y", "y", files{"y": "1"}, base)}
	m := r.fetched("x", "y")
	var made []queue.CommitID
	for i := range 110 {
		picks := []mirror.Pick{{Head: heads[0], Message: fmt.Sprintf("x %d", i)}, {Head: heads[1], Message: fmt.Sprintf("y %d", i)}}
		for _, one := range must(m.Merges.MergeChain(t.Context(), base, append(picks, picks...)))(t) {
			made = append(made, one.Commit)
		}
		if _, err := m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: base, Head: heads[1], Message: fmt.Sprintf("z %d", i)}}); err != nil {
			t.Fatal(err)
		}
		flush(t, m)
	}
	before := packsOf(t, m.Dir())
	select {
	case <-m.Crowded():
	default:
		t.Fatalf("%d packs are not many", before)
	}
	if err := m.Pack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := packsOf(t, m.Dir()); before < 100 || after > 8 {
		t.Errorf("%d packs, and %d before", after, before)
	}
	for _, id := range made {
		whole(t, m, id)
		break
	}
	m.Forget()
	for _, id := range made {
		if _, err := m.Objects.Tree(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-m.Crowded():
		t.Error("it is to be packed again at once")
	default:
	}
}

// A repository with many loose objects, reachable or not, is packed and loses nothing;
// one whose owner wants no gc is left alone.
func TestTidy(t *testing.T) {
	t.Parallel()
	for _, auto := range []string{"", "0"} {
		r := newRepo(t)
		tip := r.commit("main", "first", files{"a": "1"})
		s := must(mirror.OpenStore(t.Context(), r.dir))(t)
		defer s.Close()
		version := must(s.Put(t.Context(), "refs/submitqueue/x", []byte("words"), ""))(t)
		old := must(s.Put(t.Context(), "refs/submitqueue/x", []byte("more words"), version))(t)
		now := must(s.Put(t.Context(), "refs/submitqueue/x", []byte("last words"), old))(t)
		dir := t.TempDir()
		var paths strings.Builder
		for i := range 2100 {
			path := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(path, []byte(path), 0o644); err != nil {
				t.Fatal(err)
			}
			paths.WriteString(path + "\n")
		}
		r.run(paths.String(), "hash-object", "-w", "--no-filters", "--stdin-paths")
		if auto != "" {
			r.run("", "config", "gc.auto", auto)
		}
		if err := s.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		loose, packs := looseOf(t, r.dir), packsOf(t, r.dir)
		if tidied := loose == 0 && packs < 4; tidied != (auto == "") {
			t.Errorf("gc.auto %q: %d loose objects and %d packs", auto, loose, packs)
		}
		for _, id := range []string{version, old, now, string(tip)} {
			r.run("", "cat-file", "-e", id)
		}
		if data, at, err := s.Get(t.Context(), "refs/submitqueue/x"); err != nil || string(data) != "last words" || at != now {
			t.Errorf("%q at %s, %v", data, at, err)
		}
	}
}

// Refs that have a file each are packed, and stay what they are.
func TestTidyRefs(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	tip := r.commit("main", "first", files{"a": "1"})
	s := must(mirror.OpenStore(t.Context(), r.dir))(t)
	defer s.Close()
	version := must(s.Put(t.Context(), "refs/submitqueue/x", []byte("words"), ""))(t)
	var in strings.Builder
	for i := range 400 {
		fmt.Fprintf(&in, "create refs/heads/b%d %s\n", i, tip)
	}
	r.run(in.String(), "update-ref", "--stdin")
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if loose := must(filepath.Glob(filepath.Join(r.dir, "refs", "heads", "*")))(t); len(loose) != 0 {
		t.Errorf("%d branches have a file each", len(loose))
	}
	if refs := must(s.Refs(t.Context(), "refs/heads/"))(t); len(refs) != 401 || refs["refs/heads/b7"] != string(tip) {
		t.Errorf("%d branches, one at %s", len(refs), refs["refs/heads/b7"])
	}
	if _, err := s.Put(t.Context(), "refs/submitqueue/x", []byte("more"), version); err != nil {
		t.Error(err)
	}
	if id, _, err := s.Commit(t.Context(), "refs/heads/b7"); err != nil || id != tip {
		t.Errorf("%s, %v", id, err)
	}
}

// A push reads none of the documents that are kept beside the history.
func TestPushHidesDocuments(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	head := r.commit("x", "x", files{"x": "1"}, base)
	hook := filepath.Join(r.dir, "hooks", "pre-receive")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ngit config --get-all receive.hideRefs >hidden\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	m := r.fetched("x")
	merged := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: base, Head: head, Message: "m"}}))(t)
	out := must(m.Remotes.Push(t.Context(), r.remote(), "main", base, merged[0].Commit))(t)
	hidden, err := os.ReadFile(filepath.Join(r.dir, "hidden"))
	if err != nil || !out.Moved || string(hidden) != "refs/submitqueue/\n" {
		t.Errorf("%+v, hidden %q, %v", out, hidden, err)
	}
}

// A push does not have a repository on this machine look after itself.
func TestPushStartsNoGC(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	r.run("", "repack", "-d", "-q")
	head := r.commit("x", "x", files{"x": "1"}, base)
	r.run("", "repack", "-d", "-q")
	for _, c := range [][2]string{{"gc.auto", "1"}, {"gc.autoDetach", "false"}, {"gc.autoPackLimit", "1"}} {
		r.run("", "config", c[0], c[1])
	}
	m := r.fetched("x")
	merged := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: base, Head: head, Message: "m"}}))(t)
	before := packsOf(t, r.dir)
	if before < 2 {
		t.Fatalf("%d packs: nothing for a gc to do", before)
	}
	out := must(m.Remotes.Push(t.Context(), r.remote(), "main", base, merged[0].Commit))(t)
	if !out.Moved || packsOf(t, r.dir) < before {
		t.Errorf("%+v, %d packs, and %d before", out, packsOf(t, r.dir), before)
	}
	if out, err := exec.Command("git", "--git-dir="+r.dir, "fsck").CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
}
