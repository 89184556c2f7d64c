package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app"
)

// Pages and API answer for the server's own names and no others: under any other one,
// a page of somebody else could read them in the browser of whoever reaches the server.
func TestAnswersForItsOwnNames(t *testing.T) {
	const token = "long enough for a test"
	w := newWindow(t, func(o *app.ServerOptions) {
		o.Hosts, o.Token = []string{"https://queue.example.com/", "Buildbox:9000", "other.example."}, token
		o.Intake = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "taken in") })
		o.Mounts = map[string]http.Handler{"/setup": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "set up") })}
	})
	ask := func(method, path, host string) (int, http.Header, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Authorization", "Bearer "+token)
		return mustDo(t, r)
	}
	for _, host := range []string{"", "127.0.0.1:9", "127.0.0.1", "[::1]:8080", "10.1.2.3:8080", "localhost", "LOCALHOST:8080", "shop.localhost:1",
		"queue.example.com", "Queue.Example.com.:443", "buildbox", "other.example:80"} {
		if status, _, text := ask(http.MethodGet, "/api/queue", host); status != http.StatusOK {
			t.Errorf("%q: %d, %s", host, status, text)
		}
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "queue.example.com.evil.example",
		"xqueue.example.com", "evil'&x.example"} {
		for _, path := range []string{"/", "/queue", "/change?id=7", "/log?build=b1", "/events", "/metrics", "/static/style.css", "/nothing",
			"/api/queues", "/api/queue", "/api/log?build=b1", "/api/history"} {
			status, _, text := ask(http.MethodGet, path, host)
			if status != http.StatusMisdirectedRequest || !strings.Contains(text, "--host") || strings.Contains(text, "acme") || strings.Contains(text, "'&x") && !strings.HasPrefix(path, "/api") {
				t.Errorf("%s as %q: %d, %.300s", path, host, status, text)
			}
		}
		if status, _, _ := ask(http.MethodPost, "/api/land", host); status != http.StatusMisdirectedRequest {
			t.Errorf("a command as %q: %d", host, status)
		}
		for path, want := range map[string]string{"/webhook": "taken in", "/webhook/github": "taken in", "/setup/x": "set up", "/healthz": "alive\n", "/readyz": "ready\n"} {
			if status, _, text := ask(http.MethodGet, path, host); status != http.StatusOK || text != want {
				t.Errorf("%s as %q: %d, %.300s", path, host, status, text)
			}
		}
	}
}
