package main

import (
	"bytes"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var (
	formTag  = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	inputTag = regexp.MustCompile(`<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"`)
)

// browser is a person's browser, without scripts: it keeps cookies, and follows
// redirects.
type browser struct {
	t    *testing.T
	c    *http.Client
	base string
	page string
	last *http.Response
}

func newBrowser(t *testing.T, base string) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, c: &http.Client{Jar: jar}, base: base}
}

func (b *browser) open(address string) int { return b.do(http.MethodGet, address, nil) }

func (b *browser) do(method, address string, form url.Values) int {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.base + address
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.c.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.page, b.last = string(raw), resp
	return resp.StatusCode
}

// fields are those of the page's form, as it stands.
func (b *browser) fields() (action string, form url.Values) {
	b.t.Helper()
	m := formTag.FindStringSubmatch(b.page)
	if m == nil {
		b.t.Fatalf("no form on this page:\n%s", b.page)
	}
	form = url.Values{}
	for _, in := range inputTag.FindAllStringSubmatch(b.page, -1) {
		if strings.Contains(in[0], `type="radio"`) || strings.Contains(in[0], `type="checkbox"`) {
			if !strings.Contains(in[0]+">", "checked") && !strings.Contains(b.page, in[0]+" checked") {
				continue
			}
		}
		form.Add(in[1], html.UnescapeString(in[2]))
	}
	return html.UnescapeString(m[1]), form
}

// submit sends the page's form, with some fields filled in.
func (b *browser) submit(with ...string) int {
	b.t.Helper()
	action, form := b.fields()
	for i := 0; i < len(with); i += 2 {
		form.Set(with[i], with[i+1])
	}
	if action != "" && strings.HasPrefix(action, "/") {
		at := *b.last.Request.URL
		action = at.Scheme + "://" + at.Host + action
	}
	return b.do(http.MethodPost, action, form)
}

func (b *browser) shows(part string) bool { return strings.Contains(b.page, part) }

// console is where a server prints its link.
type console struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.Write(p)
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}
