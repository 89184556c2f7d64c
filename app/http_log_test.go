package app_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A browser gets a log as a page that fits a phone, with all of the log as text, and
// everything else gets it as it is.
func TestLogIsAPageInABrowser(t *testing.T) {
	w := newWindow(t, nil)
	w.source.mu.Lock()
	w.source.logs["b1"] = "compiling\n<script>alert(1)</script> & more\n"
	w.source.mu.Unlock()
	ask := func(path string) (string, string) {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil))
		r.Header.Set("Accept", "text/html,*/*")
		status, header, body := mustDo(t, r)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		return header.Get("Content-Type"), body
	}
	kind, body := ask("/log?build=b1")
	for _, want := range []string{"Log of build", `name="viewport"`, `href="/log?raw=1&amp;build=b1"`, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more", "load this page again for more", "</html>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in:\n%s", want, body)
		}
	}
	if !strings.HasPrefix(kind, "text/html") || strings.Contains(body, "<script>alert") {
		t.Errorf("%s:\n%s", kind, body)
	}
	if kind, body = ask("/log?raw=1&build=b1"); !strings.HasPrefix(kind, "text/plain") || !strings.HasPrefix(body, "compiling\n<script>") {
		t.Errorf("%s:\n%s", kind, body)
	}
}

// A running build's log whose end may be half a code or half a character, such as a
// progress display's "\r", ends the answer as any other log does: the rest is not read
// again and again until the build goes on.
func TestLogThatEndsInAHalfCodeIsAnswered(t *testing.T) {
	w := newWindow(t, nil)
	for what, end := range map[string]string{"return": "receiving objects: 45%\r", "code": "\x1b[3", "character": "\xc3"} {
		w.source.mu.Lock()
		w.source.logs["b1"] = "compiling\n" + end
		w.source.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		r := must(http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/log?raw=1&build=b1", nil))
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(res.Body)
			res.Body.Close()
			if !strings.HasPrefix(string(body), "compiling\n") || !strings.Contains(string(body), "load this page again for more") {
				t.Errorf("%s: %q", what, body)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
}
