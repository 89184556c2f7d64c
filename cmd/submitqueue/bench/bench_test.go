package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// init makes the test's own program the server of a bench, which starts itself.
func init() {
	if os.Getenv(benchChildVariable) != "" {
		if err := runBench(os.Args[1:]...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// runBench runs a command line that begins with bench.
func runBench(args ...string) error {
	var c struct {
		Bench Command `cmd:""`
	}
	parser, err := kong.New(&c)
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if err != nil {
		return err
	}
	k.BindTo(context.Background(), (*context.Context)(nil))
	return k.Run()
}

func withRedis(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	storetest.Need(t, "redis", err == nil)
}

// bench runs a bench and returns the figures that it wrote.
func bench(t *testing.T, args ...string) map[string]any {
	t.Helper()
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := runBench(append(append([]string{"bench"}, args...), "--json", file)...); err != nil {
		t.Fatalf("bench %s: %v", strings.Join(args, " "), err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var figures map[string]any
	if err := json.Unmarshal(raw, &figures); err != nil {
		t.Fatal(err)
	}
	return figures
}

// has fails unless the figures have the given names, and a positive value of
// each that is a number.
func has(t *testing.T, figures map[string]any, names ...string) {
	t.Helper()
	for _, name := range names {
		var v any = figures
		for part := range strings.SplitSeq(name, ".") {
			m, ok := v.(map[string]any)
			if !ok {
				t.Errorf("%s: %v has no %s", name, v, part)
				break
			}
			v = m[part]
		}
		if n, number := v.(float64); v == nil || number && n <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func TestBenchLand(t *testing.T) {
	t.Parallel()
	withRedis(t)
	for name, args := range map[string][]string{
		"independent": {"--changes", "5", "--areas", "50", "--forge", "local"},
		"conflicting": {"--changes", "5", "--areas", "1", "--rounds", "2"},
		"webhooks":    {"--changes", "4", "--areas", "2", "--forge", "github"},
		"one by one":  {"--single", "--rounds", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			f := bench(t, append([]string{"land", "--size", "60"}, args...)...)
			has(t, f, "changes", "areas", "landed", "wall_seconds", "latency_seconds.p50", "latency_seconds.p95",
				"latency_seconds.max", "builds", "pushes", "turns", "cpu_seconds.server", "cpu_seconds.redis", "cpu_per_landed",
				"machine.cpus", "redis", "forge")
			if f["landed"] != f["changes"] {
				t.Errorf("%v of %v changes have landed", f["landed"], f["changes"])
			}
			if rounds, _ := f["rounds"].([]any); len(rounds) != 2 && name == "conflicting" {
				t.Errorf("%d rounds", len(rounds))
			}
		})
	}
}

// TestBenchVerify has verify find what would be wrong with a queue.
func TestBenchVerify(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	repo, err := makeBenchRepo(ctx, filepath.Join(t.TempDir(), "x.git"), benchShape{Files: 5, Areas: 2, Changes: 2, Commits: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.verify(ctx, repo.dir); err == nil || !strings.Contains(err.Error(), "0 times") {
		t.Errorf("nothing has landed: %v", err)
	}
	main := repo.start
	for _, name := range repo.names {
		main = mergeByGit(t, ctx, repo.dir, main, repo.heads[name])
	}
	if err := repo.verify(ctx, repo.dir); err != nil {
		t.Errorf("all is well: %v", err)
	}
	again := mergeByGit(t, ctx, repo.dir, main, repo.heads[repo.names[0]])
	if err := repo.verify(ctx, repo.dir); err == nil || !strings.Contains(err.Error(), "2 times") {
		t.Errorf("%s has landed twice: %v", again, err)
	}
	point(t, ctx, repo.dir, repo.heads[repo.names[0]])
	if err := repo.verify(ctx, repo.dir); err == nil || !strings.Contains(err.Error(), "is no merge") {
		t.Errorf("main was pushed to directly: %v", err)
	}
}

func mustGit(t *testing.T, ctx context.Context, dir string, args ...string) string {
	t.Helper()
	out, err := runGit(ctx, dir, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func mergeByGit(t *testing.T, ctx context.Context, dir, main, head string) string {
	t.Helper()
	tree := mustGit(t, ctx, dir, "merge-tree", "--write-tree", main, head)
	id := mustGit(t, ctx, dir, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "m", "-p", main, "-p", head, tree)
	point(t, ctx, dir, id)
	return id
}

func point(t *testing.T, ctx context.Context, dir, id string) {
	t.Helper()
	mustGit(t, ctx, dir, "update-ref", "refs/heads/main", id)
}

func TestSpread(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i)*time.Millisecond)
	}
	if d := cmp.Diff(spread{P50: 0.05, P95: 0.095, P99: 0.099, Max: 0.1}, spreadOf(all)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(spread{P50: 0.1, P95: 0.1, P99: 0.1, Max: 0.1}, spreadOf(all[:1])); d != "" {
		t.Error(d)
	}
}

func TestMedianRound(t *testing.T) {
	var rounds []landFigures
	for _, wall := range []float64{3, 1, 2} {
		rounds = append(rounds, landFigures{Wall: wall})
	}
	m := medianOf(slices.Clone(rounds))
	if m.Wall != 2 || len(m.Rounds) != 3 || m.Rounds[0].Wall != 3 {
		t.Errorf("%+v", m)
	}
}
