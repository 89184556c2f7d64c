package forge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
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
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	heads := []queue.CommitID{r.commit("x", "x", files{"x": "1"}, base), r.commit("y", "y", files{"y": "1"}, base)}
	m := r.fetched("x", "y")
	var made []queue.CommitID
	for i := range 110 {
		picks := []forge.Pick{{Head: heads[0], Message: fmt.Sprintf("x %d", i)}, {Head: heads[1], Message: fmt.Sprintf("y %d", i)}}
		for _, one := range must(m.MergeChain(t.Context(), base, append(picks, picks...)))(t) {
			made = append(made, one.Commit)
		}
		if _, err := m.MergeWave(t.Context(), []forge.Pick{{Parent: base, Head: heads[1], Message: fmt.Sprintf("z %d", i)}}); err != nil {
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
		if _, err := m.Tree(t.Context(), id); err != nil {
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
	for _, auto := range []string{"", "0"} {
		r := newRepo(t)
		tip := r.commit("main", "first", files{"a": "1"})
		s := must(forge.OpenStore(t.Context(), r.dir))(t)
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

// A push does not have a repository on this machine look after itself.
func TestPushStartsNoGC(t *testing.T) {
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	r.run("", "repack", "-d", "-q")
	head := r.commit("x", "x", files{"x": "1"}, base)
	r.run("", "repack", "-d", "-q")
	for _, c := range [][2]string{{"gc.auto", "1"}, {"gc.autoDetach", "false"}, {"gc.autoPackLimit", "1"}} {
		r.run("", "config", c[0], c[1])
	}
	m := r.fetched("x")
	merged := must(m.MergeWave(t.Context(), []forge.Pick{{Parent: base, Head: head, Message: "m"}}))(t)
	before := packsOf(t, r.dir)
	if before < 2 {
		t.Fatalf("%d packs: nothing for a gc to do", before)
	}
	out := must(m.Push(t.Context(), r.remote(), "main", base, merged[0].Commit))(t)
	if !out.Moved || packsOf(t, r.dir) < before {
		t.Errorf("%+v, %d packs, and %d before", out, packsOf(t, r.dir), before)
	}
	if out, err := exec.Command("git", "--git-dir="+r.dir, "fsck").CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
}
