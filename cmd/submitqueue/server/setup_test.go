package server

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server/servertest"
	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// serving is a server that was started by the command.
type serving struct {
	t       *testing.T
	data    string
	base    string
	token   string // the server's own
	console *servertest.Console
	stop    func()
}

func startServe(t *testing.T, data string, spoil func(*Serve)) *serving {
	t.Helper()
	s := &serving{t: t, data: data, console: &servertest.Console{}}
	c := &Serve{Forge: []string{"github"}, Listen: "127.0.0.1:0", Data: data, Redis: "auto", Runners: 1, CIBuilds: 2, RefPrefix: "submitqueue", out: s.console}
	spoil(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	_ = os.Remove(client.PathOf(data))
	go func() { done <- c.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	s.until("the server runs", func() bool {
		select {
		case err := <-done:
			done <- nil // for stop
			t.Fatalf("the server ended: %v", err)
		default:
		}
		f, err := client.ReadFile(data)
		s.base, s.token = f.URL, f.Token
		return err == nil
	})
	return s
}

func (s *serving) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("never: %s\nconsole:\n%s", what, s.console.Text())
		}
	}
}

var setupLink = regexp.MustCompile(`http://\S+/setup\?token=\S+`)

func (s *serving) link() string {
	s.t.Helper()
	s.until("a link is printed", func() bool { return setupLink.MatchString(s.console.Text()) })
	return setupLink.FindString(s.console.Text())
}

func (s *serving) queues() string {
	c := &client.Client{Base: s.base, Token: s.token}
	var out []api.QueueSummary
	if err := c.Get(s.t.Context(), "/api/queues", &out); err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, q := range out {
		names = append(names, q.Name)
	}
	return strings.Join(names, " ")
}

func newShopServer(t *testing.T) (*forgetest.Server, *forgetest.Repository) {
	t.Helper()
	hub, err := forgetest.New(forgetest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hub.Close() })
	repo := addRepository(t, hub, "acme", "shop", map[string]string{".submitqueue.yml": passConfig})
	return hub, repo
}

func addRepository(t *testing.T, hub *forgetest.Server, owner, name string, files map[string]string) *forgetest.Repository {
	t.Helper()
	r, err := hub.AddRepository(owner, name, "main")
	if err != nil {
		t.Fatal(err)
	}
	r.SetPermission("ann", "write")
	if _, err := r.Commit(owner, forgetest.Commit{Branch: "main", Files: files}); err != nil {
		t.Fatal(err)
	}
	return r
}

// A server that has nothing becomes one that lands changes, without a restart:
// the link of the console, one form, one click at GitHub, the installation, and
// /land.
func TestSetUpToLanding(t *testing.T) {
	t.Parallel()
	hub, repo := newShopServer(t)
	s := startServe(t, t.TempDir(), func(c *Serve) { c.GithubURL = hub.APIURL() })

	stranger := servertest.NewBrowser(t, s.base)
	for _, path := range []string{"/setup", "/setup/made?code=x&state=y", "/setup?token=guess"} {
		if status := stranger.Open(path); status != http.StatusForbidden || stranger.Shows("organization") {
			t.Errorf("%s is open to everybody: %d", path, status)
		}
	}
	if status := stranger.Do(http.MethodPost, "/setup/start", url.Values{"site": {hub.URL()}}); status != http.StatusForbidden {
		t.Errorf("the form is open to everybody: %d", status)
	}
	if status := stranger.Open("/"); status != http.StatusUnauthorized || !stranger.Shows("Sign in") || stranger.Shows("No queue yet") {
		t.Errorf("the first page: %d\n%s", status, stranger.Page)
	}

	b := servertest.NewBrowser(t, s.base)
	if status := b.Open(s.link()); status != 200 || !b.Shows("Connect this server to GitHub") || strings.Contains(b.Last.Request.URL.String(), "token") {
		t.Fatalf("%d %s\n%s", status, b.Last.Request.URL, b.Page)
	}
	if reader := (&servertest.Browser{T: t, C: b.C, Base: s.base}); reader.Open("/") != 200 || !reader.Shows("No queue yet") {
		t.Errorf("the link of the set-up does not sign in:\n%s", reader.Page)
	}
	for _, n := range []string{"contents", "administration", "issue_comment"} {
		if !b.Shows("<code>" + n + "</code>") {
			t.Errorf("%s is not listed", n)
		}
	}
	if got := b.Last.Header.Get("Content-Security-Policy"); !strings.Contains(got, "form-action 'self'") {
		t.Errorf("policy %q", got)
	}
	if status := b.Submit("server", "nowhere"); status != 400 || !b.Shows("The address of this server is not one") {
		t.Errorf("a bad address: %d", status)
	}
	if status := b.Submit("server", s.base, "organization", "acme"); status != 200 || !b.Shows("On to GitHub") {
		t.Fatalf("%d\n%s", status, b.Page)
	}
	if got := b.Last.Header.Get("Content-Security-Policy"); !strings.Contains(got, "form-action "+hub.URL()+";") {
		t.Errorf("policy %q", got)
	}
	action, _ := b.Fields()
	if !strings.HasPrefix(action, hub.URL()+"/organizations/acme/settings/apps/new?state=") {
		t.Errorf("action %s", action)
	}
	if status := b.Submit(); status != 200 || !b.Shows("Create GitHub App for acme") {
		t.Fatalf("GitHub refuses the manifest: %d %s", status, b.Page)
	}
	if status := b.Submit(); status != 200 || !b.Shows("Install it on repositories") || strings.Contains(b.Last.Request.URL.RawQuery, "code") {
		t.Fatalf("%d %s\n%s", status, b.Last.Request.URL, b.Page)
	}
	if !b.Shows(hub.URL() + "/apps/submitqueue/installations/new") {
		t.Errorf("no link to the installation:\n%s", b.Page)
	}
	path := githubapp.PathOf(s.data)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the credentials: %v %v", info, err)
	}
	if b.Shows("PRIVATE KEY") || strings.Contains(s.console.Text(), "PRIVATE KEY") {
		t.Error("the key is shown")
	}
	if status := b.Open("/setup/made"); status != 200 { // loaded again
		t.Errorf("%d", status)
	}
	for _, path := range []string{"/setup", "/setup?token=x", strings.TrimPrefix(s.link(), s.base)} {
		if status := stranger.Open(path); status != http.StatusNotFound {
			t.Errorf("%s after the set-up: %d", path, status)
		}
	}

	hub.App.Install("acme")
	s.until("the repository has a queue", func() bool { return s.queues() == "acme/shop@main" })
	if _, err := repo.Commit("ann", forgetest.Commit{Branch: "topic", From: "main", Files: map[string]string{"a.txt": "a\n"}}); err != nil {
		t.Fatal(err)
	}
	n, err := repo.OpenPull("ann", "topic", "main", "A topic")
	if err != nil {
		t.Fatal(err)
	}
	repo.Comment("ann", n, "/land")
	merged(t, repo, n)
	s.stop()

	// The next start needs no set-up.
	s = startServe(t, s.data, func(c *Serve) {})
	s.until("the queue is back", func() bool { return s.queues() == "acme/shop@main" })
	if setupLink.MatchString(s.console.Text()) {
		t.Error("a link is printed again")
	}
	b.Base = s.base
	if status := b.Open("/"); status != 200 || !b.Shows("acme/shop") {
		t.Errorf("the session of the set-up is over: %d\n%s", status, b.Page)
	}
}

// An answer of GitHub is taken once, from the browser that was sent there.
func TestSetUpIsGuarded(t *testing.T) {
	t.Parallel()
	hub, _ := newShopServer(t)
	s := startServe(t, t.TempDir(), func(c *Serve) { c.GithubURL, c.ShowApp = hub.APIURL(), true })
	b := servertest.NewBrowser(t, s.base)
	b.Open(s.link())
	b.Submit("server", s.base)
	b.Submit() // at GitHub now
	b.C.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.Submit()
	back, err := b.Last.Location()
	if err != nil {
		t.Fatal(err)
	}
	b.C.CheckRedirect = nil

	forged := *back
	forged.RawQuery = url.Values{"code": back.Query()["code"], "state": {"another"}}.Encode()
	if status := b.Open(forged.String()); status != http.StatusBadRequest || !b.Shows("belongs to no form of this browser") {
		t.Errorf("a forged state: %d", status)
	}
	other := servertest.NewBrowser(t, s.base)
	if status := other.Open(back.String()); status != http.StatusForbidden {
		t.Errorf("another browser: %d", status)
	}
	hub.App.ExpireManifests()
	if status := b.Open(back.String()); status != http.StatusBadGateway || !b.Shows("good once, for an hour") {
		t.Errorf("an old code: %d\n%s", status, b.Page)
	}
	if status := b.Open(back.String()); status != http.StatusBadRequest {
		t.Errorf("the same state again: %d", status)
	}

	// The link in another browser ends the first one's session.
	other.Open(s.link())
	if status := b.Open("/setup"); status != http.StatusForbidden {
		t.Errorf("the first browser: %d", status)
	}
	other.Submit("server", s.base)
	other.Submit()
	if status := other.Submit(); status != 200 || !other.Shows("PRIVATE KEY") || !other.Shows("--github-app FILE") {
		t.Fatalf("%d\n%s", status, other.Page)
	}
	if _, err := os.Stat(githubapp.PathOf(s.data)); !os.IsNotExist(err) {
		t.Errorf("the credentials were to be shown, not kept: %v", err)
	}
	// The page shows the file.
	text := other.Page[strings.Index(other.Page, "<textarea"):]
	text = html.UnescapeString(text[strings.Index(text, ">")+1 : strings.Index(text, "</textarea>")])
	var a githubapp.File
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.API != hub.APIURL() || a.ID != hub.AppID() {
		t.Errorf("%v %+v", err, a)
	}
	addRepository(t, hub, "owner", "tool", map[string]string{".submitqueue.yml": passConfig})
	hub.App.Install("owner") // the App's owner, as this GitHub calls whoever is logged in
	s.until("it works as the App all the same", func() bool { return s.queues() == "owner/tool@main" })
	file := filepath.Join(t.TempDir(), "app.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s = startServe(t, s.data, func(c *Serve) { c.App = file })
	s.until("the file serves a start", func() bool { return s.queues() == "owner/tool@main" })
}

// With --repo, the App that was made serves those, and no others.
func TestSetUpForOneRepository(t *testing.T) {
	t.Parallel()
	hub, _ := newShopServer(t)
	addRepository(t, hub, "acme", "other", map[string]string{".submitqueue.yml": passConfig})
	s := startServe(t, t.TempDir(), func(c *Serve) { c.GithubURL, c.Repo = hub.APIURL(), []string{"acme/shop"} })
	b := servertest.NewBrowser(t, s.base)
	b.Open(s.link())
	b.Submit("server", s.base, "organization", "acme")
	b.Submit()
	b.Submit()
	hub.App.Install("acme")
	s.until("the queue is there", func() bool { return s.queues() == "acme/shop@main" })
}

func TestSetUpKeepsCredentialsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	var made []githubapp.File
	s := newSetup(setupOptions{File: filepath.Join(t.TempDir(), "no", "such", "folder"), Log: slog.New(slog.DiscardHandler),
		Made: func(a githubapp.File) error { made = append(made, a); return nil }})
	hub, _ := newShopServer(t)
	b := servertest.NewBrowser(t, "")
	mux := http.NewServeMux()
	mux.Handle("/setup", s)
	mux.Handle("/setup/", s)
	web := newTestServer(t, mux)
	b.Base = web
	b.Open("/setup?token=" + s.token)
	b.Submit("server", "https://queue.example.com", "site", hub.URL())
	b.Submit()
	if status := b.Submit(); status != 200 || !b.Shows("could not be kept") || !b.Shows("PRIVATE KEY") || len(made) != 1 {
		t.Errorf("%d %d\n%s", status, len(made), b.Page)
	}
}

// roundTrip is a GitHub that answers as a function does.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// GitHub gives an App's credentials once: a person who leaves while they are under way, and
// loads the page again, finds them; where GitHub is away, the code, which is as good as the
// credentials, is not told to others, and good once more.
func TestSetUpOutlivesItsBrowser(t *testing.T) {
	t.Parallel()
	var leave func()
	var log bytes.Buffer
	now, away := time.Now(), true
	made := 0
	s := newSetup(setupOptions{Log: slog.New(slog.NewTextHandler(&log, nil)), Show: true, Now: func() time.Time { return now }, Made: func(githubapp.File) error { made++; return nil },
		Wire: roundTrip(func(r *http.Request) (*http.Response, error) {
			if away {
				return nil, io.ErrUnexpectedEOF
			}
			leave()
			if err := r.Context().Err(); err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusCreated, Request: r, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader(`{"id":7,"slug":"queue","html_url":"https://github.com/apps/queue","webhook_secret":"s","pem":"PRIVATE KEY"}`))}, nil
		})})
	var cookie *http.Cookie
	ask := func(ctx context.Context, method, target string, form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if cookie != nil {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	cookie = ask(t.Context(), http.MethodGet, "/setup?token="+s.token, nil).Result().Cookies()[0]
	ask(t.Context(), http.MethodPost, "/setup/start", url.Values{"form": {s.form}, "server": {"https://queue.example.com"}, "keep": {"show"}})
	back := ""
	for state := range s.states {
		back = "/setup/made?code=sesame&state=" + state
	}
	if w := ask(t.Context(), http.MethodGet, back, nil); w.Code != http.StatusBadGateway || strings.Contains(w.Body.String()+log.String(), "sesame") {
		t.Errorf("GitHub is away: %d\n%s\n%s", w.Code, w.Body, &log)
	}
	away = false
	ctx, cancel := context.WithCancel(t.Context())
	leave = cancel
	ask(ctx, http.MethodGet, back, nil)
	if w := ask(t.Context(), http.MethodGet, "/setup/made", nil); w.Code != http.StatusOK || made != 1 || !strings.Contains(w.Body.String(), "PRIVATE KEY") {
		t.Errorf("loaded again: %d, made %d\n%s", w.Code, made, w.Body)
	}
	now = now.Add(setupLife + time.Second)
	if w := ask(t.Context(), http.MethodGet, "/setup/made", nil); w.Code != http.StatusNotFound {
		t.Errorf("an hour later: %d", w.Code)
	}
}

func newTestServer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
