package servertest

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

// Browser is a person's browser, without scripts: it keeps cookies, and follows
// redirects.
type Browser struct {
	T    *testing.T
	C    *http.Client
	Base string
	Page string
	Last *http.Response
}

// NewBrowser returns a browser without cookies; addresses that begin with / are below base.
func NewBrowser(t *testing.T, base string) *Browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Browser{T: t, C: &http.Client{Jar: jar}, Base: base}
}

// Open gets a page, and returns the status of the response.
func (b *Browser) Open(address string) int { return b.Do(http.MethodGet, address, nil) }

// Do sends a request with a form, nil for none. It keeps the page and the last response, and
// returns the status.
func (b *Browser) Do(method, address string, form url.Values) int {
	b.T.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.Base + address
	}
	req, err := http.NewRequestWithContext(b.T.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.T.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.C.Do(req)
	if err != nil {
		b.T.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	b.Page, b.Last = string(raw), resp
	return resp.StatusCode
}

// Fields returns the fields of the page's form, and the form's action.
func (b *Browser) Fields() (action string, form url.Values) {
	b.T.Helper()
	m := formTag.FindStringSubmatch(b.Page)
	if m == nil {
		b.T.Fatalf("no form on this page:\n%s", b.Page)
	}
	form = url.Values{}
	for _, in := range inputTag.FindAllStringSubmatch(b.Page, -1) {
		if strings.Contains(in[0], `type="radio"`) || strings.Contains(in[0], `type="checkbox"`) {
			if !strings.Contains(in[0]+">", "checked") && !strings.Contains(b.Page, in[0]+" checked") {
				continue
			}
		}
		form.Add(in[1], html.UnescapeString(in[2]))
	}
	return html.UnescapeString(m[1]), form
}

// Submit sends the page's form, with some fields filled in.
func (b *Browser) Submit(with ...string) int {
	b.T.Helper()
	action, form := b.Fields()
	for i := 0; i < len(with); i += 2 {
		form.Set(with[i], with[i+1])
	}
	if action != "" && strings.HasPrefix(action, "/") {
		at := *b.Last.Request.URL
		action = at.Scheme + "://" + at.Host + action
	}
	return b.Do(http.MethodPost, action, form)
}

// Shows reports whether the page contains a text.
func (b *Browser) Shows(part string) bool { return strings.Contains(b.Page, part) }

// Console takes the output in which a server prints its link.
type Console struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.Write(p)
}

// Text returns all that was written.
func (c *Console) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}
