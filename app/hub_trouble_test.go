package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// counted waits until /metrics holds a line.
func (h *hub) counted(line string) {
	h.Helper()
	res := must(http.Get("http://" + h.server.Addr() + "/metrics"))
	defer res.Body.Close()
	text := string(must(io.ReadAll(res.Body)))
	if !strings.Contains(text, line+"\n") {
		var near []string
		name, _, _ := strings.Cut(line, "{")
		for l := range strings.Lines(text) {
			if strings.HasPrefix(l, name) {
				near = append(near, l)
			}
		}
		h.Errorf("/metrics does not say %s but\n%s", line, strings.Join(near, ""))
	}
}

// TestBadDeliveries sends what no forge sends to the real server.
func TestBadDeliveries(t *testing.T) {
	const comment = `{"action":"created","repository":{"full_name":"acme/shop"},"issue":{"number":1,"pull_request":{}},"comment":{"id":7,"body":"/land","user":{"login":"ann"}}}`
	h := newHub(t, hubOptions{unattended: true, workers: workers.NewInstant(1)})
	for _, c := range []struct {
		name, event, secret, body string
		status                    int
		counted                   string
	}{
		{"no signature", "issue_comment", "", comment, 401, `{event="unknown",result="bad-signature"} 1`},
		{"wrong signature", "issue_comment", "another secret", comment, 401, `{event="unknown",result="bad-signature"} 2`},
		{"too large", "issue_comment", hubSecret, strings.Repeat(" ", 25<<20+1), 413, `{event="unknown",result="too-large"} 1`},
		{"malformed", "issue_comment", hubSecret, comment[:40], 400, `{event="issue_comment",result="malformed"} 1`},
		{"no number", "issue_comment", hubSecret, strings.Replace(comment, `"number":1`, `"number":0`, 1), 400, `{event="issue_comment",result="malformed"} 2`},
		{"unknown event", "star", hubSecret, comment, 202, `{event="star",result="ignored"} 1`},
		{"another repository", "issue_comment", hubSecret, strings.Replace(comment, "acme/shop", "acme/other", 1), 202, `{event="issue_comment",result="no-queue"} 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := h.in(t)
			status, answer := h.deliver(c.event, "guid", c.secret, []byte(c.body))
			if status != c.status {
				t.Errorf("answered %d %s, want %d", status, answer, c.status)
			}
			if left := must(h.store.Inbox(t.Context(), hubQueue, "", 10, 0)); len(left) > 0 || h.spool.Len() > 0 {
				t.Errorf("stored %+v, spooled %d", left, h.spool.Len())
			}
			h.counted("submitqueue_webhooks_total" + c.counted)
		})
	}
}

// TestForgeInTrouble has GitHub fail in the ways it does: what cannot be asked
// is asked again, is never a verdict, and lands in the end.
func TestForgeInTrouble(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]forgetest.Fault{
		"500 for the pull request":   {Method: "GET", Path: "/repos/*/*/pulls/*", Status: 500, Times: 2},
		"429 for the permission":     {Method: "GET", Path: "/repos/*/*/collaborators/**", Status: 429, Times: 1, Header: http.Header{"Retry-After": {"1"}}},
		"502 for the comment":        {Method: "POST", Path: "/repos/*/*/issues/*/comments", Status: 502, Times: 1},
		"the comment's answer lost":  {Method: "POST", Path: "/repos/*/*/issues/*/comments", After: true, Times: 1},
		"403 secondary limit, check": {Method: "POST", Path: "/repos/*/*/check-runs", Status: 403, Times: 1, Header: http.Header{"Retry-After": {"1"}}},
		"cut off when fetching":      {Method: "POST", Path: "/acme/shop.git/git-upload-pack", Times: 1},
		"401 when fetching":          {Method: "GET", Path: "/acme/shop.git/info/refs", Status: 401, Times: 1},
		"500 when pushing":           {Method: "POST", Path: "/acme/shop.git/git-receive-pack", Status: 500, Times: 1},
		"the push's answer is lost":  {Method: "POST", Path: "/acme/shop.git/git-receive-pack", After: true, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{workers: workers.NewInstant(4), http: strings.Contains(f.Path, ".git/")})
			h.proven()
			h.github.Fail(f)
			n := h.land("topic", map[string]string{"a": "a\n"})
			h.landed(n)
			if got := h.notes("landed") + h.notes("rejected") + h.notes("cancelled"); got != 1 {
				t.Errorf("%d verdicts, want 1", got)
			}
		})
	}
}

// TestForgeForbids has GitHub refuse for good what concerns one pull request:
// it is told why nothing happens, as far as it can be told, and others land.
func TestForgeForbids(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.github.Fail(forgetest.Fault{Method: "GET", Path: fmt.Sprintf("/repos/*/*/pulls/%d", n), Status: 403, Times: 1_000_000,
		Message: "Resource not accessible by integration"})
	h.Comment("ann", n, "/land")
	h.says(n, "the forge could not be asked", "Resource not accessible by integration", "comment again")
	other := h.land("other", map[string]string{"b": "b\n"})
	h.landed(other)
}

// TestCommentForbidden: where the bot may not comment, changes land all the same.
func TestCommentForbidden(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	h.github.Fail(forgetest.Fault{Method: "POST", Path: "/repos/*/*/issues/*/comments", Status: 403, Times: 1_000_000})
	n := h.land("topic", map[string]string{"a": "a\n"})
	if ch := h.settled(n); ch.Phase != queue.Landed {
		t.Errorf("%s: %+v", ch.Phase, ch.Reason)
	}
	h.until("the failure can be seen", func(c *speculation.Core) bool {
		for _, a := range c.State().Actions {
			if _, ok := a.Task.(queue.Publish); ok && strings.Contains(a.Error, "403") {
				return true
			}
		}
		return false
	})
}

// TestAnalyzerFails: what cannot be analyzed conflicts with everything and is
// built on the whole tree; it is no verdict.
func TestAnalyzerFails(t *testing.T) {
	var left atomic.Int32
	h := newHub(t, hubOptions{files: areas(), workers: workers.NewInstant(4), analyzers: func(s config.Analysis) (conflict.Analyzer, error) {
		a, err := analyzers(s)
		return sick{a, &left}, err
	}})
	h.proven()
	left.Store(1)
	n := h.land("topic", map[string]string{"api/a": "a\n"})
	h.landed(n)
	if left.Load() > 0 {
		t.Error("it did not fail")
	}
}

// sick is an analyzer that fails the first times.
type sick struct {
	conflict.Analyzer
	left *atomic.Int32
}

func (s sick) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	if s.left.Add(-1) >= 0 {
		return nil, errors.New("the analyzer has a cold")
	}
	return s.Analyzer.Graph(ctx, t)
}

// TestAnalyzerMissing: an analyzer that cannot be made is tried again.
func TestAnalyzerMissing(t *testing.T) {
	var left atomic.Int32
	left.Store(2)
	h := newHub(t, hubOptions{files: areas(), workers: workers.NewInstant(4), analyzers: func(s config.Analysis) (conflict.Analyzer, error) {
		if left.Add(-1) >= 0 {
			return nil, errors.New("the analyzer is being installed")
		}
		return analyzers(s)
	}})
	n := h.land("topic", map[string]string{"api/a": "a\n"})
	h.landed(n)
}

// TestRunnerDies: a runner that dies in mid-build brings no verdict; the build
// runs elsewhere.
func TestRunnerDies(t *testing.T) {
	dying := &dyingWorkers{Controller: workers.NewInstant(4)}
	h := newHub(t, hubOptions{workers: dying})
	h.proven()
	dying.left.Store(2)
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n)
	if got := h.notes("build-infrastructure"); got != 2 {
		t.Errorf("%d builds ended in infrastructure errors, want 2", got)
	}

	dying.left.Store(3)
	n = h.land("unlucky", map[string]string{"b": "b\n"})
	h.says(n, "🅿️ Parked: infrastructure errors", "no verdict", "the runner is gone")
	h.Comment("ann", n, "/land retry")
	h.landed(n)
}

// dyingWorkers lose the first builds.
type dyingWorkers struct {
	workers.Controller
	left atomic.Int32
	once sync.Once
	out  chan queue.Body
}

func (d *dyingWorkers) Events() <-chan queue.Body {
	d.once.Do(func() {
		d.out = make(chan queue.Body, 100)
		go func() {
			defer close(d.out)
			for b := range d.Controller.Events() {
				d.out <- b
			}
		}()
	})
	return d.out
}

func (d *dyingWorkers) Run(ctx context.Context, b queue.Build, action string) error {
	if d.left.Add(-1) < 0 {
		return d.Controller.Run(ctx, b, action)
	}
	d.out <- queue.BuildStarted{Build: b.ID, Machine: "mac-1"}
	d.out <- queue.BuildDone{Action: action, Build: b.ID, Outcome: queue.JobInfra, Detail: "the runner is gone"}
	return nil
}

func TestReadyAndHealthy(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(1)})
	h.proven()
	h.shows("/api/queue", `"tip"`)
	for path, want := range map[string]string{"/healthz": "alive", "/readyz": "ready", "/api/queue": `"tip"`} {
		res := must(http.Get("http://" + h.server.Addr() + path))
		text := string(must(io.ReadAll(res.Body)))
		res.Body.Close()
		if res.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.200s", path, res.StatusCode, text)
		}
	}
}
