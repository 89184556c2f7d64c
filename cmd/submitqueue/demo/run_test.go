package demo

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func (o *oracle) deps(out *strings.Builder) Deps {
	return Deps{
		Start: o.start, Out: out, Getenv: func(string) string { return "" }, Now: time.Now,
		Memory: func() int64 { return 7_000_000 }, Poll: time.Millisecond, Slow: 20 * time.Millisecond,
	}
}

const ownSteps = "version: 1\nsteps:\n  - name: test\n    run: test ! -e broken\n    report: exit-code\n"

// mustOwn makes a repository of the user's with two branches to land.
func mustOwn(t *testing.T, extra Files) string {
	t.Helper()
	files := Files{".submitqueue.yml": ownSteps, "a": "1\n"}
	for name, data := range extra {
		files[name] = data
	}
	dir := mustRepository(t, files)
	mustBranch(t, dir, "feature/one", "one", Files{"one": "1\n"})
	mustBranch(t, dir, "feature/deep/two", "two", Files{"broken": "1\n"})
	mustBranch(t, dir, "wip", "not yet", Files{"wip": "1\n"})
	return dir
}

func ownFlags(repo string) Flags {
	return Flags{Runners: 2, Repo: repo, Branches: "feature/**"}
}

func TestRunOnAGeneratedRepository(t *testing.T) {
	var out strings.Builder
	o := newOracle(t)
	file := filepath.Join(t.TempDir(), "figures.json")
	plan := mustGenerate(t, Size{Seed: 2, Changes: MinChanges})
	plan.Check = Check{Command: "test -e go.mod"} // TestPlanIsTrue runs the real one
	if err := runPlan(t.Context(), plan, Flags{Runners: 4, JSON: file}, o.deps(&out)); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f Figures
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"SubmitQueue demo: 12 pull requests on a web shop in Go, 4 runners\nTesting main itself first.",
		"\nDashboard:      http://127.0.0.1:1\nPull requests:  http://127.0.0.1:2/acme/shop\n", "\nRedis:          in this process\n",
		"\nMemory             7 MB at most", "The figures are in " + file + ".\n", "The dashboard, the pull requests and the logs are gone now; with --keep",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("does not say %q:\n%s", text, out.String())
		}
	}
	if f.Changes != 12 || f.PeakMemory != 7_000_000 || f.Landed != 7 || f.Rejected != 5 || f.WrongOutcomes != 0 || f.CommitsChecked != 8 || !f.Green {
		t.Errorf("%s\n%s", data, out.String())
	}
	if o.closed != 1 {
		t.Errorf("closed %d times", o.closed)
	}
}

func TestRunOnAnOwnRepository(t *testing.T) {
	repo := mustOwn(t, nil)
	before := mustGit(t, repo, "for-each-ref")
	for _, test := range []struct {
		name string
		edit func(*oracle)
		want error
		says []string
	}{
		{"what landed is red", func(*oracle) {}, ErrWrong,
			[]string{"RED", "merge ", "1 of 3 commits on main are green"}},
		{"says landed, is not", func(o *oracle) {
			o.silent = map[string]bool{"feature/deep/two": true}
			o.lie = map[string]Result{"feature/deep/two": ResultLanded}
		}, ErrWrong, []string{"disputed", "2 of 2 commits on main are green", "#1    feature/deep/two: two\n"}},
		{"says rejected, is on main", func(o *oracle) { o.lie = map[string]Result{"feature/one": ResultBuild} }, ErrWrong, []string{"disputed"}},
		{"refused", func(o *oracle) {
			o.silent = map[string]bool{"feature/deep/two": true}
			o.lie = map[string]Result{"feature/deep/two": ResultOther}
		}, nil, []string{"Others: 1", "no write access", "each change has a verdict", "2 of 2 commits on main are green", "by: test ! -e broken, the steps of .submitqueue.yml"}},
		{"stuck", func(o *oracle) { o.silent = map[string]bool{"feature/deep/two": true} }, ErrStuck,
			[]string{"Stuck:\n  #1 feature/deep/two: two: waiting: no runner is free", "no verdict"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			o := newOracle(t)
			test.edit(o)
			deps := o.deps(&out)
			deps.Stall = 300 * time.Millisecond
			if err := Run(t.Context(), ownFlags(repo), deps); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			for _, text := range test.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("does not say %q:\n%s", text, out.String())
				}
			}
			if o.closed != 1 {
				t.Errorf("closed %d times", o.closed)
			}
		})
	}
	if after := mustGit(t, repo, "for-each-ref"); after != before {
		t.Errorf("the user's repository was written to:\n%s\n%s", before, after)
	}
}

// A build that takes longer than anything else may is no reason to give up.
func TestRunWaitsForBuilds(t *testing.T) {
	o := newOracle(t)
	o.silent, o.busy = map[string]bool{"feature/deep/two": true}, 200
	var out strings.Builder
	var ticks atomic.Int64
	deps := o.deps(&out)
	deps.Stall = 30 * time.Second
	deps.Now = func() time.Time { return time.Unix(ticks.Add(1), 0) }
	if err := Run(t.Context(), ownFlags(mustOwn(t, nil)), deps); !errors.Is(err, ErrStuck) || o.looks <= o.busy {
		t.Errorf("gave up at look %d with %v:\n%s", o.looks, err, out.String())
	}
}

// A change that infrastructure has parked is tried again, as its author would, but not for ever.
func TestRunRetriesWhatBroke(t *testing.T) {
	for broken, want := range map[int]error{1: nil, 1000: ErrStuck} {
		o := newOracle(t)
		o.broken = map[string]int{"feature/one": broken}
		o.silent, o.lie = map[string]bool{"feature/deep/two": true}, map[string]Result{"feature/deep/two": ResultBuild}
		var out strings.Builder
		deps := o.deps(&out)
		deps.Stall = 300 * time.Millisecond
		if err := Run(t.Context(), ownFlags(mustOwn(t, nil)), deps); !errors.Is(err, want) || o.tries < 1 || o.tries > maxRetries {
			t.Errorf("%d: %v after %d retries:\n%s", broken, err, o.tries, out.String())
		}
	}
}

func TestRunStopsWhenInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	repo := mustOwn(t, nil)
	o := newOracle(t)
	o.silent = map[string]bool{"feature/one": true}
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	deps := o.deps(&out)
	deps.Now = func() time.Time {
		if o.mu.TryLock() {
			if o.looks > 3 {
				cancel()
			}
			o.mu.Unlock()
		}
		return time.Now()
	}
	if err := Run(ctx, ownFlags(repo), deps); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if o.closed != 1 {
		t.Errorf("closed %d times", o.closed)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "submitqueue-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRunKeepsServing(t *testing.T) {
	repo := mustOwn(t, nil)
	o := newOracle(t)
	o.silent = map[string]bool{"feature/deep/two": true}
	o.lie = map[string]Result{"feature/deep/two": ResultBuild}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flags := ownFlags(repo)
	flags.Keep = true
	out := &strings.Builder{}
	deps := o.deps(out)
	deps.Out = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "Still serving") {
			cancel()
		}
		return out.Write(p)
	})
	if err := Run(ctx, flags, deps); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(out.String(), "Still serving: the dashboard at http://127.0.0.1:1, the pull requests with the bot's comments at http://127.0.0.1:2/acme/shop;") {
		t.Errorf("stopped before:\n%s", out)
	}
	if strings.Contains(out.String(), "gone now") {
		t.Errorf("says that it is gone:\n%s", out)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRunReportsWhatCannotBeDone(t *testing.T) {
	o := newOracle(t)
	o.openE = errors.New("the forge is away")
	var out strings.Builder
	if err := Run(t.Context(), ownFlags(mustOwn(t, nil)), o.deps(&out)); !errors.Is(err, o.openE) {
		t.Errorf("got %v", err)
	}
	if err := Run(t.Context(), Flags{Changes: 3, Runners: 1}, o.deps(&out)); err == nil {
		t.Error("three changes were accepted")
	}
	deps := o.deps(&out)
	deps.Start = func(context.Context, int) (Stack, error) {
		t.Error("began, though the figures have nowhere to go")
		return nil, o.openE
	}
	flags := ownFlags(mustOwn(t, nil))
	flags.JSON = filepath.Join(t.TempDir(), "none", "figures.json")
	if err := Run(t.Context(), flags, deps); err == nil || !strings.Contains(err.Error(), "--json "+flags.JSON+" cannot be written: there is no folder") {
		t.Errorf("got %v", err)
	}
}
