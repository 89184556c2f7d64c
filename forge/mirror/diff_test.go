package mirror_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// tree writes a tree of "<mode> <content>" by path, whatever the names are. The
// content of a submodule does not matter, nor does that of a directory by a
// mode of its own.
func (r *repo) tree(entries map[string]string) queue.TreeID {
	r.t.Helper()
	index := filepath.Join(r.t.TempDir(), "index")
	var in strings.Builder
	for path, what := range entries {
		mode, content, _ := strings.Cut(what, " ")
		oid := strings.Repeat("1", 39) + content
		if mode != "160000" {
			oid = r.run(content, "hash-object", "-w", "--stdin")
		}
		fmt.Fprintf(&in, "%s %s\t%s\x00", mode, oid, path)
	}
	apart := []string{"GIT_INDEX_FILE=" + index}
	r.runIn(apart, in.String(), "update-index", "-z", "--index-info")
	return queue.TreeID(r.runIn(apart, "", "write-tree"))
}

// gitDiff is what git says differs.
func (r *repo) gitDiff(from, to queue.TreeID) []mirror.Delta {
	r.t.Helper()
	var deltas []mirror.Delta
	there := func(s string) string { return strings.TrimLeft(s, "0") }
	fields := strings.Split(r.run("", "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", string(from), string(to)), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		w := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		d := mirror.Delta{Path: fields[i+1]}
		if there(w[0]) != "" {
			d.OldMode, d.Old = w[0], w[2]
		}
		if there(w[1]) != "" {
			d.Mode, d.New = w[1], w[3]
		}
		deltas = append(deltas, d)
	}
	return deltas
}

func TestDiffIsGits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := map[string]string{
		"a/one": "100644 1", "a/two": "100644 2", "a.b": "100644 x", "z/y/x/w": "100644 deep", "kind": "100644 f",
		"sub": "160000 1", "sub2": "160000 1", "link": "120000 a/one", "run": "100755 #!", "dir/f": "100644 d", "last": "100644 l",
		"new\nline": "100644 1", "quote\"s": "100644 1", "tab\tbed": "100644 1", "bytes\xff\xfe": "100644 1", "\xff/\n/\"": "100644 1",
	}
	edits := []map[string]string{
		{"a/one": "100644 changed"},
		{"a/one": ""},
		{"a/three": "100644 3", "q/r/s": "100755 q"},
		{"run": "100644 #!", "a/two": "100755 2"},
		{"kind": "120000 f"}, {"kind": "160000 1"}, {"kind": "", "kind/now/dir": "100644 f"}, {"dir/f": "", "dir": "100644 d"},
		{"sub": "160000 2", "sub2": "100644 was"}, {"sub": ""}, {"link": "100644 a/one"}, {"link": "120000 a/two"},
		{"new\nline": "100644 2", "quote\"s": "", "tab\tbed": "100755 1", "bytes\xff\xfe": "100644 2", "\xff/\n/\"": "100644 2", "\xff/\n/\xfe": "100644 3"},
		{"a": "100644 file", "a/one": "", "a/two": ""},
		{},
	}
	all := []queue.TreeID{r.tree(base)}
	for _, edit := range edits {
		next := map[string]string{}
		for p, what := range base {
			next[p] = what
		}
		for p, what := range edit {
			next[p] = what
			if what == "" {
				delete(next, p)
			}
		}
		all = append(all, r.tree(next))
	}
	all = append(all, r.tree(nil))
	m := must(mirror.Borrow(t.Context(), filepath.Join(t.TempDir(), "m"), filepath.Join(r.dir, "objects")))(t)
	defer m.Close()
	type pair struct{ from, to queue.TreeID }
	want := map[pair][]mirror.Delta{}
	for _, from := range all {
		for _, to := range all {
			want[pair{from, to}] = r.gitDiff(from, to)
		}
	}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for p, deltas := range want {
				got, err := m.Objects.Diff(t.Context(), p.from, p.to)
				if d := cmp.Diff(deltas, got); d != "" || err != nil {
					t.Errorf("%s %s: %v\n%s", p.from, p.to, err, d)
				}
			}
		})
	}
	workers.Wait()
}

func TestDiffOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.tree(map[string]string{"a/f": "100644 1"})
	two := r.tree(map[string]string{"a/f": "100644 2", "b/f": "100644 2"})
	blob := r.run("", "rev-parse", string(two)+":a/f")
	lost := r.run("", "rev-parse", string(two)+":b")
	m := must(mirror.Borrow(t.Context(), filepath.Join(t.TempDir(), "m"), filepath.Join(r.dir, "objects")))(t)
	defer m.Close()
	missing := queue.TreeID(strings.Repeat("1", 40))
	if err := os.Remove(filepath.Join(r.dir, "objects", lost[:2], lost[2:])); err != nil {
		t.Fatal(err)
	}
	for _, to := range []queue.TreeID{missing, two} {
		if _, err := m.Objects.Diff(t.Context(), one, to); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, to := range []queue.TreeID{"HEAD", "", "--help", queue.TreeID(blob)} {
		if d, err := m.Objects.Diff(t.Context(), one, to); err == nil {
			t.Errorf("%q: %v", to, d)
		}
	}
	if d, err := m.Objects.Diff(t.Context(), one, one); len(d) > 0 || err != nil {
		t.Errorf("%v %v", d, err)
	}
}

func TestBlobsAreRead(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	commit := r.commit("main", "m", files{"one": "1", "two": "2\x00\n", "empty": ""})
	m := r.fetched()
	tree := must(m.Objects.Tree(t.Context(), commit))(t)
	var oids []string
	for _, f := range must(tree.Files(t.Context()))(t) {
		oids = append(oids, f.OID)
	}
	oids = append(oids, oids[0])
	var got []string
	for _, content := range must(tree.Blobs(t.Context(), oids))(t) {
		got = append(got, string(content))
	}
	if d := cmp.Diff([]string{"", "1", "2\x00\n", ""}, got); d != "" {
		t.Error(d)
	}
	if _, err := tree.Blobs(t.Context(), append(oids, strings.Repeat("2", 40))); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := tree.Blobs(t.Context(), []string{oids[0], string(tree.ID())}); err == nil {
		t.Error("a tree was read as a blob")
	}
	if none, err := tree.Blobs(t.Context(), nil); len(none) > 0 || err != nil {
		t.Errorf("%v %v", none, err)
	}
}

// Some tools write modes that git shows as others: what git shows alike is alike.
func TestDiffOfOddModes(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	blob := r.run("f", "hash-object", "-w", "--stdin")
	raw, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	of := func(mode string) queue.TreeID {
		return queue.TreeID(r.run(mode+" f\x00"+string(raw), "hash-object", "-w", "-t", "tree", "--literally", "--stdin"))
	}
	m := must(mirror.Borrow(t.Context(), filepath.Join(t.TempDir(), "m"), filepath.Join(r.dir, "objects")))(t)
	defer m.Close()
	plain := of("100644")
	if d := must(m.Objects.Diff(t.Context(), plain, of("100664")))(t); len(d) > 0 {
		t.Errorf("%v", d)
	}
	want := []mirror.Delta{{Path: "f", Old: blob, OldMode: "100644", New: blob, Mode: "100755"}}
	if d := cmp.Diff(want, must(m.Objects.Diff(t.Context(), plain, of("100775")))(t)); d != "" {
		t.Error(d)
	}
}

// The mirror's merges are compared before git has seen them.
func TestDiffOfAMerge(t *testing.T) {
	t.Parallel()
	r, m, base, a, _, _ := world(t)
	merged := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, a)}))(t)
	from := must(m.Objects.Tree(t.Context(), base))(t)
	to := must(m.Objects.Tree(t.Context(), merged[0].Commit))(t)
	got := must(m.Objects.Diff(t.Context(), from.ID(), to.ID()))(t)
	flush(t, m)
	if d := cmp.Diff((&repo{r.t, m.Dir()}).gitDiff(from.ID(), to.ID()), got); d != "" || len(got) == 0 {
		t.Errorf("%d: %s", len(got), d)
	}
}

// A dozen small trees within one another name more files than a machine has memory for.
// Everybody who opens a pull request can make them.
func TestDiffOfTooMuch(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	r := newRepo(t)
	one := r.tree(map[string]string{"a/f": "100644 1"})
	kind, id := "100644 blob", r.run("", "rev-parse", string(one)+":a/f")
	for range 12 {
		var list strings.Builder
		for i := range 30 {
			fmt.Fprintf(&list, "%s %s\t%02d\n", kind, id, i)
		}
		kind, id = "040000 tree", r.run(list.String(), "mktree")
	}
	m := must(mirror.Borrow(t.Context(), filepath.Join(t.TempDir(), "m"), filepath.Join(r.dir, "objects")))(t)
	defer m.Close()
	if d, err := m.Objects.Diff(t.Context(), one, queue.TreeID(id)); err == nil || !strings.Contains(err.Error(), "differ in too many files") {
		t.Errorf("%d files, %v", len(d), err)
	}
}
