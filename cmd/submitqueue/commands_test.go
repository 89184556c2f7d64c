package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// said is a queue that keeps what it is told, and shows that it has been followed.
type said struct {
	mu    sync.Mutex
	told  []queue.Commented
	asked []string // methods and paths of requests
	main  queue.Main
}

func (s *said) Queues() []string { return []string{"q"} }

func (s *said) Brief(string) (api.Brief, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return api.Brief{Name: "q", Main: s.main}, true
}

func (s *said) Queue(string) (queue.QueueView, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := queue.QueueView{Name: "q", Main: s.main}
	v.Models.Tried.At = queue.At(time.Now())
	return v, true
}

// Change is a pull request that lands at once, and that is tried, explained or delegated at
// once where somebody asked for that.
func (s *said) Change(string, string) (queue.View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := queue.View{Change: queue.Change{ID: "7.abc", Number: 7, Phase: queue.Pending}, Answered: queue.At(time.Now())}
	if n := len(s.told); n > 0 && strings.HasPrefix(s.told[n-1].Body, "/land try") {
		v.Change.Phase, v.Change.On, v.Change.Reason = queue.Tried, "abc", queue.Reason{Code: queue.ReasonTried}
	}
	return v, true
}

func (s *said) History(context.Context, string, int) ([]queue.Note, error) {
	return []queue.Note{{At: queue.At(time.Now()), What: "forgot"}}, nil
}
func (s *said) Changed() <-chan struct{}                           { return make(chan struct{}) }
func (s *said) BuildLog(string, int64) ([]byte, int64, bool, bool) { return nil, 0, false, false }
func (s *said) Ledger(context.Context, string, string, int) (v api.LedgerView, err error) {
	return v, nil
}
func (s *said) Forgetting(_ context.Context, _ string, f queue.Forgotten) (api.ForgetView, error) {
	return api.ForgetView{What: f, Passes: 1}, nil
}

func (s *said) Submit(_ context.Context, _ string, e queue.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := e.Body.(queue.Commented)
	s.told = append(s.told, b)
	switch {
	case strings.HasPrefix(b.Body, "/queue resume"):
		s.main.Paused = nil
	case strings.HasPrefix(b.Body, "/queue freeze"), strings.HasPrefix(b.Body, "/queue pause"):
		s.main.Paused = &queue.Pause{By: b.Author, At: queue.At(time.Now().Add(time.Second)), Until: queue.At(time.Now().Add(time.Hour))}
	}
	return nil
}

// serve answers as a server does, for a token of the name ann.
func (s *said) serve(t *testing.T) string {
	t.Helper()
	h := api.New(api.Options{Source: s, Caller: func(echo.Context) access.Caller { return access.Caller{Name: "ann", Role: access.Admin} },
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Random: func() string { return "x" }})
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		status := http.StatusInternalServerError
		if p := (*api.Problem)(nil); errors.As(err, &p) {
			status = p.Status
		}
		api.WriteJSON(c.Response(), status, api.Error{Error: err.Error()})
	}
	h.Register(api.Routes{Get: func(p string, f echo.HandlerFunc) { e.GET(p, f) },
		Post: func(p string, _ access.Role, _ string, f echo.HandlerFunc) { e.POST(p, f) }})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		path := r.URL.Path
		if r.Method != http.MethodPost {
			path = r.Method + " " + path
		}
		s.asked = append(s.asked, path)
		s.mu.Unlock()
		e.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// The documentation has each command by each of its three doors: a comment, the command line and
// HTTP. What is typed at a terminal goes through the address that the table names, and
// reaches the queue as the very command that the comment is, in the token's name.
func TestReadmeCommandsByThreeDoors(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "app", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| comment | `submitqueue` | `POST` |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| `?([^`|]+)`? \\|$").FindAllStringSubmatch(table, -1)
	held := map[queue.Verb]bool{}
	for _, row := range rows {
		comment, line, path := row[1], row[2], row[3]
		p := queue.ParseCommands(comment)
		if len(p) != 1 || p[0].Verb == queue.CommandUnknown {
			t.Errorf("%s is no command", comment)
			continue
		}
		held[p[0].Verb] = true
		t.Run(line, func(t *testing.T) {
			s := &said{main: queue.Main{Branch: "main"}}
			t.Setenv("SUBMITQUEUE_SERVER", s.serve(t))
			t.Setenv("SUBMITQUEUE_DATA", t.TempDir())
			t.Setenv(api.TokenVariable, "secret")
			if line == "help" {
				return // kong's own; TestScripts has it
			}
			status := run(strings.Fields(line))
			s.mu.Lock()
			defer s.mu.Unlock()
			through := false
			for _, asked := range s.asked {
				through = through || asked == path
			}
			if !through {
				t.Fatalf("exit %d; it asked %q, and the page says %s", status, s.asked, path)
			}
			if strings.HasPrefix(path, "GET ") {
				return
			}
			if status != 0 || len(s.told) != 1 || s.told[0].Author != "ann" {
				t.Fatalf("exit %d; the queue was told %+v", status, s.told)
			}
			if diff := cmp.Diff(p, queue.ParseCommands(s.told[0].Body)); diff != "" {
				t.Errorf("-comment +command line:\n%s", diff)
			}
		})
	}
	for _, row := range queue.Commands() {
		if row.Words != "" && !held[row.Verb] {
			t.Errorf("%s is not in the table of doors", row.Words)
		}
	}
}

// Fields over HTTP say one command, and no other one.
func TestOrdersSayOneCommand(t *testing.T) {
	s := &said{main: queue.Main{Branch: "main"}}
	url := s.serve(t)
	for path, bodies := range map[string][]string{
		"/api/try":        {`{}`, `{"number":7,"branch":"x"}`, `{"branch":"x"}`, `{"number":7,"reason":"x"}`, `{"number":7,"method":"squash priority=high"}`, `{"number":7,"method":"squash\n/land"}`, `{"number":7,"x":1}`},
		"/api/now":        {`{"number":7}`, `{"number":7,"reason":" \n "}`, `{"number":7,"reason":"x","to":"ann"}`},
		"/api/delegate":   {`{"number":7}`, `{"number":7,"to":"ann bob"}`, `{"number":7,"to":"a/b/c"}`},
		"/api/undelegate": {`{"number":7,"to":"ann bob"}`},
		"/api/freeze":     {`{}`, `{"until":"tomorrow"}`, `{"until":"2h now"}`, `{"until":"2h\n/queue resume"}`},
		"/api/land":       {`{"number":7,"method":"squash x"}`, `{"number":7,"method":"squash","retry":true}`},
	} {
		for _, body := range bodies {
			r, err := http.Post(url+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != http.StatusBadRequest {
				t.Errorf("POST %s %s: %s", path, body, r.Status)
			}
		}
	}
	r, err := http.Post(url+"/api/now", "application/json", strings.NewReader(`{"number":7,"reason":"down\n/queue resume\n<!-- "}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.told) != 1 || len(queue.ParseCommands(s.told[0].Body)) != 1 {
		t.Errorf("the queue was told %+v", s.told)
	}
}
