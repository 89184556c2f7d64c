package golang_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/golang"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// history is the commits of a Go repository, in the mirror that the server reads
// from.
type history struct {
	dir     string // of the repository
	commits []queue.CommitID
	mirror  *mirror.Mirror
	trees   []*mirror.Tree
}

func newHistory(t testing.TB, packages, commits int) *history {
	t.Helper()
	h := &history{dir: filepath.Join(t.TempDir(), "go.git")}
	h.commits = makeGoRepo(t, h.dir, packages, commits)
	var err error
	h.mirror, err = mirror.Borrow(t.Context(), filepath.Join(t.TempDir(), "mirror.git"), filepath.Join(h.dir, "objects"))
	must(t, err)
	t.Cleanup(func() { must(t, h.mirror.Close()) })
	for _, c := range h.commits {
		tree, err := h.mirror.Objects.Tree(t.Context(), c)
		must(t, err)
		h.trees = append(h.trees, tree)
	}
	return h
}

// follow goes from the first commit to the last as the server does: what differs,
// the snapshot, and what the commit can influence.
func (h *history) follow(t testing.TB, a conflict.Analyzer, at *conflict.Snapshot) (last *conflict.Snapshot, all, diffs []time.Duration) {
	t.Helper()
	for i, tree := range h.trees[1:] {
		begun := time.Now()
		deltas, err := h.mirror.Objects.Diff(t.Context(), h.trees[i].ID(), tree.ID())
		must(t, err)
		files := app.FileChanges(deltas)
		diffs = append(diffs, time.Since(begun))
		next, err := conflict.Advance(t.Context(), a, commitRules, at, app.TreeOf(tree), files)
		must(t, err)
		conflict.FootprintOf(at, next, "")
		all = append(all, time.Since(begun))
		at = next
	}
	return at, all, diffs
}

// commitRules are what the repository is analyzed under.
var commitRules = config.Analysis{Analyzer: golang.Name, Unowned: config.UnownedTarget}

// counted counts how often an analyzer looks at a whole tree.
type counted struct {
	*golang.Analyzer
	whole int
}

// Graph implements conflict.Analyzer.
func (a *counted) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	a.whole++
	return a.Analyzer.Graph(ctx, t)
}

// Commits of a real repository are followed one by one, none is analyzed as a
// whole, and they lead to the hashes of the last one.
func TestCommitsAreFollowed(t *testing.T) {
	h := newHistory(t, 30, 25)
	a := &counted{Analyzer: golang.New(golang.Options{})}
	first, err := conflict.Analyze(t.Context(), a, commitRules, app.TreeOf(h.trees[0]))
	must(t, err)
	a.whole = 0
	last, _, _ := h.follow(t, a, first)
	if a.whole != 0 {
		t.Errorf("%d of %d commits were analyzed as a whole", a.whole, len(h.commits)-1)
	}
	want, err := conflict.Analyze(t.Context(), golang.New(golang.Options{}), commitRules, app.TreeOf(h.trees[len(h.trees)-1]))
	must(t, err)
	if len(first.Targets()) != 30+1 || !slices.Equal(last.Targets(), want.Targets()) {
		t.Errorf("%d targets; the hashes are those of the last commit: %t", len(first.Targets()), slices.Equal(last.Targets(), want.Targets()))
	}
}

// BenchmarkCommits makes the graphs of 1,300 Go packages through a mirror, without
// a checkout; run it with -benchtime 1x:
//
//	cold     the hashes of a tree of which nothing is known
//	warm     the same when each file has been read once
//	commits  from one commit to the next, 200 times: what differs, hashes, footprint
//	go-list  what the go command takes to say the same of one commit, with a checkout
func BenchmarkCommits(b *testing.B) {
	h := newHistory(b, 1300, 200)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	a := golang.New(golang.Options{})
	analyze := func(a conflict.Analyzer) *conflict.Snapshot {
		s, err := conflict.Analyze(b.Context(), a, commitRules, app.TreeOf(h.trees[0]))
		must(b, err)
		return s
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			analyze(golang.New(golang.Options{}))
		}
	})
	first := analyze(a)
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			analyze(a)
		}
	})
	b.Run("commits", func(b *testing.B) {
		for b.Loop() {
			_, all, diffs := h.follow(b, a, first)
			slices.Sort(all)
			slices.Sort(diffs)
			b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
			b.ReportMetric(ms(all[len(all)*95/100]), "p95-ms")
			b.ReportMetric(ms(diffs[len(diffs)/2]), "diff-p50-ms")
		}
	})
	b.Run("go-list", h.goList)
}

// goList is what a checkout takes, and what the go command takes there.
func (h *history) goList(b *testing.B) {
	if _, err := exec.LookPath("go"); err != nil {
		b.Skip("no go command")
	}
	for b.Loop() {
		dir := filepath.Join(b.TempDir(), "work")
		begun := time.Now()
		mustGit(b, h.dir, nil, "worktree", "add", "--quiet", "--detach", dir, string(h.commits[0]))
		b.ReportMetric(time.Since(begun).Seconds(), "worktree-s")
		cmd := exec.CommandContext(b.Context(), "go", "list", "-test", "-deps", "-json", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local")
		begun = time.Now()
		out, err := cmd.Output()
		must(b, err)
		if len(out) == 0 {
			b.Fatal("go list says nothing")
		}
		b.ReportMetric(time.Since(begun).Seconds(), "list-s")
	}
}
