package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

const ownToken = "the-servers-own-token"

// guarded is a server whose doors are closed, with a folder for tokens.
type guarded struct {
	*window
	dir string
}

func newGuarded(t *testing.T, change func(*app.ServerOptions)) *guarded {
	g := &guarded{dir: t.TempDir()}
	g.window = newWindow(t, func(o *app.ServerOptions) {
		o.Public, o.Access, o.Token, o.TokenName = false, g.dir, ownToken, "root"
		if change != nil {
			change(o)
		}
	})
	return g
}

func (g *guarded) add(t *testing.T, name string, role access.Role) (secret string) {
	t.Helper()
	secret, err := access.NewTokens(g.dir).Add(access.Token{Name: name, Role: role, Made: noon()})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func (g *guarded) remove(t *testing.T, name string) {
	t.Helper()
	if err := access.NewTokens(g.dir).Remove(name, noon()); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request with headers by pairs.
func (g *guarded) ask(t *testing.T, method, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return mustDo(t, r)
}

// All that the server answers at is closed, but for what has its own secrets or no content.
// An address that is new here is closed, or is added to these by hand.
func TestEveryAddressIsClosed(t *testing.T) {
	open := map[string]bool{"/healthz": true, "/readyz": true, "/webhook": true, "/webhook/:forge": true, "/static/*": true, "/enter": true, "/leave": true, "/setup*": true, "/docs": true, "/docs/:page": true, "/docs/img/*": true}
	g := newGuarded(t, func(o *app.ServerOptions) {
		o.Intake = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "taken in") })
		o.Mounts = map[string]http.Handler{"/setup": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "set up") })}
	})
	routes := g.server.Handler().(*echo.Echo).Routes()
	closed := 0
	for _, r := range routes {
		if open[r.Path] || r.Method == echo.RouteNotFound {
			continue
		}
		closed++
		path := strings.NewReplacer("*", "x", ":forge", "x").Replace(r.Path) + "?build=b1&id=7&what=x&max=3"
		for _, as := range [][]string{nil, {"Accept", "text/html"}, {"Authorization", "Bearer wrong"}, {"Authorization", "Basic " + ownToken}, {"Authorization", ownToken},
			{"Cookie", "submitqueue_x=" + ownToken}} {
			status, header, text := g.ask(t, r.Method, path, `{"number":7,"user":"root"}`, as...)
			if status != http.StatusUnauthorized || !strings.Contains(header.Get("WWW-Authenticate"), "Bearer") || header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s as %v: %d %v %s", r.Method, path, as, status, header, text)
			}
			for _, inside := range []string{"acme", "lena", "topic", "compiling", "submitqueue_", "boom"} {
				if strings.Contains(text, inside) {
					t.Errorf("%s %s tells strangers of %s:\n%s", r.Method, path, inside, text)
				}
			}
		}
	}
	if closed < 20 || len(g.source.submitted) != 0 {
		t.Errorf("%d addresses were tried, %d commands submitted", closed, len(g.source.submitted))
	}
	for path, want := range map[string]string{"/healthz": "alive", "/readyz": "ready", "/webhook": "taken in", "/setup/x": "set up", "/static/style.css": "prefers-color-scheme", "/enter": "Sign in", "/docs": "Documentation", "/docs/install": "Install on GitHub", "/docs/img/order.svg": "<svg"} {
		if status, _, text := g.ask(t, http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _, _ := g.ask(t, http.MethodGet, "/nothing", ""); status != http.StatusUnauthorized {
		t.Errorf("an address that is none: %d", status)
	}
}

// An unknown caller is told how to sign in: people by a page, programs by JSON.
func TestStrangersAreToldHowToComeIn(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) { o.Isolation = "none" })
	status, header, text := g.browser(t).get("/change?queue=acme/store@main&id=7")
	if status != 401 || !strings.Contains(text, "submitqueue token link") || !strings.Contains(text, `type="password"`) || strings.Contains(text, "--isolate none") ||
		!strings.Contains(text, `name="next" value="/change?queue=acme/store@main&amp;id=7"`) ||
		!strings.Contains(header.Get("Content-Security-Policy"), "form-action 'self'") || header.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("%d %v %s", status, header, text)
	}
	for _, path := range []string{"/api/queue", "/metrics", "/events", "/log?build=b1"} {
		status, header, text := g.ask(t, http.MethodGet, path, "")
		var says api.Error
		if err := json.Unmarshal([]byte(text), &says); err != nil || status != 401 || header.Get("Content-Type") != "application/json" || !strings.Contains(says.Error, "submitqueue token add") {
			t.Errorf("%s: %d %v %s", path, status, header, text)
		}
	}
}

// A role may do what the ones before it may, under the name of its token.
func TestRolesOfTokens(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) { o.Requests = &branches{tip: "beef"} })
	v := smallQueue()
	v.Main.Config = must(config.Parse("x", []byte("version: 1\nsteps: [{name: unit, run: 'true'}]\n")))
	g.source.set(v)
	tokens := map[string]string{"reader": g.add(t, "reader", access.Read), "ann": g.add(t, "ann", access.Land), "admin": g.add(t, "admin", access.Admin), "root": ownToken}
	for _, c := range []struct {
		path, body string
		may        string // the callers that may, besides root and admin
	}{
		{"/api/land", `{"number":7}`, "ann"},
		{"/api/land", `{"number":7,"priority":"low"}`, "ann"},
		{"/api/land", `{"number":7,"priority":"high"}`, ""},
		{"/api/land", `{"number":7,"priority":"none"}`, "ann"}, // the queue answers that
		{"/api/cancel", `{"number":7}`, "ann"},
		{"/api/pause", `{"reason":"x"}`, ""},
		{"/api/resume", `{}`, ""},
		{"/api/forget", `{"what":"x"}`, ""},
	} {
		for name, token := range tokens {
			before := len(g.source.submitted)
			status, _, text := g.ask(t, http.MethodPost, c.path, c.body, "Authorization", "Bearer "+token)
			may := name == "root" || name == "admin" || name == c.may
			switch {
			case may && (status != 202 || len(g.source.submitted) != before+1):
				t.Errorf("%s %s as %s: %d %s", c.path, c.body, name, status, text)
			case may:
				if by := g.source.submitted[before].Body.(queue.Commented).Author; by != name || mustDecode[api.Accepted](t, text).User != name {
					t.Errorf("%s %s as %s is given in the name of %s: %s", c.path, c.body, name, by, text)
				}
			case status != 403 || len(g.source.submitted) != before || !strings.Contains(text, name) || !strings.Contains(text, "role"):
				t.Errorf("%s %s as %s: %d %s", c.path, c.body, name, status, text)
			}
		}
	}
	for name, token := range tokens {
		for _, path := range []string{"/api/queue", "/", "/metrics", "/log?build=b1"} {
			if status, _, text := g.ask(t, http.MethodGet, path, "", "Authorization", "bearer  "+token); status != 200 {
				t.Errorf("%s as %s: %d %s", path, name, status, text)
			}
		}
	}
	// Nobody speaks for others.
	_, _, text := g.ask(t, http.MethodPost, "/api/land", `{"number":7,"user":"root"}`, "Authorization", "Bearer "+tokens["ann"])
	if a := mustDecode[api.Accepted](t, text); a.User != "ann" || !strings.Contains(a.Note, "ann") {
		t.Errorf("%s", text)
	}
	if logs := g.logs.String(); strings.Contains(logs, tokens["ann"]) || !strings.Contains(logs, "user=ann") {
		t.Errorf("the log: %s", logs)
	}
	g.remove(t, "ann")
	if status, _, _ := g.ask(t, http.MethodPost, "/api/land", `{"number":7}`, "Authorization", "Bearer "+tokens["ann"]); status != 401 {
		t.Errorf("a removed token: %d", status)
	}
}

// A session goes on after a restart; a live page ends with what let it in.
func TestLivePagesEndWithTheirTokens(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) { o.Beat = 10 * time.Millisecond })
	ann := g.add(t, "ann", access.Read)
	b := g.browser(t)
	b.do(http.MethodPost, "/enter", url.Values{"token": {ann}})
	again := newWindow(t, func(o *app.ServerOptions) { o.Public, o.Access = false, g.dir })
	moved := &browser{t, b.c, again.url} // cookies are a host's, whatever the port
	if !moved.in() {
		t.Error("a restart ends sessions")
	}
	streams := map[string]*bufio.Scanner{}
	for name, do := range map[string]func(*http.Request) (*http.Response, error){"token": http.DefaultClient.Do, "session": b.c.Do} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/events", nil))
		if name == "token" {
			r.Header.Set("Authorization", "Bearer "+ann)
		}
		answer := must(do(r))
		defer answer.Body.Close()
		streams[name] = bufio.NewScanner(answer.Body)
		await(t, streams[name], ": alive")
	}
	g.remove(t, "ann")
	for name, lines := range streams {
		for lines.Scan() {
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if status, _, _ := g.ask(t, http.MethodGet, "/events", "", "Authorization", "Bearer "+ann); status != 401 {
		t.Errorf("it begins again: %d", status)
	}
}

// Wrong tokens wait; however many there are, right ones do not.
func TestWrongTokensHoldNobodyUp(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) { o.WrongWait = time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	many := make(chan bool, 200)
	for range 130 {
		waiting.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/api/queue", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer sq_wrong")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return // cut off, in the end
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusTooManyRequests {
				t.Errorf("a wrong token: %d", answer.StatusCode)
			}
			many <- true
		})
	}
	for range 30 {
		<-many // 100 wait
	}
	if status, _, _ := g.ask(t, http.MethodGet, "/api/queue", "", "Authorization", "Bearer "+ownToken); status != 200 {
		t.Errorf("a right token: %d", status)
	}
	b := g.browser(t)
	if status, _, _ := b.do(http.MethodPost, "/enter", url.Values{"token": {ownToken}}); status != 303 || !b.in() {
		t.Errorf("signing in: %d", status)
	}
	if n := strings.Count(g.logs.String(), "wrong tokens or links"); n != 1 {
		t.Errorf("the log speaks of it %d times", n)
	}
	cancel()
	waiting.Wait()
}

// Public reading does not make commands public.
func TestPublicReading(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) { o.Public = true })
	for _, path := range []string{"/", "/api/queue", "/metrics", "/log?build=b1"} {
		if status, _, text := g.ask(t, http.MethodGet, path, "", "Authorization", "Bearer wrong"); status != 200 || strings.Contains(text, "/leave") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for _, path := range []string{"/api/land", "/api/pause", "/api/link"} {
		if status, _, text := g.ask(t, http.MethodPost, path, `{"number":7,"user":"root"}`); status != 401 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _, _ := g.ask(t, http.MethodPost, "/api/land", `{"number":7}`, "Authorization", "Bearer "+g.add(t, "reader", access.Read)); status != 403 {
		t.Errorf("a reader lands: %d", status)
	}
}

// Why the server is not ready names repositories.
func TestReadinessTellsStrangersLess(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) { o.Ready = func() error { return errors.New("acme/shop is not found") } })
	if status, _, text := g.ask(t, http.MethodGet, "/readyz", ""); status != 503 || strings.Contains(text, "acme") || !strings.Contains(text, "token") {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := g.ask(t, http.MethodGet, "/readyz", "", "Authorization", "Bearer "+ownToken); status != 503 || !strings.Contains(text, "acme/shop") {
		t.Errorf("%d %s", status, text)
	}
}
