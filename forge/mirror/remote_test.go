package mirror_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

func TestFetchBranchWithHostileNames(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	m := r.fetched()
	for _, name := range []string{"-x", "--upload-pack=touch", "a;b", "$(id)", "naïve/ветка", `q"q`, "+plus"} {
		r.point(name, base)
		for range 2 {
			if got, err := m.Remotes.FetchBranch(t.Context(), r.remote(), name); err != nil || got != base {
				t.Errorf("%q: %s %v", name, got, err)
			}
		}
		next := r.commit("tmp", name, files{"g": name}, base)
		r.point(name, next)
		if got, err := m.Remotes.FetchBranch(t.Context(), r.remote(), name); err != nil || got != next {
			t.Errorf("%q: %s %v", name, got, err)
		}
	}
	for _, name := range []string{"", "*", "a..b", "a b", "a:b", "x.lock", "a\nb", "a//b", "@{u}", "/x"} {
		if _, err := m.Remotes.FetchBranch(t.Context(), r.remote(), name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	if _, err := m.Remotes.FetchBranch(t.Context(), r.remote(), "none"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
}

func TestFetchBranchFollowsPackedAndForced(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	next := r.commit("main", "next", files{"f": "2"})
	r.run("", "pack-refs", "--all")
	m := r.fetched()
	r.point("main", base)
	if got := must(m.Remotes.FetchBranch(t.Context(), r.remote(), "main"))(t); got != base {
		t.Errorf("%s, want %s", got, base)
	}
	if got := (&repo{t, m.Dir()}).run("", "rev-parse", "refs/submitqueue/remote/main"); got != string(base) {
		t.Errorf("%s, want %s (next %s)", got, base, next)
	}
}

func TestRemotesThatRunCommandsAreRefused(t *testing.T) {
	t.Parallel()
	m := openMirror(t)
	mark := filepath.Join(t.TempDir(), "mark")
	for _, url := range []string{"ext::touch " + mark, "--upload-pack=touch " + mark, filepath.Join(t.TempDir(), "none")} {
		_, err := m.Remotes.FetchBranch(t.Context(), forge.Remote{URL: url}, "main")
		var transient *forge.Transient
		if !errors.As(err, &transient) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command ran")
	}
}

func TestFetchHeads(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	var heads []mirror.HeadRef
	for i := range 30 {
		head := r.commit(fmt.Sprintf("h%d", i), "h", files{"h": fmt.Sprint(i)}, base)
		ref := fmt.Sprintf("refs/pull/%d/head", i)
		r.run("", "update-ref", ref, string(head))
		heads = append(heads, mirror.HeadRef{Ref: ref, Want: head})
	}
	moved := r.commit("h3", "moved", files{"h": "moved"}, base)
	r.run("", "update-ref", heads[3].Ref, string(moved))
	r.run("", "update-ref", "-d", heads[4].Ref)
	r.run("", "update-ref", "-d", heads[5].Ref)
	m := r.fetched()
	errs := must(m.Remotes.FetchHeads(t.Context(), r.remote(), heads))(t)
	m.LooseLimit = 0
	if err := m.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		want := map[int]error{3: mirror.ErrHeadMoved, 4: forge.ErrNotFound, 5: forge.ErrNotFound}[i]
		if !errors.Is(err, want) {
			t.Errorf("%d: %v", i, err)
		}
		kept := exec.Command("git", "--git-dir="+m.Dir(), "rev-parse", "-q", "--verify", "refs/submitqueue/keep/"+string(heads[i].Want)).Run() == nil
		if kept != (want == nil) {
			t.Errorf("%d kept: %v", i, kept)
		}
	}
	r.run("", "update-ref", "-d", heads[0].Ref)
	if err := m.Remotes.FetchHead(t.Context(), r.remote(), heads[0].Ref, heads[0].Want); err != nil {
		t.Errorf("a head that is there was asked for: %v", err)
	}
}

func TestFetchHeadsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	m := r.fetched()
	var wg sync.WaitGroup
	for i := range 12 {
		ref := fmt.Sprintf("h%d", i)
		head := r.commit(ref, "h", files{"h": ref}, base)
		wg.Go(func() {
			want := error(nil)
			if i == 7 {
				ref, want = "none", forge.ErrNotFound
				head = queue.CommitID(strings.Repeat("7", 40))
			}
			if err := m.Remotes.FetchHead(t.Context(), r.remote(), "refs/heads/"+ref, head); !errors.Is(err, want) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func (r *repo) hook(name, script string) {
	r.t.Helper()
	path := filepath.Join(r.dir, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func TestPushOutcomes(t *testing.T) {
	t.Parallel()
	r, m, base, a, b, _ := world(t)
	rs := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b)}))(t)
	push := func(expected, next queue.CommitID) (mirror.PushOutcome, error) {
		return m.Remotes.Push(t.Context(), r.remote(), "main", expected, next)
	}

	r.hook("pre-receive", "echo 'error: GH006: Protected branch update failed' >&2; exit 1\n")
	if o := must(push(base, rs[1].Commit))(t); !strings.Contains(o.Refused, "GH006: Protected branch update failed") || o.Moved || o.Lost {
		t.Errorf("refused: %+v", o)
	}
	r.hook("pre-receive", "exit 0\n")
	if o := must(push(base, rs[1].Commit))(t); o != (mirror.PushOutcome{Moved: true}) || r.tip("main") != rs[1].Commit {
		t.Errorf("moved: %+v", o)
	}
	if o := must(push(base, rs[1].Commit))(t); o != (mirror.PushOutcome{Moved: true}) {
		t.Errorf("again: %+v", o)
	}
	other := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, b)}))(t)[0].Commit
	if o := must(push(base, other))(t); o != (mirror.PushOutcome{Lost: true}) || r.tip("main") != rs[1].Commit {
		t.Errorf("lost: %+v", o)
	}
	// Somebody else wins while the push is under way: the remote itself sees it.
	r.point("main", base)
	r.hook("pre-receive", "unset GIT_QUARANTINE_PATH; git update-ref refs/heads/main "+string(rs[0].Commit)+"\n")
	r.run("", "fetch", "--quiet", m.Dir(), string(rs[0].Commit))
	if o := must(push(base, other))(t); o != (mirror.PushOutcome{Lost: true}) || r.tip("main") != rs[0].Commit {
		t.Errorf("race: %+v", o)
	}
	if _, err := push(rs[0].Commit, base); err == nil || !strings.Contains(err.Error(), "does not descend") {
		t.Errorf("backwards: %v", err)
	}
	if _, err := push("", base); err == nil {
		t.Error("an empty expectation was taken")
	}
	_, err := m.Remotes.Push(t.Context(), forge.Remote{URL: filepath.Join(t.TempDir(), "gone")}, "main", base, other)
	var transient *forge.Transient
	if !errors.As(err, &transient) {
		t.Errorf("unreachable: %v", err)
	}
}

func TestPushHostileBranch(t *testing.T) {
	t.Parallel()
	r, m, base, a, _, _ := world(t)
	next := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(base, a)}))(t)[0].Commit
	for _, name := range []string{"-x", "a;b", "ветка"} {
		r.point(name, base)
		if o := must(m.Remotes.Push(t.Context(), r.remote(), name, base, next))(t); !o.Moved || r.tip(name) != next {
			t.Errorf("%q: %+v", name, o)
		}
	}
}

func TestFirstParents(t *testing.T) {
	t.Parallel()
	r, m, base, a, b, _ := world(t)
	rs := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b)}))(t)
	if o := must(m.Remotes.Push(t.Context(), r.remote(), "main", base, rs[1].Commit))(t); !o.Moved {
		t.Fatal(o)
	}
	tip := r.commit("main", "by hand\n\nno trailer: here", files{"x": "1"})
	r.fetch(m, "main")
	show := func(from, to queue.CommitID) string {
		t.Helper()
		line, forced, err := m.History.FirstParents(t.Context(), from, to)
		if err != nil {
			t.Fatal(err)
		}
		names := map[queue.CommitID]string{base: "base", rs[0].Commit: "a", rs[1].Commit: "b", tip: "tip"}
		var s []string
		for _, c := range line {
			s = append(s, fmt.Sprintf("%s<-%s %s %s", names[c.Commit], names[c.Parent], c.Change, strings.NewReplacer(string(a), "A", string(b), "B").Replace(string(c.Head))))
		}
		return fmt.Sprint(strings.Join(s, "; "), " ", forced)
	}
	for _, c := range []struct{ got, want string }{
		{show(base, tip), "a<-base 1.aa A; b<-a 1.aa B; tip<-b   false"},
		{show("", tip), "tip<-b   false"},
		{show(tip, tip), " false"},
		{show(a, rs[1].Commit), "base<-  ; a<-base 1.aa A; b<-a 1.aa B false"},
		{show(tip, rs[0].Commit), " true"},
		{show(queue.CommitID(strings.Repeat("3", 40)), tip), "tip<-b   true"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
