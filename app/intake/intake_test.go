package intake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/intake"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// noon is the moment of all requests under test.
const secretOfTests = "the secret of the webhook"

func noon() time.Time { return time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC) }

// exposition returns what the metrics show.
func exposition(t *testing.T, m *app.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// paperForge reads deliveries of its own small JSON; the signature is the word
// "right".
type paperForge struct{}

type paperDelivery struct {
	Repository string `json:"repository"`
	ID         int64  `json:"id"`
	Kind       string `json:"kind"`
	Number     int    `json:"number"`
	Comment    string `json:"comment"`
}

func (paperForge) Verify(h http.Header) (io.Writer, func() error, error) {
	if h.Get("Signature") != "right" {
		return nil, nil, forge.ErrSignature
	}
	return io.Discard, func() error { return nil }, nil
}

func (paperForge) Receive(h http.Header, body []byte) (forge.Delivery, error) {
	if h.Get("Signature") != "right" {
		return forge.Delivery{}, forge.ErrSignature
	}
	var p paperDelivery
	if err := json.Unmarshal(body, &p); err != nil {
		return forge.Delivery{}, fmt.Errorf("%w: %v", forge.ErrMalformed, err)
	}
	d := forge.Delivery{ID: "d-" + h.Get("Delivery"), Kind: p.Kind, Repository: p.Repository, RepositoryID: p.ID}
	switch p.Kind {
	case "comment":
		d.Events = []queue.Event{{ID: d.ID, Body: queue.Commented{Number: p.Number, Comment: "1", Author: "lena", Body: p.Comment}}}
	case "ci":
		d.CI = forge.CINews{Look: []string{"abc"}}
	case "nothing":
	default:
		return d, forge.ErrIgnored
	}
	return d, nil
}

// intakeInbox keeps what is appended, by queue; it refuses while down.
type intakeInbox struct {
	mu     sync.Mutex
	events map[string][]queue.Event
	down   map[string]error
}

func (in *intakeInbox) Append(_ context.Context, name string, events ...queue.Event) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.down[name]; err != nil {
		return err
	}
	if in.events == nil {
		in.events = map[string][]queue.Event{}
	}
	for _, e := range events {
		if !slices.ContainsFunc(in.events[name], func(o queue.Event) bool { return o.ID == e.ID }) {
			in.events[name] = append(in.events[name], e)
		}
	}
	return nil
}

func (in *intakeInbox) bodies(name string) []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := []string{}
	for _, e := range in.events[name] {
		out = append(out, e.Body.(queue.Commented).Body)
	}
	return out
}

// fail makes appends to the queues fail, or work again.
func (in *intakeInbox) fail(err error, names ...string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.down = map[string]error{}
	for _, n := range names {
		in.down[n] = err
	}
}

// intakeSpool is a spool in memory.
type intakeSpool struct {
	mu      sync.Mutex
	entries [][]byte
	full    error
}

func (s *intakeSpool) Append(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full != nil {
		return s.full
	}
	s.entries = append(s.entries, data)
	return nil
}

func (s *intakeSpool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

func (s *intakeSpool) Drain(ctx context.Context, give func([]byte) error) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 0; ; n++ {
		if len(s.entries) == 0 || ctx.Err() != nil {
			return n, ctx.Err()
		}
		if err := give(s.entries[0]); err != nil {
			return n, err
		}
		s.entries = s.entries[1:]
	}
}

// intakeStand is an intake with everything it needs, over real HTTP.
type intakeStand struct {
	inbox   *intakeInbox
	spool   *intakeSpool
	metrics *app.Metrics
	logs    *bytes.Buffer
	server  *httptest.Server
	intake  *intake.Intake
}

func newIntakeStand(t *testing.T) *intakeStand {
	s := &intakeStand{inbox: &intakeInbox{}, spool: &intakeSpool{}, metrics: app.NewMetrics(), logs: &bytes.Buffer{}}
	s.intake = intake.New(intake.Options{
		Hooks: map[string]intake.Hook{"paper": {Receiver: paperForge{}, Queues: map[string][]string{
			"Acme/Store": {"acme/store@main", "acme/store@release"},
			"acme/docs":  {"acme/docs@main"},
		}}},
		Appender: s.inbox, Spool: s.spool, Metrics: s.metrics, Now: noon, Log: slog.New(slog.NewTextHandler(s.logs, nil)),
	})
	s.server = httptest.NewServer(s.intake)
	t.Cleanup(s.server.Close)
	return s
}

// What is said of CI goes to the queues of the repository, by whatever name it
// has.
func TestIntakeTellsCI(t *testing.T) {
	var told []string
	in := intake.New(intake.Options{Hooks: map[string]intake.Hook{"paper": {Receiver: paperForge{},
		Queues: map[string][]string{"acme/store": {"acme/store@main", "acme/store@release"}},
		CI:     func(queues []string, _ forge.CINews) { told = queues }}},
		Appender: &intakeInbox{}, Spool: &intakeSpool{}, Metrics: app.NewMetrics(), Now: noon})
	for name, want := range map[string][]string{"Acme/Store": {"acme/store@main", "acme/store@release"}, "acme/other": nil} {
		for _, by := range []string{name, "globex/shop"} {
			if by != name {
				in.Moved("paper", name, forge.Place{Name: by})
			}
			told = nil
			r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(`{"kind":"ci","repository":"`+by+`"}`))
			r.Header.Set("Signature", "right")
			in.ServeHTTP(httptest.NewRecorder(), r)
			if !slices.Equal(told, want) {
				t.Errorf("of %s, configured as %s, %q were told, want %q", by, name, told, want)
			}
		}
		in.Moved("paper", name, forge.Place{Name: name})
	}
}

// deliver posts a delivery and returns the status and the result.
func (s *intakeStand) deliver(t *testing.T, path, signature, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Signature", signature)
	r.Header.Set("Delivery", string(digest.Of(body)[:6]))
	return mustResult(t, r)
}

func mustResult(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var out struct{ Result string }
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, out.Result
}

const land = `{"repository":"acme/store","kind":"comment","number":7,"comment":"/land"}`

func (s *intakeStand) untouched(t *testing.T) {
	t.Helper()
	if len(s.inbox.events) != 0 || s.spool.Len() != 0 {
		t.Errorf("stored %v, spooled %d; want nothing", s.inbox.events, s.spool.Len())
	}
}

func TestIntakeAnswers(t *testing.T) {
	for _, c := range []struct {
		name, path, signature, body string
		status                      int
		result, counted             string
	}{
		{"stored", "/webhook", "right", land, 202, "stored", "comment"},
		{"stored, by forge", "/webhook/paper", "right", land, 202, "stored", "comment"},
		{"wrong signature", "/webhook", "wrong", land, 401, "bad-signature", "unknown"},
		{"no signature", "/webhook", "", land, 401, "bad-signature", "unknown"},
		{"not JSON", "/webhook", "right", "{", 400, "malformed", "unknown"},
		{"not used", "/webhook", "right", `{"kind":"star"}`, 202, "ignored", "star"},
		{"no events", "/webhook", "right", `{"repository":"acme/store","kind":"nothing"}`, 202, "ignored", "nothing"},
		{"another repository", "/webhook", "right", strings.Replace(land, "acme/store", "acme/other", 1), 202, "no-queue", "comment"},
		{"another forge", "/webhook/stone", "right", land, 404, "no-forge", "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newIntakeStand(t)
			status, result := s.deliver(t, c.path, c.signature, c.body)
			if status != c.status || result != c.result {
				t.Errorf("answered %d %s, want %d %s", status, result, c.status, c.result)
			}
			if c.result != "stored" {
				s.untouched(t)
			}
			want := fmt.Sprintf(`submitqueue_webhooks_total{event=%q,result=%q} 1`, c.counted, c.result)
			if !strings.Contains(exposition(t, s.metrics), want) {
				t.Errorf("not counted as %s", want)
			}
			if strings.Contains(s.logs.String(), "/land") || !strings.Contains(s.logs.String(), "result="+c.result) {
				t.Errorf("logs: %s", s.logs)
			}
		})
	}
}

func TestIntakeStampsAndSpreads(t *testing.T) {
	s := newIntakeStand(t)
	s.deliver(t, "/webhook", "right", land)
	s.deliver(t, "/webhook", "right", land) // delivered again
	event := queue.Event{ID: "d-" + string(digest.Of(land)[:6]), At: queue.At(noon()), Body: queue.Commented{Number: 7, Comment: "1", Author: "lena", Body: "/land"}}
	want := map[string][]queue.Event{"acme/store@main": {event}, "acme/store@release": {event}}
	if diff := cmp.Diff(want, s.inbox.events); diff != "" {
		t.Errorf("inboxes (-want +got):\n%s", diff)
	}
}

// A repository is the one of its id: another that has its former name is nobody's,
// and what was sent before it had its present one is its own.
func TestIntakeGoesByTheRepositorysID(t *testing.T) {
	s := newIntakeStand(t)
	s.intake.Moved("paper", "acme/store", forge.Place{Name: "globex/shop", ID: 7})
	for _, c := range []struct {
		name   string
		id     int64
		result string
	}{
		{"globex/shop", 7, "stored"}, {"globex/shop", 0, "stored"}, {"acme/store", 7, "stored"}, {"globex/newer", 7, "stored"},
		{"acme/store", 8, "no-queue"}, {"globex/shop", 8, "no-queue"}, {"acme/docs", 9, "stored"},
	} {
		body := fmt.Sprintf(`{"repository":%q,"id":%d,"kind":"comment","number":7,"comment":"/land"}`, c.name, c.id)
		if _, result := s.deliver(t, "/webhook", "right", body); result != c.result {
			t.Errorf("%s %d: %s, want %s", c.name, c.id, result, c.result)
		}
	}
}

// What an installation is given or loses is said of its repositories by their ids, too.
func TestInstallationsGoByTheRepositorysID(t *testing.T) {
	for id, want := range map[int64]int{7: 1, 8: 0} {
		inbox := &intakeInbox{}
		in := intake.New(intake.Options{Hooks: map[string]intake.Hook{"github": {Receiver: github.NewReceiver(secretOfTests),
			Queues: map[string][]string{"acme/store": {"acme/store@main"}}}},
			Appender: inbox, Spool: &intakeSpool{}, Metrics: app.NewMetrics(), Now: noon})
		in.Moved("github", "acme/store", forge.Place{Name: "globex/shop", ID: 7})
		body := fmt.Sprintf(`{"action":"removed","repositories_removed":[{"id":%d,"full_name":"acme/store"}]}`, id)
		r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
		r.Header = forgetest.WebhookHeader("installation_repositories", "d", secretOfTests, []byte(body))
		in.ServeHTTP(httptest.NewRecorder(), r)
		if got := len(inbox.events["acme/store@main"]); got != want {
			t.Errorf("%d: %d events, want %d", id, got, want)
		}
	}
}

func TestIntakeTakesPostOnly(t *testing.T) {
	s := newIntakeStand(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.server.URL+"/webhook", strings.NewReader(land))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := mustResult(t, r); status != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", status)
	}
	s.untouched(t)
}

// blanks is a body of n spaces, with or without its length said.
type blanks struct{ n int }

func (b *blanks) Read(p []byte) (int, error) {
	if b.n == 0 {
		return 0, io.EOF
	}
	n := min(b.n, len(p))
	for i := range n {
		p[i] = ' '
	}
	b.n -= n
	return n, nil
}

func TestIntakeReadsNoMoreThanALargeDelivery(t *testing.T) {
	for _, said := range []bool{true, false} {
		t.Run(fmt.Sprintf("length said %v", said), func(t *testing.T) {
			s := newIntakeStand(t)
			// The body goes straight to the handler: a server that stops reading may
			// reset the connection before the client has read the answer.
			body := &blanks{n: 10 * intake.MaxDelivery}
			r := httptest.NewRequest(http.MethodPost, "/webhook", body)
			r.Header.Set("Signature", "right")
			if r.ContentLength = -1; said {
				r.ContentLength = int64(body.n)
			}
			w := httptest.NewRecorder()
			s.server.Config.Handler.ServeHTTP(w, r)
			if w.Code != http.StatusRequestEntityTooLarge {
				t.Errorf("answered %d", w.Code)
			}
			if read := 10*intake.MaxDelivery - body.n; read > intake.MaxDelivery+1 || said && read > 0 {
				t.Errorf("read %d bytes", read)
			}
			s.untouched(t)
		})
	}
	s := newIntakeStand(t)
	full := land + strings.Repeat(" ", intake.MaxDelivery-len(land))
	if status, _ := s.deliver(t, "/webhook", "right", full); status != http.StatusAccepted {
		t.Errorf("a delivery of exactly the limit: %d", status)
	}
	if status, result := s.deliver(t, "/webhook", "right", full+" "); status != http.StatusRequestEntityTooLarge {
		t.Errorf("one byte more: %d %s", status, result)
	}
}

func TestIntakeSpoolsWhileTheStoreIsAway(t *testing.T) {
	s := newIntakeStand(t)
	s.inbox.fail(errors.New("connection refused"), "acme/store@release", "acme/docs@main")
	if status, result := s.deliver(t, "/webhook", "right", land); status != 202 || result != "spooled" {
		t.Fatalf("answered %d %s", status, result)
	}
	if got := s.inbox.bodies("acme/store@main"); len(got) != 1 {
		t.Errorf("the queue whose inbox works has %v", got)
	}
	if s.spool.Len() != 1 {
		t.Errorf("%d entries spooled, want that of one queue", s.spool.Len())
	}
	// The store is back, but what was spooled comes first.
	s.inbox.fail(nil)
	cancel := strings.Replace(land, "/land", "/land cancel", 1)
	if _, result := s.deliver(t, "/webhook", "right", cancel); result != "spooled" {
		t.Errorf("a cancel overtakes the command it cancels: %s", result)
	}
	n, err := intake.Drain(t.Context(), s.spool, s.inbox, nil)
	if err != nil || n != 3 {
		t.Errorf("drained %d, %v", n, err)
	}
	for _, name := range []string{"acme/store@main", "acme/store@release"} {
		if diff := cmp.Diff([]string{"/land", "/land cancel"}, s.inbox.bodies(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if at := s.inbox.events["acme/store@release"][0].At; at != queue.At(noon()) {
		t.Errorf("a spooled event has lost its moment: %v", at)
	}
	if _, result := s.deliver(t, "/webhook", "right", strings.Replace(land, "7", "8", 1)); result != "stored" {
		t.Errorf("with the spool empty again: %s", result)
	}
}

func TestIntakeRefusesWhatNobodyTakes(t *testing.T) {
	s := newIntakeStand(t)
	s.inbox.fail(errors.New("connection refused"), "acme/store@main", "acme/store@release")
	s.spool.full = errors.New("no space left")
	if status, result := s.deliver(t, "/webhook", "right", land); status != 503 || result != "refused" {
		t.Errorf("answered %d %s", status, result)
	}
	s.untouched(t)
}

func TestDrainSpoolStopsAtTheStoreAndSkipsTheUnreadable(t *testing.T) {
	s := newIntakeStand(t)
	s.inbox.fail(errors.New("connection refused"), "acme/docs@main")
	for _, entry := range []string{"not JSON", `{"queue":"acme/docs@main","events":[{"head":{"id":"1"},"name":"Tomorrow","body":{}}]}`} {
		if err := s.spool.Append([]byte(entry)); err != nil {
			t.Fatal(err)
		}
	}
	s.deliver(t, "/webhook", "right", strings.Replace(land, "store", "docs", 1))
	if n, err := intake.Drain(t.Context(), s.spool, s.inbox, nil); n != 2 || err == nil {
		t.Errorf("drained %d, %v; want the two unreadable ones, and the store's error", n, err)
	}
	if s.spool.Len() != 1 {
		t.Errorf("%d entries left", s.spool.Len())
	}
}

func FuzzIntake(f *testing.F) {
	f.Add(land)
	f.Add(`{"kind":"comment","repository":"acme/store","number":-1,"comment":"\u0000"}`)
	f.Add("{")
	f.Fuzz(func(t *testing.T, body string) {
		inbox, spool := &intakeInbox{}, &intakeSpool{}
		in := intake.New(intake.Options{
			Hooks:    map[string]intake.Hook{"paper": {Receiver: paperForge{}, Queues: map[string][]string{"acme/store": {"q"}}}},
			Appender: inbox, Spool: spool, Metrics: app.NewMetrics(), Now: noon,
		})
		r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
		r.Header.Set("Signature", "right")
		w := httptest.NewRecorder()
		in.ServeHTTP(w, r)
		if w.Code != 202 && w.Code != 400 {
			t.Errorf("%q: answered %d", body, w.Code)
		}
		if w.Code == 400 && len(inbox.events) > 0 {
			t.Errorf("%q: refused and stored", body)
		}
	})
}
