package app_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// A queue in short has each change in one line, and the latest verdicts.
func TestQueueInShort(t *testing.T) {
	t.Parallel()
	w := newWindow(t, nil)
	v := smallQueue()
	v.Order[0].Waits = append(v.Order[0].Waits, queue.Reason{Code: queue.ReasonWaitsBuild, Names: []string{"b2"}})
	v.Order[0].Change.Touches = queue.Touches{Targets: 7}
	more, lines := 1000, 400
	if testing.Short() {
		more, lines = 60, 40 // with the race detector, words for more take longer than an answer may
	}
	for i := range more {
		c := v.Recent[0]
		c.ID, c.Number = queue.ChangeID(fmt.Sprint(i, ".cccccccc")), 100+i
		c.Verdict = &queue.Verdict{Failures: []queue.Evidence{{Step: "unit", Tail: strings.Repeat("boom\n", lines)}}}
		v.Recent = append(v.Recent, c)
	}
	w.source.set(v)
	_, _, long := w.get(t, "/api/queue?full=1")
	_, _, body := w.get(t, "/api/queue")
	if full := mustDecode[api.Queue](t, long); len(full.Recent) != more+1 || full.Order[0].Touches == nil || len(full.Order[0].Waits) != 2 {
		t.Errorf("in full: %d verdicts, %+v", len(full.Recent), full.Order[0])
	}
	q := mustDecode[api.Queue](t, body)
	if len(q.Recent) != 50 || q.Verdicts != more+1 || q.Length != 1 || q.Running != 1 || len(body) > 30_000 {
		t.Errorf("%d of %d verdicts, %d waiting, %d running, %d bytes", len(q.Recent), q.Verdicts, q.Length, q.Running, len(body))
	}
	want := api.Change{ID: "7.aaaaaaaa", Number: 7, Name: "#7", Title: hostileTitle, Branch: "topic", Author: "lena", Requester: "lena", Head: "0123456789", Phase: "pending",
		Position: 1, Total: 1, Waits: []api.Reason{{Code: "building", Short: q.Order[0].Waits[0].Short}}, Attempts: 2,
		Builds: []api.Build{{ID: "b1", Commit: "c1", Attempt: 1, Steps: 1, Asked: noon()}}, Forecast: q.Order[0].Forecast,
		Arrived: v.Order[0].Change.Arrival.Time(), From: v.Order[0].Forecast.Early.Time(), By: v.Order[0].Forecast.Late.Time()}
	if diff := cmp.Diff(want, q.Order[0]); diff != "" || want.Forecast == "" || want.Waits[0].Short == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := q.Recent[0]; r.Reason == nil || r.Reason.Short != "failed in unit: boom" || r.Verdict != nil {
		t.Errorf("%+v", r)
	}
	if status, _, text := w.get(t, "/api/queue?full=yes"); status != http.StatusBadRequest || !strings.Contains(text, "full is 1") {
		t.Errorf("%d %s", status, text)
	}
}

// An unchanged answer is made once, and not sent again to a client that has it.
func TestAnswersAreShared(t *testing.T) {
	w := newWindow(t, nil)
	v := smallQueue()
	v.Version = 5
	w.source.set(v)
	ask := func(path, tag string) (int, string, string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, w.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("ETag"), string(body)
	}
	for _, path := range []string{"/api/queue", "/api/queue?full=1", "/api/changes", "/api/changes?phase=pending"} {
		v.Version, v.Order[0].Change.Title = 5, "first"
		w.source.set(v)
		_, tag, first := ask(path, "")
		v.Order[0].Change.Title = "second" // of another version that does not say so
		w.source.set(v)
		if status, same, body := ask(path, ""); status != http.StatusOK || same != tag || body != first {
			t.Errorf("%s was made again for the same version", path)
		}
		if status, same, body := ask(path, `"other", W/`+tag); status != http.StatusNotModified || same != tag || body != "" {
			t.Errorf("%s: status %d, %d bytes, for who has it", path, status, len(body))
		}
		v.Version++
		w.source.set(v)
		if status, other, body := ask(path, tag); status != http.StatusOK || other == tag || !strings.Contains(body, "second") {
			t.Errorf("%s: status %d, %s, of another version", path, status, body)
		}
		v.Waits = "the forge rests"
		w.source.set(v)
		if _, _, body := ask(path, ""); strings.HasPrefix(path, "/api/queue") && !strings.Contains(body, "the forge rests") {
			t.Errorf("%s does not say what it waits for: %s", path, body)
		}
		v.Waits = ""
	}
	v.Version, v.Order[0].Change.Title = 9, "third"
	w.source.set(v)
	if _, _, page := ask("/queue", ""); !strings.Contains(page, "third") {
		t.Error(page)
	}
	v.Order[0].Change.Title = "fourth"
	w.source.set(v)
	if _, _, page := ask("/", ""); !strings.Contains(page, "third") {
		t.Error("the page was made again for the same version")
	}
}

// countedSource counts how often somebody has a whole queue looked at.
type countedSource struct {
	*windowSource
	looked atomic.Int64
}

func (s *countedSource) Queue(name string) (queue.QueueView, bool) {
	s.looked.Add(1)
	return s.windowSource.Queue(name)
}

// A command takes no look at the whole queue.
func TestCommandsBuildNoView(t *testing.T) {
	var counted *countedSource
	w := newWindow(t, func(o *app.ServerOptions) {
		counted = &countedSource{windowSource: o.Source.(*windowSource)}
		o.Source, o.Token = counted, "secret"
	})
	for path, body := range map[string]string{
		"/api/land":   `{"number":7,"user":"ann"}`,
		"/api/cancel": `{"number":7,"user":"ann"}`,
		"/api/pause":  `{"user":"ann","reason":"lunch"}`,
		"/api/resume": `{"user":"ann"}`,
	} {
		r, err := http.NewRequest(http.MethodPost, w.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusAccepted {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if n := counted.looked.Load(); n != 0 {
		t.Errorf("four commands looked at the queue %d times", n)
	}
}
