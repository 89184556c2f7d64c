package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// byCI is a repository whose one step is a check of the forge's CI, with more
// lines for the step.
func byCI(more ...string) map[string]string {
	return map[string]string{".submitqueue.yml": "version: 1\nsteps:\n  - name: unit\n    checks: [test]\n    timeout: 1m\n" +
		strings.Join(append([]string{""}, more...), "    ")}
}

// quick are options of a CI in tests: news come by webhooks, refs go soon.
func quick() *forgeci.Options {
	return &forgeci.Options{Name: "GitHub", Linger: 20 * time.Millisecond, Grace: 200 * time.Millisecond}
}

// judged is a CI with one workflow on submitqueue/**, whose job test fails where
// there is a file called bad.
func judged(p forgetest.CIPush) []forgetest.CIJob {
	if !strings.HasPrefix(p.Branch, "submitqueue/") {
		return nil
	}
	job := forgetest.CIJob{Name: "test", Conclusion: "success"}
	if p.Has("bad") {
		job.Conclusion = "failure"
	}
	return []forgetest.CIJob{job}
}

// refs lists the queue's own branches.
func (h *hub) refs() []string {
	h.Helper()
	return strings.Fields(git(h.T, h.Dir(), "for-each-ref", "--format=%(refname)", "refs/heads/submitqueue/", "refs/heads/submitqueue-targets/"))
}

// clean waits until no branch of the queue is left.
func (h *hub) clean() {
	h.Helper()
	h.eventually("the queue's refs are deleted", func() bool { return len(h.refs()) == 0 })
}

// eventually waits for something at the forge.
func (h *hub) eventually(what string, ok func() bool) {
	h.Helper()
	limit := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(limit) {
			h.Fatalf("waited in vain until %s; refs %v, runs %+v\n%s", what, h.refs(), h.CIRuns(), h.describe())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// running waits until so many builds are on their refs, and returns these.
func (h *hub) running(n int) (branches []string) {
	h.Helper()
	h.eventually("builds are on their refs", func() bool {
		branches = nil
		for _, r := range h.refs() {
			if b, ok := strings.CutPrefix(r, "refs/heads/"); ok && strings.HasPrefix(b, "submitqueue/main/") {
				branches = append(branches, b)
			}
		}
		return len(branches) == n
	})
	return branches
}

func newCIHub(t *testing.T, files map[string]string, script func(forgetest.CIPush) []forgetest.CIJob) *hub {
	t.Helper()
	h := newHub(t, hubOptions{files: files, ci: quick(), unattended: true})
	h.SetCI(t, script)
	h.stop()
	h.start(hubOptions{ci: quick()})
	return h
}

func TestCIPasses(t *testing.T) {
	h := newCIHub(t, byCI(), judged)
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n, "this very commit was tested")
	h.clean()
}

func TestCIFails(t *testing.T) {
	h := newCIHub(t, byCI(), judged)
	n := h.land("topic", map[string]string{"bad": "bad\n"})
	h.rejected(n, "failed in `unit`", "checks: test", "check test: failure", "/actions/runs/")
	h.clean()
}

var _ = json.Valid
var _ = slices.Sort[[]string]
var _ queue.Phase
var _ *speculation.Core
