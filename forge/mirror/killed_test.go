package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A build is stopped while a submodule comes for it. git holds shallow.lock all that time, and is
// killed; the next build gets the submodule all the same.
func TestAFetchOfASubmoduleIsCutOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lib, app := repoAt(t, dir, "us/lib.git"), repoAt(t, dir, "us/app.git")
	backend := filepath.Join(app.run("", "--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git http-backend is not here")
	}
	base := lib.with(files{"l": "0"}, nil)
	l := lib.with(files{"l": "1"}, nil)
	lib.point("main", base) // a submodule may name a commit that no branch has any more
	a := app.with(files{".gitmodules": gitmodule("m", "m", "../lib.git")}, map[string]queue.CommitID{"m": l})
	serve := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}}
	slow := make(chan struct{}) // gets a value when the pack is about to come, and does not
	first := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		answer := httptest.NewRecorder()
		serve.ServeHTTP(answer, q)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		raw := answer.Body.Bytes()
		if at := bytes.Index(raw, []byte("packfile\n")); at >= 0 && first {
			first = false
			_, _ = w.Write(raw[:at+len("packfile\n")])
			_ = http.NewResponseController(w).Flush()
			slow <- struct{}{}
			<-q.Context().Done()
			return
		}
		_, _ = w.Write(raw)
	}))
	defer server.Close()
	c := mirror.Checkouts{Mirror: app.fetched(), Forge: host{remote: forge.Remote{URL: server.URL + "/us/app.git"}}}
	to := filepath.Join(t.TempDir(), "c")
	release, err := c.Checkout(t.Context(), a, to)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	go func() {
		<-slow
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for { // git has read that the pack comes
			locks, _ := filepath.Glob(filepath.Join(c.Mirror.Dir(), "submodules", "*", "shallow.lock"))
			if len(locks) > 0 {
				stop()
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := c.Fill(ctx, a, to, config.Checkout{Submodules: config.SubmodulesTop}); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Fatalf("it was not cut off: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	got, err := checkedOut(t, c, a, to, config.SubmodulesTop)
	wantFiles(t, got, err, "m/l=1")
}

// The server's own readers of a repository on this machine, and the one that writes its documents,
// stay for hours. They do not make a lock that nobody holds look held.
func TestOurOwnHelpersHoldNoLock(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("needs /proc to see who works in a repository")
	}
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	next := r.commit("next", "next", files{"f": "2"}, base)
	m := r.fetched("main")
	if err := m.Remotes.FetchHead(t.Context(), r.remote(), "refs/heads/next", next); err != nil {
		t.Fatal(err)
	}
	s := must(mirror.OpenStore(t.Context(), r.dir))(t)
	defer s.Close()
	must(s.Put(t.Context(), "refs/submitqueue/requests/1", []byte("one\n"), ""))(t)
	if _, _, err := s.Get(t.Context(), "refs/submitqueue/requests/1"); err != nil {
		t.Fatal(err)
	}
	lock, old := filepath.Join(r.dir, "refs", "heads", "main.lock"), time.Now().Add(-2*time.Minute)
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if outcome, err := m.Remotes.Push(t.Context(), r.remote(), "main", base, next); !strings.Contains(fmt.Sprint(err), "nobody held "+lock) {
		t.Errorf("a stale lock: %+v %v", outcome, err)
	}
	if outcome, err := m.Remotes.Push(t.Context(), r.remote(), "main", base, next); err != nil || !outcome.Moved {
		t.Errorf("after it: %+v %v", outcome, err)
	}
}

// A branch that could not be locked is not gone: the caller, who would take it for deleted, tries
// again.
func TestDeleteUnderALock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	topic := r.commit("topic", "topic", files{"g": "1"}, base)
	m := r.fetched("topic")
	lock := filepath.Join(r.dir, "refs", "heads", "topic.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var passing *forge.Transient
	if err := m.Remotes.Delete(t.Context(), r.remote(), "topic", topic); !errors.As(err, &passing) {
		t.Errorf("under a lock: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is gone the second time
		if err := m.Remotes.Delete(t.Context(), r.remote(), "topic", topic); err != nil {
			t.Error(err)
		}
	}
	other := r.commit("topic", "other", files{"g": "2"}, base)
	if err := m.Remotes.Delete(t.Context(), r.remote(), "topic", topic); err != nil || r.tip("topic") != other {
		t.Errorf("a branch that has moved: %v", err)
	}
}

// Callers that give up while the mirror's own refs move leave no locks there: git is not ended in
// the middle of it. Else the mirror would count as damaged, and be fetched anew as a whole.
func TestACallerGivesUpWhileRefsMove(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	var made strings.Builder
	for i := range 300 {
		fmt.Fprintf(&made, "commit refs/heads/h%03d\ncommitter a <a@x> %d +0000\ndata 0\nfrom %s\n", i, i, base)
	}
	r.run(made.String(), "fast-import", "--quiet")
	m := r.fetched("main")
	m.LooseLimit = 0
	var commits []queue.CommitID
	var heads []mirror.HeadRef
	for i, id := range strings.Fields(r.run("", "for-each-ref", "--format=%(objectname)", "refs/heads/h*")) {
		commits = append(commits, queue.CommitID(id))
		heads = append(heads, mirror.HeadRef{Ref: fmt.Sprintf("refs/heads/h%03d", i), Want: queue.CommitID(id)})
	}
	must(m.Remotes.FetchHeads(t.Context(), r.remote(), heads))(t)
	keep := func() {
		t.Helper()
		if err := m.Refs.Keep(t.Context(), commits); err != nil {
			t.Fatal(err)
		}
		if err := m.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	began := time.Now()
	if err := m.Refs.Release(t.Context(), commits); err != nil {
		t.Fatal(err)
	}
	whole, cut := time.Since(began), 0
	const tries = 10
	for try := range tries {
		within := whole * time.Duration(try+1) / 8
		if try == tries-1 {
			within = time.Minute // one that is in time
		}
		keep()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		_ = m.Refs.Release(ctx, commits)
		if ctx.Err() != nil {
			cut++
		}
		cancel()
		keep()
		if err := m.Refs.Release(t.Context(), commits); err != nil {
			t.Fatalf("after it was cut off within %v: %v; suspected: %t, damaged: %s", within, err, m.Suspect(err), m.Examine(t.Context(), err))
		}
	}
	if cut == 0 || cut == tries {
		t.Errorf("%d of %d callers gave up: too few or too many to show anything", cut, tries)
	}
}

// Caches of submodules that only runners on other machines use go like the others when nobody has
// used them for long, and stay while they are used, whoever does.
func TestCachesThatOnlyOtherMachinesUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := repoAt(t, dir, "us/app.git")
	var at []queue.CommitID
	for _, name := range []string{"gone", "far", "new"} {
		l := repoAt(t, dir, "us/"+name+".git").with(files{"l": name}, nil)
		at = append(at, app.with(files{"m": "-", ".gitmodules": gitmodule("m", "m", "../"+name+".git")}, nil), app.with(nil, map[string]queue.CommitID{"m": l}))
	}
	c := mirror.Checkouts{Mirror: app.fetched(), Forge: host{remote: app.remote()}}
	caches := func() (list []string) {
		list, _ = filepath.Glob(filepath.Join(c.Mirror.Dir(), "submodules", "*"))
		return list
	}
	far := func(commit queue.CommitID) {
		t.Helper()
		must(c.Outside(t.Context(), commit, config.Checkout{Submodules: config.SubmodulesTop}))(t)
	}
	far(at[1])
	_, err := checkedOut(t, c, at[3], filepath.Join(t.TempDir(), "c"), config.SubmodulesTop)
	if err != nil || len(caches()) != 2 {
		t.Fatalf("%v %v", caches(), err)
	}
	old := time.Now().Add(-31 * 24 * time.Hour)
	for _, cache := range caches() {
		entries, _ := os.ReadDir(cache)
		for _, e := range entries {
			if err := os.Chtimes(filepath.Join(cache, e.Name()), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	far(at[3]) // which a runner of this machine has used long ago
	far(at[5]) // a new cache
	if n := len(caches()); n != 2 {
		t.Errorf("%d caches are left, want the 2 that are used", n)
	}
	out := must(c.Outside(t.Context(), at[3], config.Checkout{Submodules: config.SubmodulesTop}))(t)
	if made, err := os.Stat(filepath.Join(out.Modules[0].Git, "HEAD")); err != nil || made.ModTime().After(old.Add(time.Hour)) {
		t.Errorf("the one that was used just now has been removed: %v", err)
	}
}
