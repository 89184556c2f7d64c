package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/golang"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// benchGo makes the graphs of a Go repository through the mirror that the
// server reads from: of one commit, and of each of the commits after it. Beside
// it stands what the go command takes to say the same of one commit.
type benchGo struct {
	Packages int    `default:"1300" help:"Go packages on main."`
	Commits  int    `default:"200" help:"Commits to follow."`
	Rounds   int    `default:"3" help:"Do it all again; the figures are the best."`
	JSON     string `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
}

// goFigures are the figures of `bench go`, the best of its rounds, in seconds.
type goFigures struct {
	Packages int     `json:"packages"`
	Files    int     `json:"files"`
	GoFiles  int     `json:"go_files"`
	Cold     float64 `json:"cold_seconds"`        // the hashes of a tree of which nothing is known
	Warm     float64 `json:"warm_seconds"`        // the same when each file has been read once
	Commit   spread  `json:"commit_seconds"`      // from one commit to the next: what differs, the hashes, the footprint
	Diff     spread  `json:"commit_diff_seconds"` // the part of it that finds what differs
	Whole    int     `json:"commits_made_whole"`  // commits that were not followed
	// What the go command takes, where there is one.
	Checkout float64 `json:"worktree_seconds,omitempty"`
	List     float64 `json:"go_list_seconds,omitempty"`
	Machine  machine `json:"machine"`
}

// Run implements the command.
func (b *benchGo) Run(ctx context.Context) error {
	if b.Packages < 1 || b.Commits < 1 || b.Rounds < 1 {
		return errors.New("all counts are at least 1")
	}
	dir, err := os.MkdirTemp("", "submitqueue-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	repo := filepath.Join(dir, "bench.git")
	commits, err := makeGoRepo(ctx, repo, b.Packages, b.Commits)
	if err != nil {
		return err
	}
	best := goFigures{Machine: machineOf(dir)}
	fmt.Printf("graphs of %d Go packages; %s\n", b.Packages, best.Machine)
	for i := range b.Rounds {
		r := goRound{repo: repo, commits: commits}
		if err := r.run(ctx, filepath.Join(dir, fmt.Sprintf("mirror-%d", i))); err != nil {
			return err
		}
		if err := r.goCommand(ctx, filepath.Join(dir, fmt.Sprintf("work-%d", i))); err != nil {
			return err
		}
		f := r.goFigures
		fmt.Printf("  cold %.3f s, warm %.4f s, a commit %.2f ms (p95 %.2f ms), %.2f ms of it for what differs; %d of %d made whole; git worktree add %.2f s + go list %.2f s\n",
			f.Cold, f.Warm, 1000*f.Commit.P50, 1000*f.Commit.P95, 1000*f.Diff.P50, f.Whole, b.Commits, f.Checkout, f.List)
		if f.Machine = best.Machine; i > 0 {
			f.Cold, f.Warm = min(f.Cold, best.Cold), min(f.Warm, best.Warm)
			f.Checkout, f.List = min(f.Checkout, best.Checkout), min(f.List, best.List)
			f.Commit = slices.MinFunc([]spread{f.Commit, best.Commit}, spread.compare)
			f.Diff = slices.MinFunc([]spread{f.Diff, best.Diff}, spread.compare)
		}
		best = f
	}
	return print.Figures(b.JSON, best)
}

func (s spread) compare(t spread) int { return cmp.Compare(s.P50, t.P50) }

// goRound measures once.
type goRound struct {
	goFigures
	repo    string
	commits []queue.CommitID // the first is analyzed, the others are followed
}

func (r *goRound) run(ctx context.Context, dir string) (err error) {
	m, err := mirror.Borrow(ctx, dir, filepath.Join(r.repo, "objects"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	trees := make([]*mirror.Tree, len(r.commits))
	for i, c := range r.commits {
		if trees[i], err = m.Objects.Tree(ctx, c); err != nil {
			return err
		}
	}
	a := &countedGo{Analyzer: golang.New(golang.Options{})}
	begun := time.Now()
	at, err := conflict.Analyze(ctx, a, benchAnalysis, app.TreeOf(trees[0]))
	if err != nil {
		return err
	}
	r.Cold = seconds(time.Since(begun))
	r.count(ctx, trees[0], at)
	var warm []time.Duration
	for range 5 {
		begun = time.Now()
		if at, err = conflict.Analyze(ctx, a, benchAnalysis, app.TreeOf(trees[0])); err != nil {
			return err
		}
		warm = append(warm, time.Since(begun))
	}
	r.Warm = spreadOf(warm).P50
	a.whole = 0
	if at, err = r.follow(ctx, m, a, at, trees); err != nil {
		return err
	}
	r.Whole = a.whole
	last, err := conflict.Analyze(ctx, a, benchAnalysis, app.TreeOf(trees[len(trees)-1]))
	if err == nil && !slices.Equal(at.Targets(), last.Targets()) {
		err = errors.New("following the commits did not lead to the hashes of the last one")
	}
	return err
}

// benchAnalysis is what the bench's repository is analyzed under.
var benchAnalysis = config.Analysis{Analyzer: golang.Name, Unowned: config.UnownedTarget}

// countedGo counts how often it looks at a whole tree.
type countedGo struct {
	*golang.Analyzer
	whole int
}

// Graph implements conflict.Analyzer.
func (a *countedGo) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	a.whole++
	return a.Analyzer.Graph(ctx, t)
}

// follow goes from commit to commit as the server does: what differs, the
// snapshot, and what the commit can influence.
func (r *goRound) follow(ctx context.Context, m *mirror.Mirror, a conflict.Analyzer, at *conflict.Snapshot, trees []*mirror.Tree) (*conflict.Snapshot, error) {
	var all, diffs []time.Duration
	for i, t := range trees[1:] {
		begun := time.Now()
		deltas, err := m.Objects.Diff(ctx, trees[i].ID(), t.ID())
		if err != nil {
			return nil, err
		}
		files := app.FileChanges(deltas)
		diffs = append(diffs, time.Since(begun))
		next, err := conflict.Advance(ctx, a, benchAnalysis, at, app.TreeOf(t), files)
		if err != nil {
			return nil, err
		}
		conflict.FootprintOf(at, next, "")
		all = append(all, time.Since(begun))
		at = next
	}
	r.Commit, r.Diff = spreadOf(all), spreadOf(diffs)
	return at, nil
}

func (r *goRound) count(ctx context.Context, t *mirror.Tree, at *conflict.Snapshot) {
	files, _ := t.Files(ctx) // the snapshot has just been made of them
	r.Files = len(files)
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".go") {
			r.GoFiles++
		}
	}
	for _, target := range at.Targets() {
		if target.Target != config.TargetUnowned {
			r.Packages++
		}
	}
}

// goCommand measures what a checkout takes, and what the go command takes there.
func (r *goRound) goCommand(ctx context.Context, dir string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return nil
	}
	begun := time.Now()
	if _, err := runGit(ctx, r.repo, nil, "worktree", "add", "--quiet", "--detach", dir, string(r.commits[0])); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r.Checkout = seconds(time.Since(begun))
	cmd := exec.CommandContext(ctx, "go", "list", "-test", "-deps", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local")
	begun = time.Now()
	if out, err := cmd.Output(); err != nil || len(out) == 0 {
		return fmt.Errorf("go list in the bench's repository: %w", err)
	}
	r.List = seconds(time.Since(begun))
	return nil
}
