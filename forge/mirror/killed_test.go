package mirror_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-slow
		for { // git has read that the pack comes
			locks, _ := filepath.Glob(filepath.Join(c.Mirror.Dir(), "submodules", "*", "shallow.lock"))
			if len(locks) > 0 {
				break
			}
		}
		stop()
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
