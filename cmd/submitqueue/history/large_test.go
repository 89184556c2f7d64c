package history

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
)

// archive is a source with one queue that has an event archive.
type archive struct {
	api.Source
	api.Pasts
}

func (archive) Queues() []string               { return []string{"q"} }
func (archive) Brief(string) (api.Brief, bool) { return api.Brief{Name: "q"}, true }

// serves returns the flags of a server with an archive.
func serves(t *testing.T, a archive) client.Flags {
	e := echo.New()
	api.New(api.Options{Source: a, Log: slog.New(slog.DiscardHandler), Now: time.Now}).Register(api.Routes{
		Get:  func(path string, h echo.HandlerFunc) { e.GET(path, h) },
		Post: func(path string, _ access.Role, _ string, h echo.HandlerFunc) { e.POST(path, h) }})
	e.HTTPErrorHandler = func(err error, c echo.Context) { http.Error(c.Response(), err.Error(), http.StatusInternalServerError) }
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	t.Setenv(api.TokenVariable, "secret")
	return client.Flags{Server: s.URL, Data: t.TempDir(), Queue: "q"}
}

// A large repository's rows name hundreds of targets by long names: all of them are read, in
// as many answers as that takes, and put into another server.
func TestLargeRowsAreReadAndKept(t *testing.T) {
	now := time.Now()
	var rows []queue.Row
	for i := range 250 {
		r := &queue.ResultRow{Build: queue.BuildID(fmt.Sprint("b", i)), Step: "unit", Outcome: queue.JobPassed, Asked: queue.MostRowTargets}
		for k := range queue.MostRowTargets {
			r.Targets = append(r.Targets, queue.TargetRow{Target: fmt.Sprintf("//%s:test_%d", strings.Repeat("package/", 24), k), Outcome: queue.JobPassed, Took: 1000})
		}
		rows = append(rows, queue.Row{At: queue.At(now) + queue.Instant(i), Result: r})
	}
	from, to := memstore.New(time.Now), memstore.New(time.Now)
	if err := from.Keep(t.Context(), "q", rows); err != nil {
		t.Fatal(err)
	}
	_, got, err := Read(t.Context(), "", serves(t, archive{Pasts: from}))
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d of %d rows, %v", len(got), len(rows), err)
	}
	c, err := serves(t, archive{Pasts: to}).Open()
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range chunks(got) {
		if err := c.Post(t.Context(), "/api/rows", api.RowsCommand{Rows: chunk}, &api.RowsKept{}); err != nil {
			t.Fatal(err)
		}
	}
	if kept, _, err := to.Rows(t.Context(), "q", "", 1000); err != nil || len(kept) != len(rows) {
		t.Errorf("%d of %d rows are kept, %v", len(kept), len(rows), err)
	}
}
