package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The documentation is there for whoever has a link to it, also on a closed server, and tells
// nobody of the server's queues. What is searched for is hostile text.
func TestDocumentationIsServed(t *testing.T) {
	g := newGuarded(t, nil)
	for _, c := range []struct {
		path   string
		status int
		has    string
	}{
		{"/docs", 200, `href="/docs/troubleshoot#why-is-mine-waiting"`},
		{"/docs/install", 200, `<h2 id="let-the-app-push">`},
		{"/docs/decide", 200, `src="/docs/img/decide.svg"`},
		{"/docs/keys", 200, `<h3 id="queuemax_overtake">`},
		{"/docs/install.md", 404, "no such page"},
		{"/docs/nothing", 404, "no such page"},
		{"/docs/img/", 404, ""},
		{"/docs?q=app+push", 200, `href="/docs/install#let-the-app-push"`},
		{"/docs?q=zzzz", 200, "No section has all of these words"},
		{"/docs?q=+", 200, "I want to"},
		{"/docs?q=" + url.QueryEscape(hostileTitle), 200, "&lt;script&gt;alert(1)&lt;/script&gt;"},
		{"/docs?q=" + url.QueryEscape(strings.Repeat("é", 300)), 200, "Search"},
	} {
		status, header, text := g.ask(t, http.MethodGet, c.path, "", "Accept", "text/html")
		if status != c.status || !strings.Contains(text, c.has) || strings.Contains(text, "acme/store") || strings.Contains(text, hostileTitle) {
			t.Errorf("%.60s: %d %.300s", c.path, status, text)
		}
		if status == 200 && !strings.Contains(header.Get("Content-Security-Policy"), "form-action 'self'") {
			t.Errorf("%.60s: its search cannot be used under %q", c.path, header.Get("Content-Security-Policy"))
		}
	}
}
