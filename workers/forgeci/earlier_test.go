package forgeci

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// aHead is a commit of which a push has had the check test passed by ci.yml.
func aHead(h *hub) (config.Step, map[string][]byte) {
	at := time.Now().Add(-time.Hour)
	h.runs = []forge.CIRun{{ID: 7, Suite: 3, Commit: "head", Branch: "topic", Name: "CI", Path: ".github/workflows/ci.yml", Actor: "ann", Attempt: 1, Push: true, Done: true}}
	h.results = []forge.CIResult{{ID: 1, Name: "test", App: config.AppActions, Suite: 3, Bound: true, Commit: "head", State: forge.CIPassed, Word: "success", At: at, Ended: at.Add(time.Minute)}}
	return config.Step{Name: "unit", Checks: []config.Check{{Name: "test"}}, Earlier: config.EarlierCount, Counts: config.CountsTree},
		map[string][]byte{".github/workflows/ci.yml": []byte("on: push\njobs: {test: {steps: [{run: make}]}}\n")}
}

const merge = queue.CommitID("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")

// ofHead has the same files on the head and on the one merge of it.
func ofHead(files map[string][]byte) workers.HeadTree {
	return func(_ context.Context, of queue.CommitID) (map[string][]byte, string, error) {
		if of != "" && of != merge {
			return nil, "it is no merge of the head", nil
		}
		return files, "", nil
	}
}

// ofMerge makes of the run of a push one of the pull request, whose workflow says what it
// has tested.
func ofMerge(h *hub, files map[string][]byte) {
	h.runs[0].Push, h.runs[0].Pull, h.runs[0].Own, h.runs[0].Title = false, true, true, "CI of "+string(merge)
	files[".github/workflows/ci.yml"] = []byte("run-name: CI of ${{github.sha}}\non: [push, pull_request]\njobs: {test: {steps: [{run: make}]}}\n")
}

func TestPassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(h *hub, s *config.Step, files map[string][]byte)
		why   string
		none  bool // nothing is said at all
		open  bool
		on    queue.CommitID
	}{
		"passed":               {},
		"of a path with a ref": {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) { h.runs[0].Path += "@refs/heads/topic" }},
		"not asked for":        {spoil: func(_ *hub, s *config.Step, _ map[string][]byte) { s.Earlier = "" }, none: true},
		"no path":              {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) { h.runs[0].Path = "" }, why: "by which workflow"},
		"dependabot":           {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) { h.runs[0].Actor = "dependabot[bot]" }, why: "Dependabot"},
		"of the merge": {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) {
			h.runs[0].Push, h.runs[0].Pull, h.runs[0].Own = false, true, true
		}, why: "for the pull request only"},
		"of a merge": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) { ofMerge(h, f) }, on: merge},
		"of some merge": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) {
			ofMerge(h, f)
			h.runs[0].Title = "CI"
		}, why: "on a merge that the workflow does not name"},
		"of two merges": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) {
			ofMerge(h, f)
			h.runs[0].Title += " " + strings.Repeat("b", 40)
		}, why: "on a merge that the workflow does not name"},
		"of a merge in other words": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) {
			ofMerge(h, f)
			h.runs[0].Title += "!"
		}, why: "does not say for sure"},
		"of a fork's branch": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) {
			ofMerge(h, f)
			h.runs[0].Own = false
		}, why: "its checks were not run on a push of the head"},
		"of a merge, failed on the push": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) {
			push, red := h.runs[0], h.results[0]
			ofMerge(h, f)
			push.ID, push.Suite, red.ID, red.Suite, red.State, red.Word = 8, 4, 2, 4, forge.CIFailed, "failure"
			h.runs, h.results = append(h.runs, push), append(h.results, red)
		}, why: "ended there as failure"},
		"of a merge, runs": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) {
			ofMerge(h, f)
			h.runs[0].Done = false
		}, why: "runs there still", open: true},
		"of a merge that is none": {spoil: func(h *hub, _ *config.Step, f map[string][]byte) {
			ofMerge(h, f)
			h.runs[0].Title = "CI of " + strings.Repeat("c", 40)
		}, why: "no merge"},
		"no run of it": {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) { h.runs = nil }, why: "its checks were not run on a push of the head", open: true},
		"no results":   {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) { h.results = nil }, why: "its checks were not run on a push of the head"},
		"failed": {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) {
			h.results[0].State, h.results[0].Word = forge.CIFailed, "failure"
		}, why: "ended there as failure"},
		"runs":              {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) { h.runs[0].Done = false }, why: "runs there still", open: true},
		"nobody knows when": {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) { h.results[0].Ended = time.Time{} }, why: "when the check"},
		"another workflow":  {spoil: func(_ *hub, _ *config.Step, f map[string][]byte) { delete(f, ".github/workflows/ci.yml") }, why: "not in the head's tree"},
		"one that may differ": {spoil: func(_ *hub, _ *config.Step, f map[string][]byte) {
			f[".github/workflows/ci.yml"] = []byte("on: push\njobs: {test: {environment: x}}\n")
		}, why: "an environment"},
		"a status beside": {spoil: func(h *hub, _ *config.Step, _ map[string][]byte) {
			h.results = append(h.results, forge.CIResult{Status: true, Name: "test", State: forge.CIPassed})
		}, why: "not of GitHub Actions alone"},
		"one of two checks": {spoil: func(_ *hub, s *config.Step, _ map[string][]byte) {
			s.Checks = append(s.Checks, config.Check{Name: "lint"})
		}, why: `the check "lint"`},
		"of an App that is not": {spoil: func(_ *hub, s *config.Step, _ map[string][]byte) { s.Checks[0].App = "other" }, why: "its checks were not run on a push of the head"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub()
			s, files := aHead(h)
			if c.spoil != nil {
				c.spoil(h, &s, files)
			}
			got, err := h.start(t).PassedOn(t.Context(), "head", []config.Step{s}, ofHead(files))
			if err != nil {
				t.Fatal(err)
			}
			passed := c.why == "" && !c.none
			if (len(got.Passed) == 1) != passed || got.Open != c.open || (len(got.Doubts) == 1) != (c.why != "") {
				t.Fatalf("%+v", got)
			}
			if c.why != "" && (got.Doubts[0].Step != "unit" || !strings.Contains(got.Doubts[0].Why, c.why)) {
				t.Errorf("%+v, want %q", got.Doubts, c.why)
			}
			if passed && (got.Passed[0].Step != s.Digest() || got.Passed[0].On != c.on) {
				t.Errorf("%+v", got.Passed)
			}
		})
	}
}

// When it was run is told by our clock, whatever the forge's says.
func TestPassedOnByTheClockOfTheForge(t *testing.T) {
	h := newHub()
	s, files := aHead(h)
	began := h.results[0].At
	h.now = func() time.Time { return time.Now().Add(3 * time.Hour) }
	h.results[0].At, h.results[0].Ended = began.Add(3*time.Hour), began.Add(3*time.Hour+time.Minute)
	got, err := h.start(t).PassedOn(t.Context(), "head", []config.Step{s}, ofHead(files))
	if err != nil || len(got.Passed) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if off := got.Passed[0].Began.Sub(queue.At(began)); off.Abs() > 5*time.Second || got.Passed[0].Ended.Sub(got.Passed[0].Began) != time.Minute {
		t.Errorf("it began %s off, and took %s", off, got.Passed[0].Ended.Sub(got.Passed[0].Began))
	}
}

// A run that ends on a head is reported once if it was awaited, and otherwise
// not.
func TestWhatEndsOnAHeadIsTold(t *testing.T) {
	h := newHub()
	s, files := aHead(h)
	c := h.start(t)
	run := h.runs[0]
	c.News(forge.CINews{Runs: []forge.CIRun{run}}) // nobody has asked about it
	h.runs[0].Done = false
	if _, err := c.PassedOn(t.Context(), "head", []config.Step{s}, ofHead(files)); err != nil {
		t.Fatal(err)
	}
	c.News(forge.CINews{Runs: []forge.CIRun{h.runs[0]}}) // it goes on
	other := run
	other.Commit = "other"
	c.News(forge.CINews{Runs: []forge.CIRun{other, run, run}})
	if got := <-c.Events(); got != (queue.HeadChecked{Head: "head"}) {
		t.Errorf("%+v", got)
	}
	mustRun(t, c, order("ab"), "run/ab")
	if err := c.Stop(t.Context(), "ab"); err != nil {
		t.Fatal(err)
	}
	for got := range c.Events() {
		if _, again := got.(queue.HeadChecked); again {
			t.Error("told twice")
		}
		if _, done := got.(queue.BuildDone); done {
			break
		}
	}
	for i := range 2 * maxAwaited {
		c.await(queue.CommitID(rune(i)))
	}
	if len(c.awaited) != maxAwaited {
		t.Errorf("%d heads are remembered", len(c.awaited))
	}
	h.deaf = errors.New("away")
	if _, err := c.PassedOn(t.Context(), "head", []config.Step{s}, ofHead(files)); err == nil {
		t.Error("a forge that does not answer has passed nothing")
	}
	var split workers.Attester = workers.NewSplit(h.start(t), c)
	if _, err := split.PassedOn(t.Context(), "head", []config.Step{s}, ofHead(files)); err == nil {
		t.Error("a split asks nobody")
	}
}
