package app_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

func TestAPIReads(t *testing.T) {
	w := newWindow(t, nil)
	_, header, body := w.get(t, "/api/queues")
	if got := header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	summary := api.QueueSummary{Name: "acme/store@main", Branch: "main", Tip: "beef", Length: 1, Slots: 4, Running: 1, Proven: true}
	if diff := cmp.Diff([]api.QueueSummary{summary}, mustDecode[[]api.QueueSummary](t, body)); diff != "" {
		t.Errorf("/api/queues (-want +got):\n%s", diff)
	}

	waiting := api.Change{
		ID: "7.aaaaaaaa", Number: 7, Name: "#7", Title: hostileTitle, Branch: "topic", Author: "lena", Requester: "lena", Head: "0123456789", Phase: "pending",
		Position: 1, Total: 1, Attempts: 2, Arrived: noon().Add(-time.Hour), From: noon().Add(40 * time.Second), By: noon().Add(time.Minute), Forecast: "in 40 s to 1 min",
		Waits:  []api.Reason{{Code: "building", Text: "Waits for its builds under way (1).", Short: "builds under way", Names: []string{"b1"}, Doc: "/docs/reasons#building"}},
		Builds: []api.Build{{ID: "b1", Commit: "c1", Attempt: 1, Why: "first", Steps: 1, Asked: noon()}},
	}
	rejected := api.Change{
		ID: "5.bbbbbbbb", Number: 5, Name: "#5", Title: "Broken", Author: "omar", Phase: "rejected", Final: true, Decided: noon(),
		Reason: &api.Reason{Code: "failed", Short: "failed in unit: boom",
			Text:  "unit failed with this commit merged onto main. Push a fix, then comment /land again. If you believe that it failed by chance, /land retry runs it again.",
			Names: []string{"unit"}, Doc: "/docs/reasons#failed"},
		Verdict: &api.Verdict{Failures: []api.Evidence{{Step: "unit", Tail: "boom", Line: "boom", Log: "/log?build=", Text: "unit failed"}}},
	}
	_, _, body = w.get(t, "/api/queue?full=1&queue=acme%2Fstore%40main")
	want := api.Queue{QueueSummary: summary, Configured: true, Verdicts: 1, Order: []api.Change{waiting}, Recent: []api.Change{rejected}}
	if diff := cmp.Diff(want, mustDecode[api.Queue](t, body)); diff != "" {
		t.Errorf("/api/queue (-want +got):\n%s", diff)
	}
	_, _, body = w.get(t, "/api/changes?phase=rejected")
	if diff := cmp.Diff([]api.Change{rejected}, mustDecode[[]api.Change](t, body)); diff != "" {
		t.Errorf("/api/changes (-want +got):\n%s", diff)
	}
	_, _, body = w.get(t, "/api/change?id=7")
	if diff := cmp.Diff(waiting, mustDecode[api.Change](t, body)); diff != "" {
		t.Errorf("/api/change (-want +got):\n%s", diff)
	}
	_, _, body = w.get(t, "/api/history?id=7")
	note := api.Note{At: noon(), Change: "7.aaaaaaaa", Number: 7, Build: "b1", What: "building", Title: "Building", Log: "/log?build=b1"}
	if diff := cmp.Diff([]api.Note{note}, mustDecode[[]api.Note](t, body)); diff != "" {
		t.Errorf("/api/history (-want +got):\n%s", diff)
	}
	_, _, body = w.get(t, "/api/log?build=b1&after=10")
	if diff := cmp.Diff(api.Log{Text: "ok\n", Next: 22}, mustDecode[api.Log](t, body)); diff != "" {
		t.Errorf("/api/log (-want +got):\n%s", diff)
	}
}

func TestAPIErrorsSayWhatToDo(t *testing.T) {
	w := newWindow(t, nil)
	for path, want := range map[string]struct {
		status int
		holds  string
	}{
		"/api/queue?queue=x":      {404, "/api/queues lists the names"},
		"/api/change?id=99":       {404, "knows no such change"},
		"/api/history?max=x":      {400, "a number from 1"},
		"/api/history?max=100000": {400, "a number from 1"},
		"/api/log?build=none":     {404, "no log"},
		"/api/log?after=x":        {400, "number of bytes"},
		"/api/nothing":            {404, "no such page"},
		"/api/land":               {405, "does not take GET"},
	} {
		status, _, body := w.get(t, path)
		if got := mustDecode[api.Error](t, body); status != want.status || !strings.Contains(got.Error, want.holds) {
			t.Errorf("GET %s: %d %q, want %d with %q", path, status, got.Error, want.status, want.holds)
		}
	}
}

// command posts a command and returns the status and the body.
func (w *window) command(t *testing.T, path, token, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	status, _, out := mustDo(t, r)
	return status, out
}

// branches are a forge of requests to land branches: "feature" is #7, "gone" is
// not there, and whatever else is asked for cannot be read.
type branches struct {
	mu  sync.Mutex
	tip queue.CommitID // of main
}

func (*branches) OpenOnce(_ context.Context, _ queue.Digest, branch, _, _ string) (int, error) {
	switch branch {
	case "feature":
		return 7, nil
	case "gone":
		return 0, forge.ErrNotFound
	}
	return 0, errors.New("the disk is on fire")
}

func (*branches) Asked(_ context.Context, number int) (string, error) {
	if number == 7 {
		return "feature", nil
	}
	return "", forge.ErrNotFound
}

func (*branches) Base() string { return "main" }

func (b *branches) Tip(context.Context) (queue.CommitID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tip, nil
}

func withToken(o *app.ServerOptions) {
	o.Token, o.TokenName = "secret", "lena"
	o.Requests = &branches{tip: "beef"}
}

func TestAPICommandsNeedTheToken(t *testing.T) {
	off := newWindow(t, nil)
	for _, path := range []string{"/api/land", "/api/cancel", "/api/pause", "/api/resume"} {
		if status, body := off.command(t, path, "Bearer ", "", `{"number":7,"user":"lena"}`); status != 403 || !strings.Contains(body, api.TokenVariable) {
			t.Errorf("%s without a configured token: %d %s", path, status, body)
		}
	}
	w := newWindow(t, withToken)
	for _, token := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic secret", "secret"} {
		if status, body := w.command(t, "/api/land", token, "", `{"number":7,"user":"lena"}`); status != 401 || strings.Contains(body, "secret") {
			t.Errorf("token %q: %d %s", token, status, body)
		}
	}
	if len(w.source.submitted)+len(off.source.submitted) != 0 {
		t.Error("a command without the right token was submitted")
	}
	if strings.Contains(w.logs.String(), "secret") {
		t.Error("the token is logged")
	}
}

func TestAPICommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, body string
		status           int
		holds            string
		submitted        string // body of the comment
	}{
		{"land a number", "/api/land", `{"number":7,"user":"lena"}`, 202, `"number":7`, "/land"},
		{"land in a named queue", "/api/land", `{"queue":"acme/store@main","number":7,"user":"lena"}`, 202, `"number":7`, "/land"},
		{"land a number that is none", "/api/land", `{"number":9,"user":"lena"}`, 404, "no request #9: name a branch to make one, and a branch 9 as refs/heads/9.", ""},
		{"land the target branch", "/api/land", `{"branch":"main","user":"lena"}`, 400, "main is the branch that changes land on", ""},
		{"land a branch", "/api/land", `{"branch":"feature","user":"lena"}`, 202, `"number":7`, "/land"},
		{"land a branch by its full name", "/api/land", `{"branch":"refs/heads/feature","user":"lena"}`, 202, `"number":7`, "/land"},
		{"land the target branch by its full name", "/api/land", `{"branch":"refs/heads/main","user":"lena"}`, 400, "main is the branch that changes land on", ""},
		{"land a branch that is gone", "/api/land", `{"branch":"gone","user":"lena"}`, 404, "push it first", ""},
		{"land with a broken forge", "/api/land", `{"branch":"other","user":"lena"}`, 503, "Try again", ""},
		{"land an option", "/api/land", `{"branch":"--upload-pack=x","user":"lena"}`, 400, `\"--upload-pack=x\" is not the name of a branch`, ""},
		{"land nothing", "/api/land", `{"user":"lena"}`, 400, "what to land", ""},
		{"land both", "/api/land", `{"number":7,"branch":"feature","user":"lena"}`, 400, "what to land", ""},
		{"land a negative number", "/api/land", `{"number":-7,"user":"lena"}`, 400, "what to land", ""},
		{"land in the token's name", "/api/land", `{"number":7}`, 202, `"user":"lena"}`, "/land"},
		{"land for somebody else", "/api/land", `{"number":7,"user":"omar"}`, 202, "in the name of lena, whose token it came with", "/land"},
		{"land elsewhere", "/api/land", `{"queue":"x","number":7,"user":"lena"}`, 404, "no such queue", ""},
		{"land with an unknown key", "/api/land", `{"nummer":7,"user":"lena"}`, 400, "nummer", ""},
		{"land twice in one body", "/api/land", `{"number":7,"user":"lena"}{}`, 400, "more than one value", ""},
		{"land too much", "/api/land", `{"user":"` + strings.Repeat("x", 70_000) + `"}`, 413, "larger", ""},
		{"land in a lane", "/api/land", `{"number":7,"user":"lena","priority":"high"}`, 202, `"number":7`, "/land priority=high"},
		{"retry in a lane", "/api/land", `{"number":7,"user":"lena","retry":true,"priority":"low"}`, 202, `"number":7`, "/land retry priority=low"},
		{"land in two lines", "/api/land", `{"number":7,"user":"lena","priority":"high\n/queue resume"}`, 400, "`priority` is the name of a lane", ""},
		{"cancel a number", "/api/cancel", `{"number":7,"user":"lena"}`, 202, `"number":7`, "/land cancel"},
		{"cancel a change", "/api/cancel", `{"id":"7.aaaaaaaa","user":"lena"}`, 202, `"number":7`, "/land cancel"},
		{"cancel a branch", "/api/cancel", `{"id":"topic","user":"lena"}`, 202, `"number":7`, "/land cancel"},
		{"cancel a branch that nobody asked for", "/api/cancel", `{"id":"gone","user":"lena"}`, 404, "no such change", ""},
		{"cancel what has ended", "/api/cancel", `{"number":5,"user":"lena"}`, 409, "rejected", ""},
		{"cancel what is not there", "/api/cancel", `{"number":6,"user":"lena"}`, 404, "no such change. It may have ended long ago.", ""},
		{"pause", "/api/pause", `{"user":"lena","reason":"release  day\n/land"}`, 202, `"queue":"acme/store@main"`, "/queue pause release day /land"},
		{"pause without a reason", "/api/pause", `{"user":"lena","reason":" \n"}`, 400, "Say why", ""},
		{"pause for somebody else", "/api/pause", `{"user":"omar","reason":"x"}`, 202, "in the name of lena", "/queue pause x"},
		{"pause elsewhere", "/api/pause", `{"queue":"x","user":"lena","reason":"x"}`, 404, "no such queue", ""},
		{"resume", "/api/resume", `{"user":"lena"}`, 202, `"queue":"acme/store@main"`, "/queue resume"},
		{"resume in the token's name", "/api/resume", `{}`, 202, `"user":"lena"`, "/queue resume"},
		{"cancel nothing", "/api/cancel", `{"user":"lena"}`, 400, "what to cancel", ""},
		{"cancel in the token's name", "/api/cancel", `{"number":7}`, 202, `"user":"lena"`, "/land cancel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWindow(t, withToken)
			status, body := w.command(t, c.path, "Bearer secret", "", c.body)
			if status != c.status || !strings.Contains(body, c.holds) {
				t.Errorf("%d %s, want %d with %q", status, body, c.status, c.holds)
			}
			got := ""
			for _, e := range w.source.submitted {
				comment := e.Body.(queue.Commented)
				got += comment.Body
				if comment.Author != "lena" || e.ID == "" || comment.Comment != e.ID && comment.Comment != forge.RequestComment(7, comment.Body) || e.At != queue.At(noon()) {
					t.Errorf("submitted %+v", e)
				}
			}
			if got != c.submitted {
				t.Errorf("submitted %q, want %q", got, c.submitted)
			}
		})
	}
}

func TestAPICommandsAreIdempotentByKey(t *testing.T) {
	w := newWindow(t, withToken)
	ids := map[string]bool{}
	for _, key := range []string{"k1", "k1", "k2", "", ""} {
		_, body := w.command(t, "/api/land", "bearer secret", key, `{"number":7,"user":"lena"}`)
		ids[mustDecode[api.Accepted](t, body).Event] = true
	}
	if _, body := w.command(t, "/api/cancel", "Bearer secret", "k1", `{"number":7,"user":"lena"}`); ids[mustDecode[api.Accepted](t, body).Event] {
		t.Error("a cancel under the key of a land is taken for it")
	}
	if len(ids) != 4 {
		t.Errorf("%d ids, want one for each key and one for each command without", len(ids))
	}
}

func TestAPICommandThatIsNotStored(t *testing.T) {
	w := newWindow(t, withToken)
	w.source.down = errors.New("connection refused")
	if status, body := w.command(t, "/api/land", "Bearer secret", "k", `{"number":7,"user":"lena"}`); status != 503 || strings.Contains(body, "refused") {
		t.Errorf("%d %s", status, body)
	}
}

func TestAPIBranchNeedsALocalForge(t *testing.T) {
	w := newWindow(t, func(o *app.ServerOptions) { o.Token = "secret" })
	if status, body := w.command(t, "/api/land", "Bearer secret", "", `{"branch":"feature","user":"lena"}`); status != 400 || !strings.Contains(body, "pull or merge requests") || !strings.Contains(body, `"doc":"/docs/commands#on-the-command-line-and-over-http"`) {
		t.Errorf("%d %s", status, body)
	}
}
