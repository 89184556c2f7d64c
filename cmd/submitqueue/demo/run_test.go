package demo

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (o *oracle) deps(out *strings.Builder) Deps {
	return Deps{
		Start: o.start, Out: out, Getenv: func(string) string { return "" }, Now: time.Now,
		Poll: time.Millisecond, Slow: 20 * time.Millisecond,
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
	if f.Changes != 12 || f.Landed != 7 || f.Rejected != 5 || f.WrongOutcomes != 0 || f.CommitsChecked != 8 || !f.Green {
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
		}, ErrWrong, []string{"disputed", "2 of 2 commits on main are green"}},
		{"says rejected, is on main", func(o *oracle) { o.lie = map[string]Result{"feature/one": ResultBuild} }, ErrWrong, []string{"disputed"}},
		{"refused", func(o *oracle) {
			o.silent = map[string]bool{"feature/deep/two": true}
			o.lie = map[string]Result{"feature/deep/two": ResultOther}
		}, nil, []string{"Others: 1", "no write access", "each change has a verdict", "2 of 2 commits on main are green", "by: ( test ! -e broken ), the steps of .submitqueue.yml"}},
		{"stuck", func(o *oracle) { o.silent = map[string]bool{"feature/deep/two": true} }, ErrStuck,
			[]string{"Stuck:\n  #1 two: waiting (slot; no runner is free)", "no verdict"}},
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
	if !strings.Contains(out.String(), "Still serving at http://127.0.0.1:1") {
		t.Errorf("stopped before:\n%s", out)
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
}
