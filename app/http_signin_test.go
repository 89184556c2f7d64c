package app_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// browser is a person's: it keeps cookies, and follows no redirects.
type browser struct {
	t    *testing.T
	c    *http.Client
	base string
}

func (g *guarded) browser(t *testing.T) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, g.url}
}

func (b *browser) do(method, path string, form url.Values, headers ...string) (int, http.Header, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml;q=0.9")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.c.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

func (b *browser) get(path string) (int, http.Header, string) {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil)
}

// in reports whether the browser may read.
func (b *browser) in() bool {
	b.t.Helper()
	status, _, text := b.get("/")
	switch in := strings.Contains(text, "acme/store"); {
	case in && status == http.StatusOK:
		return true
	case !in && status == http.StatusUnauthorized:
		return false
	}
	b.t.Fatalf("%d %s", status, text)
	return false
}

// A link may be looked at by a program that previews it; it opens a session for the person who
// presses the button.
func TestLinkOpensOneSession(t *testing.T) {
	g := newGuarded(t, nil)
	link := g.server.Link()
	b := g.browser(t)
	if b.in() {
		t.Fatal("the door is open")
	}
	for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodGet} {
		if status, header, text := b.do(method, link, nil); status != 200 || header.Get("Set-Cookie") != "" || method == http.MethodGet && !strings.Contains(text, "<button") ||
			header.Get("Cache-Control") != "no-store" || strings.Contains(text, "acme") {
			t.Fatalf("%s: %d %v %s", method, status, header, text)
		}
	}
	code := must(url.Parse(link)).Query().Get("code")
	status, header, _ := b.do(http.MethodPost, "/enter", url.Values{"code": {code}})
	cookie := header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie %s is not %s", cookie, part)
		}
	}
	if status != 303 || header.Get("Location") != "/" || !b.in() || strings.Contains(cookie, "Secure") {
		t.Errorf("%d %v", status, header)
	}
	if _, _, text := b.get("/"); !strings.Contains(text, `href="/leave"`) {
		t.Error("nothing leads out")
	}
	second := g.browser(t)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		path, form := link, url.Values(nil)
		if method == http.MethodPost {
			path, form = "/enter", url.Values{"code": {code}}
		}
		if status, _, text := second.do(method, path, form); status/100 != 4 || !strings.Contains(text, "good once") || second.in() {
			t.Errorf("%s a second time: %d %s", method, status, text)
		}
	}
	// A session reads, and never commands.
	if status, _, text := b.do(http.MethodPost, "/api/pause", nil, "Content-Type", "application/json"); status != 401 || len(g.source.submitted) != 0 {
		t.Errorf("a command by cookie: %d %s", status, text)
	}
	if status, _, text := b.do(http.MethodPost, "/api/link", nil); status != 401 {
		t.Errorf("a link by cookie: %d %s", status, text)
	}
	if status, _, text := b.get("/leave"); status != 200 || !strings.Contains(text, "signed in as") {
		t.Errorf("to sign out: %d %s", status, text)
	}
	if status, _, _ := b.do(http.MethodPost, "/leave", url.Values{}); status != 303 || b.in() {
		t.Errorf("signed out: %d", status)
	}
}

// A token pasted into the page signs in, and leads to the page that was asked for.
func TestTokenSignsIn(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) {
		o.URL = "https://queue.example.com"
		o.Hosts = []string{"queue.example.com"}
	})
	ann := g.add(t, "ann", access.Read)
	for next, want := range map[string]string{"/change?id=7": "/change?id=7", "": "/", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/",
		"javascript:alert(1)": "/", "/enter": "/", "/leave": "/", "/a\r\nSet-Cookie: x=y": "/", "/log?build=b1#x": "/log?build=b1#x"} {
		b := g.browser(t)
		status, header, _ := b.do(http.MethodPost, "/enter", url.Values{"token": {" " + ann + "\n"}, "next": {next}})
		if status != 303 || header.Get("Location") != want || !b.in() {
			t.Errorf("%q: %d to %q, want %q", next, status, header.Get("Location"), want)
		}
	}
	b := g.browser(t)
	status, _, text := b.do(http.MethodPost, "/enter", url.Values{"token": {"sq_wrong"}, "next": {"/change?id=7"}})
	if status != 401 || b.in() || strings.Contains(text, "sq_wrong") || !strings.Contains(text, `value="/change?id=7"`) || !strings.Contains(text, "This token is wrong") {
		t.Errorf("%d %s", status, text)
	}
	// Behind https, the cookie goes by https only.
	for _, c := range [][]string{{"Host", "queue.example.com"}, {"X-Forwarded-Proto", "https"}} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/enter", strings.NewReader(url.Values{"token": {ann}}.Encode())))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(c[0], c[1])
		if c[0] == "Host" {
			r.Host = c[1]
		}
		answer := must((&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r))
		_ = answer.Body.Close()
		if cookie := answer.Header.Get("Set-Cookie"); !strings.Contains(cookie, "Secure") {
			t.Errorf("%v: %s", c, cookie)
		}
	}
	b = g.browser(t)
	b.do(http.MethodPost, "/enter", url.Values{"token": {ann}})
	g.remove(t, "ann")
	if b.in() {
		t.Error("a session outlives its token")
	}
}

// A page elsewhere signs nobody in or out.
func TestForeignFormsAreRefused(t *testing.T) {
	g := newGuarded(t, func(o *app.ServerOptions) { o.URL = "https://queue.example.com/" })
	ann := g.add(t, "ann", access.Read)
	in := g.browser(t)
	in.do(http.MethodPost, "/enter", url.Values{"token": {ann}})
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		b := g.browser(t)
		if status, header, _ := b.do(http.MethodPost, "/enter", url.Values{"token": {ann}}, headers...); status != 403 || header.Get("Set-Cookie") != "" {
			t.Errorf("%v: %d %v", headers, status, header)
		}
		if status, _, _ := in.do(http.MethodPost, "/leave", url.Values{}, headers...); status != 403 || !in.in() {
			t.Errorf("%v signs out: %d", headers, status)
		}
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Origin", g.url}, {"Origin", "https://queue.example.com"}} {
		b := g.browser(t)
		if status, _, _ := b.do(http.MethodPost, "/enter", url.Values{"token": {ann}}, headers...); status != 303 || !b.in() {
			t.Errorf("%v: %d", headers, status)
		}
	}
}

// In a real browser the button of a link signs in, under the policies that the pages have,
// and a form of another site does not.
func TestBrowserSignsIn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	chromium, err := exec.LookPath("chromium")
	storetest.Need(t, "chromium", err == nil)
	for _, c := range []struct {
		name string
		in   bool
		ends string                               // whose token is removed once the page listens
		page func(g *guarded, base string) string // the page that the browser opens
	}{
		{"by the link", true, "", func(g *guarded, base string) string { return base + g.server.Link() }},
		{"until its token is removed", false, "ann", func(g *guarded, base string) string {
			_, _, text := g.ask(t, http.MethodPost, "/api/link", "", "Authorization", "Bearer "+g.add(t, "ann", access.Read))
			return base + mustDecode[api.Link](t, text).Path
		}},
		{"by a form elsewhere", false, "", func(g *guarded, base string) string {
			code := strings.TrimPrefix(g.server.Link(), "/enter?code=")
			evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, `<form method=post action="`+base+`/enter"><input name=code value="`+code+`"></form><script>document.forms[0].submit()</script>`)
			}))
			t.Cleanup(evil.Close)
			return strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			g := newGuarded(t, nil)
			proxy := httputil.NewSingleHostReverseProxy(must(url.Parse(g.url)))
			proxy.ModifyResponse = func(r *http.Response) error { // the person at the browser presses the button
				if r.Request.URL.Path != "/enter" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
					return nil
				}
				text, err := io.ReadAll(r.Body)
				page := regexp.MustCompile("</head>").ReplaceAllLiteralString(string(text), `<script src="/static/press.js" defer></script></head>`)
				r.Body = io.NopCloser(strings.NewReader(page))
				r.ContentLength = int64(len(page))
				r.Header.Set("Content-Length", strconv.Itoa(len(page)))
				return err
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/static/press.js":
					w.Header().Set("Content-Type", "text/javascript")
					_, _ = io.WriteString(w, `const b = document.querySelector("form[action='/enter'] button"); if (document.querySelector("input[name=code]")) b.click();`)
				case "/events":
					if c.ends == "" {
						w.WriteHeader(http.StatusNoContent) // a browser with an open stream never ends
						return
					}
					if err := access.NewTokens(g.dir).Remove(c.ends, noon()); err != nil && !errors.Is(err, access.ErrNoToken) {
						t.Error(err)
					}
					proxy.ServeHTTP(w, r)
				default:
					proxy.ServeHTTP(w, r)
				}
			}))
			defer server.Close()
			out, err := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(),
				"--virtual-time-budget=5000", "--dump-dom", c.page(g, server.URL)).Output()
			if err != nil {
				t.Fatal(err)
			}
			turned := "not sent from a page of this server"
			if c.ends != "" {
				turned = "submitqueue token link"
			}
			if in := strings.Contains(string(out), "acme/store"); in != c.in || !in && !strings.Contains(string(out), turned) || c.ends != "" && !strings.Contains(g.logs.String(), "name="+c.ends) {
				t.Errorf("in: %t\n%s\n%s", in, out, g.logs)
			}
		})
	}
}
