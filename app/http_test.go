package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// windowSource is what the server under test shows: queues that a test sets.
type windowSource struct {
	mu        sync.Mutex
	queues    map[string]queue.QueueView
	notes     []queue.Note
	logs      map[string]string
	changed   chan struct{}
	submitted []queue.Event
	came      chan queue.Event // gets what is submitted; nil: nobody waits for it
	down      error
}

func (s *windowSource) Queues() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for n := range s.queues {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (s *windowSource) Queue(name string) (queue.QueueView, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.queues[name]
	return v, ok
}

func (s *windowSource) Brief(name string) (api.Brief, bool) {
	v, ok := s.Queue(name)
	return api.Brief{Name: v.Name, Main: v.Main, Away: v.Away}, ok
}

func (s *windowSource) Change(name, id string) (queue.View, bool) {
	v, _ := s.Queue(name)
	for _, c := range v.Order {
		if string(c.Change.ID) == id || strconv.Itoa(c.Change.Number) == id {
			return c, true
		}
	}
	for _, c := range v.Recent {
		if string(c.ID) == id || strconv.Itoa(c.Number) == id {
			return queue.View{Change: c}, true
		}
	}
	return queue.View{}, false
}

func (s *windowSource) History(_ context.Context, _ string, max int) ([]queue.Note, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	return s.notes[:min(max, len(s.notes))], nil
}

func (s *windowSource) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *windowSource) BuildLog(id string, after int64) ([]byte, int64, bool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.logs[id]
	if after < 0 {
		after = max(0, int64(len(text))+after)
	}
	return []byte(text[min(after, int64(len(text))):]), int64(len(text)), false, ok
}

func (s *windowSource) Submit(_ context.Context, _ string, e queue.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == nil {
		s.submitted = append(s.submitted, e)
		if s.came != nil {
			s.came <- e
		}
	}
	return s.down
}

// set shows a queue from now on and tells its listeners.
func (s *windowSource) set(v queue.QueueView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[v.Name] = v
	close(s.changed)
	s.changed = make(chan struct{})
}

const hostileTitle = `<script>alert(1)</script>`

func smallQueue() queue.QueueView {
	waiting := queue.View{
		Change: queue.Change{ID: "7.aaaaaaaa", Number: 7, Title: hostileTitle, Branch: "topic", Author: "lena", Requester: "lena", Head: "0123456789", Phase: queue.Pending,
			Arrival: queue.At(noon().Add(-time.Hour)), Course: queue.Course{Builds: 2}},
		Position: 1, Total: 1, Forecast: queue.Forecast{Early: queue.At(noon().Add(40 * time.Second)), Late: queue.At(noon().Add(time.Minute))},
		Waits: []queue.Reason{{Code: queue.ReasonWaitsBuild, Names: []string{"b1"}}},
		Builds: []queue.BuildView{{Build: queue.Build{ID: "b1", Change: "7.aaaaaaaa", Commit: "c1", Attempt: 1, Why: "first",
			Jobs: []queue.Job{{Step: config.Step{Name: "unit"}}}, At: queue.At(noon())}}},
	}
	rejected := queue.Change{ID: "5.bbbbbbbb", Number: 5, Title: "Broken", Author: "omar", Phase: queue.Rejected, Ending: queue.Ending{Decided: queue.At(noon()), Verdict: &queue.Verdict{Failures: []queue.Evidence{{Step: "unit", Tail: "boom"}}}},
		Reason: queue.Reason{Code: queue.ReasonFailed, Names: []string{"unit"}}}
	return queue.QueueView{Name: "acme/store@main", Slots: 4, Main: queue.Main{Branch: "main", Tip: "beef", Surveyed: "beef", Config: &config.Config{Version: 1}},
		Order: []queue.View{waiting}, Recent: []queue.Change{rejected}}
}

// window is a server under test.
type window struct {
	source *windowSource
	server *app.Server
	logs   *bytes.Buffer
	url    string
}

func newWindow(t *testing.T, change func(*app.ServerOptions)) *window {
	v := smallQueue()
	s := &windowSource{queues: map[string]queue.QueueView{v.Name: v}, changed: make(chan struct{}), logs: map[string]string{"b1": "compiling\n\x1b[32mok\x1b[0m\n"},
		notes: []queue.Note{
			{At: queue.At(noon()), Change: "7.aaaaaaaa", Number: 7, What: "building", Build: "b1"},
			{At: queue.At(noon()), Change: "5.bbbbbbbb", Number: 5, What: "rejected", Reason: queue.Reason{Code: queue.ReasonFailed}},
		}}
	w := &window{source: s, logs: &bytes.Buffer{}}
	o := app.ServerOptions{
		Address: "127.0.0.1:0", Source: s, Now: noon, Pace: time.Millisecond, Public: true, WrongWait: time.Millisecond, Log: slog.New(slog.NewTextHandler(w.logs, nil)),
	}
	if change != nil {
		change(&o)
	}
	server := app.NewServer(o)
	w.server = server
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	w.url = "http://" + server.Addr()
	return w
}

// get returns the status, the headers and the body of a page.
func (w *window) get(t *testing.T, path string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return mustDo(t, r)
}

func mustDo(t *testing.T, r *http.Request) (int, http.Header, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(body)
}

func TestServerPages(t *testing.T) {
	w := newWindow(t, nil)
	for _, c := range []struct {
		path   string
		status int
		holds  string
	}{
		{"/", 200, "acme/store"},
		{"/", 200, "Waits for its builds under way"},
		{"/queue?queue=acme%2Fstore%40main", 200, "#7"},
		{"/queue?queue=acme/store@main", 200, "&lt;script&gt;alert(1)"},
		{"/queue?queue=nothing", 404, "There is no such queue"},
		{"/change?queue=acme/store@main&id=7", 200, "compiling\nok\n"},
		{"/change?queue=acme/store@main&id=7.aaaaaaaa", 200, "building"},
		{"/change?id=5", 200, "boom"},
		{"/change?id=6", 404, "knows no such change"},
		{"/change", 400, "Say which change"},
		{"/nothing", 404, "There is no such page"},
		{"/static/style.css", 200, "prefers-color-scheme"},
		{"/healthz", 200, "alive"},
		{"/readyz", 200, "ready"},
		{"/metrics", 200, "submitqueue_spool_length"},
	} {
		status, header, body := w.get(t, c.path)
		if status != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("GET %s: %d, want %d with %q:\n%s", c.path, status, c.status, c.holds, body)
		}
		if strings.Contains(body, hostileTitle) {
			t.Errorf("GET %s: a title is code", c.path)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
			if got := header.Get(name); got != want {
				t.Errorf("GET %s: %s is %q", c.path, name, got)
			}
		}
		if csp := header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("GET %s: the content security policy is %q", c.path, csp)
		}
	}
	if _, _, body := w.get(t, "/change?id=7"); strings.Contains(body, "rejected</b>") {
		t.Error("the timeline shows another change's notes")
	}
}

func TestServerListsSeveralQueues(t *testing.T) {
	w := newWindow(t, nil)
	w.source.set(queue.QueueView{Name: "acme/docs@main", Main: queue.Main{Branch: "main"}})
	if _, _, body := w.get(t, "/"); !strings.Contains(body, "acme/docs") || !strings.Contains(body, "acme/store") {
		t.Errorf("the list of queues: %s", body)
	}
	if status, _, body := w.get(t, "/api/queue"); status != 400 || !strings.Contains(body, "Say which queue, by ?queue=NAME or on the command line by --queue NAME: acme/") {
		t.Errorf("which queue? %d %s", status, body)
	}
}

func TestServerWithoutQueues(t *testing.T) {
	w := newWindow(t, nil)
	w.source.mu.Lock()
	clear(w.source.queues)
	w.source.mu.Unlock()
	if status, _, body := w.get(t, "/api/queue"); status != 400 || !strings.Contains(body, "This server has no queue yet. A repository gets one once") {
		t.Errorf("%d %s", status, body)
	}
}

func TestServerPageWithoutHistory(t *testing.T) {
	w := newWindow(t, nil)
	w.source.down = errors.New("connection refused")
	if status, _, body := w.get(t, "/change?id=7"); status != 200 || !strings.Contains(body, "history cannot be read") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := w.get(t, "/api/history"); status != 503 {
		t.Errorf("/api/history: %d", status)
	}
}

// The whole log of a build is plain text, which no browser takes for a page.
func TestLogPage(t *testing.T) {
	w := newWindow(t, nil)
	status, header, body := w.get(t, "/log?build=b1")
	if status != 200 || header.Get("Content-Type") != "text/plain; charset=utf-8" || header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(body, "compiling\nok\n") || strings.Contains(body, "\x1b") || !strings.Contains(body, "the build goes on") {
		t.Errorf("%d %v %q", status, header, body)
	}
	if status, _, body := w.get(t, "/log?build=none"); status != 404 || !strings.Contains(body, "no log of such a build") {
		t.Errorf("%d %s", status, body)
	}
}

func TestServerSaysWhyItIsNotReady(t *testing.T) {
	w := newWindow(t, func(o *app.ServerOptions) { o.Ready = func() error { return errors.New("redis: connection refused") } })
	if status, _, body := w.get(t, "/readyz"); status != 503 || !strings.Contains(body, "connection refused") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := w.get(t, "/healthz"); status != 200 {
		t.Errorf("healthz: %d", status)
	}
}

// wordless is a source that panics.
type wordless struct{ api.Source }

func (wordless) Queue(string) (queue.QueueView, bool) { panic("words fail me") }

func TestServerOutlivesAPanic(t *testing.T) {
	w := newWindow(t, func(o *app.ServerOptions) { o.Source = wordless{o.Source} })
	status, _, body := w.get(t, "/")
	if status != 500 || strings.Contains(body, "words fail me") {
		t.Errorf("%d %s", status, body)
	}
	if !strings.Contains(w.logs.String(), "words fail me") {
		t.Error("the panic is not logged")
	}
	if _, _, metrics := w.get(t, "/metrics"); !strings.Contains(metrics, "submitqueue_http_panics_total 1") {
		t.Error("the panic is not counted")
	}
}

func TestServerMounts(t *testing.T) {
	w := newWindow(t, func(o *app.ServerOptions) {
		o.Mounts = map[string]http.Handler{"/api/v4/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
		})}
		o.Intake = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusAccepted) })
	})
	if _, _, body := w.get(t, "/api/v4/jobs/request"); body != "GET /api/v4/jobs/request" {
		t.Errorf("mounted: %q", body)
	}
	r, err := http.Post(w.url+"/webhook/github", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusAccepted {
		t.Errorf("webhook: %d", r.StatusCode)
	}
}

func TestServerAddress(t *testing.T) {
	s := app.NewServer(app.ServerOptions{Address: "127.0.0.1:0", Source: &windowSource{}})
	if s.Addr() != "" {
		t.Errorf("address before Listen: %q", s.Addr())
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	taken := app.NewServer(app.ServerOptions{Address: s.Addr(), Source: &windowSource{}})
	if err := taken.Listen(); err == nil {
		t.Error("two servers on one address")
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// stream opens /events and returns its lines.
func (w *window) stream(t *testing.T) *bufio.Scanner {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q", got)
	}
	return bufio.NewScanner(answer.Body)
}

// await reads a stream until the line, and counts the others on the way.
func await(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	for lines.Scan() {
		if lines.Text() == want {
			return
		}
	}
	t.Fatalf("the stream ended before %q: %v", want, lines.Err())
}

func TestEventsTellOfChanges(t *testing.T) {
	w := newWindow(t, nil)
	lines := w.stream(t)
	await(t, lines, "retry: 2000")
	for range 3 {
		w.source.set(smallQueue())
		await(t, lines, "event: changed")
	}
}

// The server's deadlines are for requests, not for live pages.
func TestEventsOutliveTheReadTimeout(t *testing.T) {
	t.Parallel()
	w := newWindow(t, func(o *app.ServerOptions) { o.ReadTimeout, o.Beat = 500*time.Millisecond, 200*time.Millisecond })
	lines := w.stream(t)
	for range 5 { // one second
		await(t, lines, ": alive")
	}
	w.source.set(smallQueue())
	await(t, lines, "event: changed")
}

func TestShutdownEndsEvents(t *testing.T) {
	w := newWindow(t, nil)
	lines := w.stream(t)
	await(t, lines, "retry: 2000")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Errorf("shutdown with a live page: %v", err)
	}
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream broke: %v", err)
	}
}

// Who opens a connection to have it, as browsers do, does not hold up the end.
func TestShutdownEndsSilentConnections(t *testing.T) {
	w := newWindow(t, nil)
	silent, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	lines := w.stream(t) // it was taken after the silent one
	await(t, lines, "retry: 2000")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // net/http gives it 5
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Errorf("shutdown with a silent connection: %v", err)
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Errorf("the silent connection: %v", err)
	}
}

// In a browser, the page follows the queue without being loaded again.
func TestBrowserFollowsTheQueue(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path, err := exec.LookPath("chromium")
	storetest.Need(t, "chromium", err == nil)
	w := newWindow(t, nil)
	var listened atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" && listened.Swap(true) {
			rw.WriteHeader(http.StatusNoContent) // once is enough: a browser with an open stream never ends
			return
		}
		answer, err := http.Get(w.url + r.URL.String())
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		rw.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		if r.URL.Path != "/events" {
			_, _ = io.Copy(rw, answer.Body)
			return
		}
		// The page listens: now its queue changes.
		v := smallQueue()
		v.Order[0].Change.Title = "Another title"
		w.source.set(v)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			_, _ = io.WriteString(rw, lines.Text()+"\n")
			if lines.Text() == "data: {}" {
				_, _ = io.WriteString(rw, "\n")
				return
			}
		}
	})
	proxy := httptest.NewServer(mux)
	defer proxy.Close()
	out, err := exec.CommandContext(t.Context(), path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "--dump-dom", proxy.URL+"/").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "Another title") {
		t.Errorf("the page did not follow:\n%s", out)
	}
}

func mustDecode[T any](t *testing.T, body string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}
