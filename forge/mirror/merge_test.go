package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// world is a repository with a base of two files, heads a and b that merge, and
// c that conflicts with a.
func world(t testing.TB) (r *repo, m *mirror.Mirror, base, a, b, c queue.CommitID) {
	t.Helper()
	r = newRepo(t)
	base = r.commit("main", "base", files{"f": lines(50, nil), "d/g": "g\n"})
	a = r.commit("a", "a", files{"f": lines(50, map[int]string{3: "a"})}, base)
	b = r.commit("b", "b", files{"f": lines(50, map[int]string{40: "b"}), "new": "n"}, base)
	c = r.commit("c", "c", files{"f": lines(50, map[int]string{3: "c"}), "d/g": "-"}, base)
	base = r.commit("main", "moved on", files{"other": "o"})
	return r, r.fetched("a", "b", "c"), base, a, b, c
}

func pick(parent, head queue.CommitID) mirror.Pick {
	return mirror.Pick{Parent: parent, Head: head, Message: "Merge\n\nChange: 1.aa\nHead: " + string(head) + "\n", Date: 1_800_000_000_000}
}

func TestMergeIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	r, m, base, a, b, _ := world(t)
	other := r.fetched("a", "b")
	want := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b)}))(t)
	got := must(other.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b)}))(t)
	if len(want) != 2 || want[1].Commit == "" || fmt.Sprint(want) != fmt.Sprint(got) {
		t.Fatalf("%+v\n%+v", want, got)
	}
	wave := must(other.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, a), pick(want[0].Commit, b)}))
	if w := wave(t); fmt.Sprint(w) != fmt.Sprint(want) {
		t.Fatalf("wave %+v\nchain %+v", w, want)
	}
	shown := &repo{t, m.Dir()}
	raw := shown.run("", "cat-file", "commit", string(want[1].Commit))
	if !strings.Contains(raw, "SubmitQueue <submitqueue@localhost> 1800000000 +0000") {
		t.Fatal(raw)
	}
	shown.run("", "fsck", "--strict", string(want[1].Commit))
	plain := must(exec.Command("git", "--git-dir="+m.Dir(), "merge-tree", "--write-tree", string(want[0].Commit), string(b)).Output())(t)
	if strings.TrimSpace(string(plain)) != string(want[1].Tree) {
		t.Fatalf("git makes %s, we %s", plain, want[1].Tree)
	}
}

func TestMergeDateIsNotBeforeTheParent(t *testing.T) {
	t.Parallel()
	_, m, base, a, b, _ := world(t)
	early := pick("", b)
	early.Date = 1000
	rs := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), early}))(t)
	raw := (&repo{t, m.Dir()}).run("", "cat-file", "commit", string(rs[1].Commit))
	if !strings.Contains(raw, "> 1800000000 +0000") {
		t.Fatal(raw)
	}
}

func TestConflictsNamePaths(t *testing.T) {
	t.Parallel()
	_, m, base, a, b, c := world(t)
	rs := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", c), pick("", b)}))(t)
	if len(rs) != 2 || rs[1].Clean() || fmt.Sprint(rs[1].Conflicts) != "[f]" {
		t.Fatalf("%+v", rs)
	}
}

func TestWaveGoesOnAfterConflictsAndForeignHistories(t *testing.T) {
	t.Parallel()
	r, m, base, a, b, c := world(t)
	r.run("commit refs/heads/orphan\ncommitter A <a@x> 1 +0000\ndata 1\no\nM 644 inline x\ndata 1\nx\n", "fast-import", "--quiet")
	r.fetch(m, "orphan")
	orphan := r.tip("orphan")
	onA := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, a)}))(t)[0].Commit
	rs := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{
		pick(onA, c), pick(base, orphan), pick(base, b), pick(a, orphan), pick(base, a), pick(base, b),
	}))(t)
	if rs[0].Clean() || rs[1].Refused == "" || !rs[2].Clean() || rs[3].Refused == "" || rs[4].Commit != onA || rs[5].Commit != rs[2].Commit {
		t.Fatalf("%+v", rs)
	}
}

func TestNothingToLand(t *testing.T) {
	t.Parallel()
	r, m, base, a, _, _ := world(t)
	landed := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, a)}))(t)[0].Commit
	flush(t, m)
	r.run("", "fetch", "--quiet", m.Dir(), string(landed)+":refs/heads/main")
	reverted := r.commit("main", "revert", files{"f": lines(50, nil)})
	same := r.commit("same", "the same content again", files{"f": lines(50, map[int]string{3: "a"})}, base)
	r.fetch(m, "main", "same")
	for name, c := range map[string]struct {
		pick      mirror.Pick
		contained bool
	}{
		"landed before":               {pick(landed, a), true},
		"reverted since":              {pick(reverted, a), true},
		"itself":                      {pick(a, a), true},
		"the same from somebody else": {pick(landed, same), false},
	} {
		got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{c.pick}))(t)[0]
		if !got.Empty || got.Contained != c.contained || got.Commit != c.pick.Parent {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestFastForwardableHeadGetsAMergeCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	head := r.commit("x", "x", files{"f": "2"}, base)
	m := r.fetched("x")
	got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, head)}))(t)[0]
	if got.Commit == head || got.Commit == "" || got.Empty {
		t.Fatalf("%+v", got)
	}
}

func TestUnknownAndImpossibleCommits(t *testing.T) {
	t.Parallel()
	_, m, base, a, _, _ := world(t)
	gone := queue.CommitID(strings.Repeat("1", 40))
	if _, err := m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, gone)}); !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "fetch it first") {
		t.Error(err)
	}
	for _, bad := range []queue.CommitID{"", "HEAD", "--all", a + "\n" + a} {
		if _, err := m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, bad)}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestUnionMergeByAttributes(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{
		".gitattributes": "[attr]log merge=union\n", "sub dir/.gitattributes": "# c\n/*.log log\n*.bin binary\n\"q q\" merge=union\n",
		"sub dir/x.log": "1\n", "x.log": "1\n", "sub dir/deep/q q": "1\n",
	})
	change := func(s string) files {
		return files{"sub dir/x.log": "1\n" + s, "x.log": "1\n" + s, "sub dir/deep/q q": "1\n" + s}
	}
	a := r.commit("a", "a", change("a\n"), base)
	b := r.commit("b", "b", change("b\n"), base)
	m := r.fetched("a", "b")
	chain := []mirror.Pick{pick("", a), pick("", b)}
	before := must(m.Merges.MergeChain(t.Context(), base, chain))(t)
	tree := must(m.Objects.Tree(t.Context(), base))(t)
	if err := m.Merges.WriteAttributes(t.Context(), tree.ID()); err != nil {
		t.Fatal(err)
	}
	after := must(m.Merges.MergeChain(t.Context(), base, chain))(t)
	if len(before[1].Conflicts) != 3 || fmt.Sprint(after[1].Conflicts) != "[x.log]" {
		t.Fatalf("before %q, after %q", before[1].Conflicts, after[1].Conflicts)
	}
}

// A driver that is not here is named, and its files are merged as text, as git
// does with a driver it does not know; the other lines hold, whatever the mirror
// went by before.
func TestCustomMergeDriverIsNamed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	union := r.commit("union", "union", files{".gitattributes": "* merge=union\n"})
	base := r.commit("main", "base", files{
		"d/.gitattributes": "* text\n*.lock merge=npm -diff\n*.md merge=union\n", "d/x.lock": "1\n", "d/x.md": "1\n",
	})
	a := r.commit("a", "a", files{"d/x.lock": "1\na\n", "d/x.md": "1\na\n"}, base)
	b := r.commit("b", "b", files{"d/x.lock": "1\nb\n", "d/x.md": "1\nb\n"}, base)
	for _, before := range []queue.CommitID{"", union} {
		m := r.fetched("union", "a", "b")
		if before != "" {
			if err := m.Merges.WriteAttributes(t.Context(), must(m.Objects.Tree(t.Context(), before))(t).ID()); err != nil {
				t.Fatal(err)
			}
		}
		err := m.Merges.WriteAttributes(t.Context(), must(m.Objects.Tree(t.Context(), base))(t).ID())
		var bad *mirror.AttributeError
		if !errors.As(err, &bad) || bad.Path != "d/.gitattributes" || bad.Line != 2 || !strings.Contains(err.Error(), "*.lock merge=npm -diff") {
			t.Fatal(err)
		}
		got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(a, b)}))(t)[0]
		if fmt.Sprint(got.Conflicts) != "[d/x.lock]" {
			t.Errorf("after the attributes of %q: conflicts %q, want d/x.lock alone", before, got.Conflicts)
		}
	}
}

// children returns the git processes below this one, by what they run.
func children(t *testing.T, command string) []int {
	t.Helper()
	var found []int
	for _, dir := range must(filepath.Glob("/proc/[0-9]*"))(t) {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		stat, err2 := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil || err2 != nil || !strings.HasPrefix(string(line), "git\x00"+command) {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
		if fields[2] == strconv.Itoa(os.Getpid()) {
			found = append(found, must(strconv.Atoi(filepath.Base(dir)))(t))
		}
	}
	return found
}

func TestKilledProcessesAreReplaced(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc to find the processes")
	}
	r, m, base, a, b, _ := world(t)
	r.point("turned", a)
	ask := func() string {
		m.Forget()
		rs := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b)}))(t)
		if err := m.Refs.Keep(t.Context(), []queue.CommitID{rs[1].Commit}); err != nil {
			t.Fatal(err)
		}
		paths := must(m.Objects.ChangedPaths(t.Context(), base, rs[1].Commit))(t)
		r.point("turned", map[bool]queue.CommitID{true: a, false: b}[r.tip("turned") == b])
		r.fetch(m, "turned")
		return fmt.Sprint(rs, paths)
	}
	want := ask()
	for _, command := range []string{"cat-file", "merge-tree", "update-ref"} {
		pids := children(t, command)
		if len(pids) == 0 {
			t.Errorf("no %s runs", command)
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		if got := ask(); got != want {
			t.Errorf("after %s was killed: %s, before %s", command, got, want)
		}
	}
}

func TestCancelledCallersLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	_, m, base, a, b, _ := world(t)
	want := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b)}))(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 0 {
				go cancel()
			}
			defer cancel()
			m.Forget()
			got, err := m.Merges.MergeChain(ctx, base, []mirror.Pick{pick("", a), pick("", b)})
			switch {
			case i%2 == 0 && errors.Is(err, context.Canceled):
			case err != nil:
				t.Error(err)
			case fmt.Sprint(got) != fmt.Sprint(want):
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
}

func TestTreesNearEachOther(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("main", "1", files{"a": "1", "b/c": "1", "b/d": "1", "e.x": "1", "z": "1"})
	r.commit("main", "2", files{"b/c": "-", "b/d": "-"})
	r.commit("main", "3", files{"b": "now a file", "e/x": "1", "+x a": "1", "@ l": "a"})
	r.commit("main", "4", files{"b": "-", "b/c": "again", "e": "-", "wörld \" x": "1"})
	m := r.fetched()
	for _, rev := range []string{"main", "main~1", "main~3", "main~2", "main"} {
		id := queue.CommitID(r.run("", "rev-parse", rev))
		var want strings.Builder
		for f := range strings.SplitSeq(r.run("", "ls-tree", "-r", "-z", string(id)), "\x00") {
			want.WriteString(f + "\n")
		}
		var got strings.Builder
		for _, f := range must(must(m.Objects.Tree(t.Context(), id))(t).Files(t.Context()))(t) {
			kind := map[bool]string{true: "blob"}[f.Mode != "160000"]
			fmt.Fprintf(&got, "%s %s %s\t%s\n", f.Mode, kind, f.OID, f.Path)
		}
		if strings.TrimSpace(got.String()) != strings.TrimSpace(want.String()) {
			t.Errorf("%s:\n%s\nwant\n%s", rev, got.String(), want.String())
		}
	}
	tree := must(m.Objects.Tree(t.Context(), r.tip("main")))(t)
	for _, f := range must(tree.Files(t.Context()))(t) {
		if f.Path == "b/c" && string(must(tree.Blob(t.Context(), f.OID))(t)) != "again" {
			t.Error(f)
		}
	}
	if _, err := tree.Blob(t.Context(), strings.Repeat("2", 40)); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
}
