package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/queue"
)

type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	r := &repo{t, filepath.Join(t.TempDir(), "r.git")}
	r.run("", "init", "--quiet", "--bare", "--initial-branch=main", r.dir)
	r.commit("main", "base")
	return r
}

func (r *repo) run(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_DIR="+r.dir, "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) commit(branch, message string) queue.CommitID {
	r.t.Helper()
	r.run(fmt.Sprintf("commit refs/heads/%s\ncommitter A <a@x> 1700000000 +0000\ndata %d\n%s\nM 644 inline f\ndata %d\n%s\n",
		branch, len(message), message, len(message), message), "fast-import", "--quiet", "--force")
	return queue.CommitID(r.run("", "rev-parse", "refs/heads/"+branch))
}

func (r *repo) open() *local.Forge {
	r.t.Helper()
	f, err := local.New(r.t.Context(), r.dir, "")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { f.Stop() })
	return f
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func events(t *testing.T, f *local.Forge, open ...int) string {
	t.Helper()
	var s []string
	for _, e := range must(f.Missed(t.Context(), time.Now(), open))(t) {
		s = append(s, fmt.Sprintf("%s %+v", strings.TrimSuffix(e.ID, fmt.Sprintf("/%d", e.At)), e.Body))
	}
	return strings.Join(s, "\n")
}

func TestRequestOutlivesTheServer(t *testing.T) {
	r := newRepo(t)
	head := r.commit("-feature;x", "Add a feature\n\nbody")
	first := r.open()
	n := must(first.Open(t.Context(), "-feature;x", "ada"))(t)
	if again := must(first.Open(t.Context(), "-feature;x", "ada"))(t); n != 1 || again != n {
		t.Errorf("numbers %d, %d", n, again)
	}
	first.Stop()

	f := r.open()
	f.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	for _, e := range must(f.Missed(t.Context(), time.Time{}, nil))(t) {
		if time.Until(e.At.Time()) > 0 {
			t.Errorf("%s is of %s and not of when it was asked for", e.ID, e.At.Time())
		}
	}
	pr := must(f.PullRequest(t.Context(), n))(t)
	want := forge.PullRequest{
		Number: 1, Title: "Add a feature", Author: "ada", Source: "-feature;x", Head: head,
		HeadRef: "refs/heads/-feature;x", Base: "main", Open: true, Asked: head, ApprovedBy: []string{"ada"},
	}
	no := false
	want.Facets.Revert = &no
	if d := cmp.Diff(want, pr); d != "" {
		t.Error(d)
	}
	landID := "local/1/land/" + string(head) + "/request-1 {Number:1 Comment:request-1 Author:ada Body:/land Bot:false Head: Made:0 Late:false}"
	if got := events(t, f, 1); got != landID+"\nlocal/1/head/"+string(head)+" {Number:1 Head:"+string(head)+" By: Made:0}" {
		t.Error(got)
	}
	moved := r.commit("-feature;x", "more")
	if got := events(t, f, 1); got != landID+"\nlocal/1/head/"+string(moved)+" {Number:1 Head:"+string(moved)+" By: Made:0}" {
		t.Error(got)
	}
	must(f.Open(t.Context(), "-feature;x", "bob"))(t)
	if got := events(t, f); got != "local/1/land/"+string(moved)+"/request-1 {Number:1 Comment:request-1 Author:bob Body:/land Bot:false Head: Made:0 Late:false}" {
		t.Error(got)
	}
}

func TestWhatTheQueueSaysIsStored(t *testing.T) {
	r := newRepo(t)
	head := r.commit("x", "x")
	f := r.open()
	n := must(f.Open(t.Context(), "x", "ada"))(t)
	check := forge.Check{Name: "submitqueue", Head: head, State: forge.CheckRunning, Title: "3rd in line"}
	if err := errors.Join(
		f.Comment(t.Context(), n, "<!-- m -->", "first"), f.Comment(t.Context(), n, "<!-- m -->", "second"),
		f.Check(t.Context(), check),
	); err != nil {
		t.Fatal(err)
	}
	other := r.open()
	got := must(other.List(t.Context()))(t)[0]
	if got.Comment != "second" || got.Check == nil || got.Check.Title != "3rd in line" || got.State != local.Open {
		t.Errorf("%+v", got)
	}
	check.State = forge.CheckPassed
	if err := other.Check(t.Context(), check); err != nil {
		t.Fatal(err)
	}
	if got := must(f.List(t.Context()))(t)[0]; got.Check.State != forge.CheckPassed || got.Comment != "second" {
		t.Errorf("%+v", got)
	}
	if err := f.Comment(t.Context(), 99, "", "x"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	if _, err := f.PullRequest(t.Context(), 99); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
}

// A command that was refused ends its request, unless somebody has asked since; and what
// was asked for comes again as it was asked for, not as a plain /land.
func TestRefusedRequestEnds(t *testing.T) {
	r := newRepo(t)
	head := r.commit("x", "x")
	f := r.open()
	n := must(f.OpenOnce(t.Context(), "k", "x", "ada", "/land priority=urgent"))(t)
	comment := forge.RequestComment(n, "/land priority=urgent")
	asked := "local/1/land/" + string(head) + "/" + comment + " {Number:1 Comment:" + comment + " Author:ada Body:/land priority=urgent Bot:false Head: Made:0 Late:false}"
	if got := events(t, f); got != asked {
		t.Error(got)
	}
	refused := queue.At(time.Now())
	before := forge.Publication{Number: n, Comment: "no lane", Refused: refused.Add(-time.Hour)}
	if err := f.Publish(t.Context(), before); err != nil || !must(f.PullRequest(t.Context(), n))(t).Open {
		t.Errorf("%v: what was asked after the refusal has ended", err)
	}
	if again := must(f.OpenOnce(t.Context(), "l", "x", "ada", queue.PlainLand))(t); again != n {
		t.Errorf("another request: %d", again)
	}
	plain := "local/1/land/" + string(head) + "/request-1 {Number:1 Comment:request-1 Author:ada Body:/land Bot:false Head: Made:0 Late:false}"
	if got := events(t, f); got != asked+"\n"+plain {
		t.Error(got)
	}
	now := forge.Publication{Number: n, Comment: "no lane", Refused: queue.At(time.Now())}
	if err := f.Publish(t.Context(), now); err != nil || must(f.PullRequest(t.Context(), n))(t).Open {
		t.Errorf("%v: what was refused is still asked for", err)
	}
	if got := events(t, r.open()); got != "" {
		t.Errorf("after the refusal: %s", got)
	}
}

func TestRequestsEnd(t *testing.T) {
	r := newRepo(t)
	f := r.open()
	for _, b := range []string{"a", "b", "c"} {
		r.commit(b, b)
		must(f.Open(t.Context(), b, "ada"))(t)
	}
	r.run("", "update-ref", "-d", "refs/heads/c")
	if err := errors.Join(f.Finish(t.Context(), 1, true), f.Finish(t.Context(), 1, true), f.Close(t.Context(), 1), f.Close(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for n := range 3 {
		pr := must(f.PullRequest(t.Context(), n+1))(t)
		got = append(got, fmt.Sprint(pr.Open, pr.Merged))
	}
	if fmt.Sprint(got) != "[false true false false false false]" {
		t.Error(got)
	}
	third := string(must(f.List(t.Context()))(t)[2].Head)
	if got := events(t, f, 1, 2); got != "local/3/land/"+third+"/request-3 {Number:3 Comment:request-3 Author:ada Body:/land Bot:false Head: Made:0 Late:false}\n"+
		"local/1/closed {Number:1 Merged:true}\nlocal/2/closed {Number:2 Merged:false}" {
		t.Error(got)
	}
	if n := must(f.Open(t.Context(), "b", "ada"))(t); n != 4 {
		t.Errorf("a branch whose request was closed got number %d", n)
	}
}

// The same command again is the request that it made, also when that has landed and the
// branch is gone; another command makes another one.
func TestCommandGivenAgain(t *testing.T) {
	r := newRepo(t)
	head := r.commit("x", "x")
	f := r.open()
	n := must(f.OpenOnce(t.Context(), "k1", "x", "ada", queue.PlainLand))(t)
	r.commit("x", "pushed since")
	for _, f := range []*local.Forge{f, r.open()} {
		if again := must(f.OpenOnce(t.Context(), "k1", "x", "ada", queue.PlainLand))(t); again != n || must(f.List(t.Context()))(t)[0].Head != head {
			t.Errorf("while it is open: #%d, %+v", again, must(f.List(t.Context()))(t))
		}
	}
	if other := must(f.OpenOnce(t.Context(), "k2", "x", "ada", queue.PlainLand))(t); other != n || must(f.List(t.Context()))(t)[0].Head == head {
		t.Errorf("asked for by another command: #%d", other)
	}
	if err := f.Finish(t.Context(), n, true); err != nil {
		t.Fatal(err)
	}
	for _, key := range []queue.Digest{"k1", "k2"} {
		if again := must(r.open().OpenOnce(t.Context(), key, "x", "ada", queue.PlainLand))(t); again != n {
			t.Errorf("after it has landed: #%d", again)
		}
	}
	r.run("", "update-ref", "-d", "refs/heads/x")
	if again := must(f.OpenOnce(t.Context(), "k1", "x", "ada", queue.PlainLand))(t); again != n {
		t.Errorf("after the branch is gone: #%d", again)
	}
	if _, err := f.OpenOnce(t.Context(), "k3", "x", "ada", queue.PlainLand); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("another command for a branch that is gone: %v", err)
	}
	r.commit("x", "again")
	if next := must(f.OpenOnce(t.Context(), "k4", "x", "ada", queue.PlainLand))(t); next == n {
		t.Error("another command is taken for one that has ended")
	}
	for i := range 40 {
		must(f.OpenOnce(t.Context(), queue.Digest(fmt.Sprint("more", i)), "x", "ada", queue.PlainLand))(t)
	}
	if got := must(f.List(t.Context()))(t)[1].Keys; len(got) != 16 || got[15] != "more39" {
		t.Errorf("keys kept: %v", got)
	}
}

func TestManyAskAtOnce(t *testing.T) {
	r := newRepo(t)
	forges := []*local.Forge{r.open(), r.open()}
	for i := range 12 {
		r.commit(fmt.Sprint("b", i), fmt.Sprint(i))
	}
	var mu sync.Mutex
	numbers := map[int]bool{}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			f := forges[i%2]
			n, err := f.Open(t.Context(), fmt.Sprint("b", i), "ada")
			if err == nil {
				err = f.Comment(t.Context(), n, "", fmt.Sprint(i))
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			numbers[n] = true
		})
	}
	wg.Wait()
	if len(numbers) != 12 || len(must(forges[0].List(t.Context()))(t)) != 12 {
		t.Errorf("%v", numbers)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	r := newRepo(t)
	f := r.open()
	if _, err := f.Open(t.Context(), "none", "ada"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	if _, err := f.Open(t.Context(), "main", "ada"); err == nil {
		t.Error("the base was taken for a branch to land")
	}
	if _, err := f.Open(t.Context(), "a b\n", "ada"); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	if _, err := local.New(t.Context(), t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Error(err)
	}
	if _, err := local.New(t.Context(), filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("a missing directory was taken for a repository")
	}
	if p := must(f.Permission(t.Context(), "x"))(t); p != forge.PermissionAdmin {
		t.Error(p)
	}
	if p := must(f.Protection(t.Context(), "main"))(t); !p.MayPush || !p.Protected {
		t.Error(p)
	}
	if remote := must(f.Remote(t.Context()))(t); remote.URL == "" || f.Base() != "main" {
		t.Error(remote)
	}
}

func BenchmarkComment(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "r.git")
	for _, args := range [][]string{{"init", "--quiet", "--bare", "--initial-branch=main", dir}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			b.Fatalf("%s %v", out, err)
		}
	}
	cmd := exec.Command("git", "--git-dir="+dir, "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader("commit refs/heads/x\ncommitter A <a@x> 1 +0000\ndata 1\nx\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s %v", out, err)
	}
	f, err := local.New(b.Context(), dir, "main")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Stop()
	n, err := f.Open(b.Context(), "x", "ada")
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if err := f.Comment(b.Context(), n, "", fmt.Sprint(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestWhatCannotBeLandedOn(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "e.git")
	r := newRepo(t)
	r.commit("dev", "dev")
	r.run("", "init", "--quiet", "--bare", "--initial-branch=main", empty)
	for _, c := range []struct{ path, base, want string }{
		{empty, "", "is empty: push a first commit"},
		{r.dir, "nope", `no branch "nope" to land on; it has: dev, main`},
		{filepath.Join(t.TempDir(), "none"), "", "git clone --bare"},
	} {
		if _, err := local.New(t.Context(), c.path, c.base); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %q: %v, want %q", c.path, c.base, err, c.want)
		}
	}
	f := r.open()
	n := must(f.Open(t.Context(), "dev", "ada"))(t)
	if branch, err := f.Asked(t.Context(), n); branch != "dev" || err != nil {
		t.Error(branch, err)
	}
	if _, err := f.Asked(t.Context(), 99); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
	if tip := must(f.Tip(t.Context()))(t); tip != queue.CommitID(r.run("", "rev-parse", "main")) {
		t.Error(tip)
	}
}

// A lock that a killed process has left on a request is an error, with which the caller tries
// again later; it does not keep the server busy, and all other requests waiting, for ever.
func TestRequestThatIsLocked(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	f := r.open()
	r.commit("topic", "topic")
	n := must(f.Open(t.Context(), "topic", "ann"))(t)
	if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("refs/submitqueue/requests/%d.lock", n)), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := f.Comment(ctx, n, "", "hello")
	if transient := (*forge.Transient)(nil); ctx.Err() != nil || !errors.As(err, &transient) {
		t.Errorf("%v (%v)", err, ctx.Err())
	}
}
