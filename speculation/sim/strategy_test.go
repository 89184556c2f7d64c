package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation/sim"
)

var update = flag.Bool("update", false, "write the golden files")

func mustStrategy(t testing.TB, name string) sim.Strategy {
	t.Helper()
	s, err := sim.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustMeasure(t testing.TB, w *sim.World, name string, o sim.Options) *sim.Metrics {
	t.Helper()
	m, err := sim.Measure(context.Background(), w, mustStrategy(t, name), o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// peers are all strategies but the queue's own.
func peers() []string {
	var out []string
	for _, s := range sim.Strategies() {
		if !strings.HasPrefix(s.Name(), "ours") {
			out = append(out, s.Name())
		}
	}
	return out
}

// inOrder are those that decide as arrival order does.
var inOrder = []string{"oracle", "single", "optimistic", "optimistic-window", "github", "bors", "speculate-all", "submitqueue-2019"}

func TestOracleOnTheGivenWorlds(t *testing.T) {
	for _, c := range []struct {
		world         string
		workers       int
		p50, p95, p99 float64 // of the study
	}{
		{"e-500", 500, 67, 101, 112},
		{"e-500", 300, 67, 101, 112},
		{"e-500", 200, 79, 125, 143},
		{"e-500", 100, 185, 297, 337},
	} {
		m := mustMeasure(t, mustWorld(t, c.world), "oracle", sim.Options{Workers: c.workers})
		for _, x := range [][2]float64{{m.P50, c.p50}, {m.P95, c.p95}, {m.P99, c.p99}} {
			if math.Abs(x[0]-x[1]) > 0.015*x[1] {
				t.Errorf("%s, %d workers: %.1f / %.1f / %.1f min; the study has %v / %v / %v", c.world, c.workers, m.P50, m.P95, m.P99, c.p50, c.p95, c.p99)
				break
			}
		}
	}
}

// TestPeersOnTheGivenWorld holds the peers to the study's figures (e-500; P50 and
// P95 as ratios, builds per change), within a share.
func TestPeersOnTheGivenWorld(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	w := mustWorld(t, "e-500")
	bases := map[int]*sim.Metrics{} // by workers
	for _, c := range []struct {
		strategy         string
		workers          int
		p50, p95, builds float64
		within           float64
	}{
		{"single", 500, 31.8, 44.3, 1, 0.02},
		{"optimistic", 500, 6.0, 10.8, 22.6, 0.21},
		{"optimistic-window", 500, 43, 52, 1.74, 0.1},
		{"github", 500, 46, 58, 42.5, 0.02}, // the study has 80 builds per change
		{"bors", 500, 430, 506, 0.86, 0.02},
		{"speculate-all", 500, 6.7, 9.6, 20.8, 0.02},
		{"submitqueue-2019", 100, 1.50, 1.58, 2.4, 0.25},
	} {
		if bases[c.workers] == nil {
			bases[c.workers] = mustMeasure(t, w, "oracle", sim.Options{Workers: c.workers})
		}
		m := mustMeasure(t, w, c.strategy, sim.Options{Workers: c.workers})
		m.Against(bases[c.workers])
		for _, x := range [][2]float64{{m.Ratio.P50, c.p50}, {m.Ratio.P95, c.p95}, {m.Builds, c.builds}} {
			if math.Abs(x[0]-x[1]) > c.within*x[1] {
				t.Errorf("%s, %d workers: %.2f / %.2f, %.2f builds; the study has %v / %v, %v", c.strategy, c.workers, m.Ratio.P50, m.Ratio.P95, m.Builds, c.p50, c.p95, c.builds)
				break
			}
		}
	}
}

// TestClaimsOfThePapers: EuroSys'19, section 8.3: the oracle is fastest in order,
// SubmitQueue next, then optimistic and speculate-all, and the single queue last;
// "CI at Scale" (2025): bypassing and the threshold save builds.
func TestClaimsOfThePapers(t *testing.T) {
	t.Parallel()
	w := mustGenerate(t, func(p *sim.Params) { p.Changes, p.Components = 600, 150 })
	m := map[string]*sim.Metrics{}
	for _, name := range []string{"oracle", "submitqueue-2019", "submitqueue-2024", "optimistic", "speculate-all", "single", "bors"} {
		m[name] = mustMeasure(t, w, name, sim.Options{Workers: 300})
	}
	for _, pair := range [][2]string{
		{"oracle", "submitqueue-2019"}, {"submitqueue-2019", "optimistic"}, {"submitqueue-2019", "speculate-all"},
		{"optimistic", "single"}, {"speculate-all", "single"}, {"single", "bors"},
	} {
		if a, b := m[pair[0]], m[pair[1]]; a.P50 > b.P50 || a.P95 > b.P95 {
			t.Errorf("%s has %.0f / %.0f min, %s %.0f / %.0f", pair[0], a.P50, a.P95, pair[1], b.P50, b.P95)
		}
	}
	if a, b := m["submitqueue-2024"].Builds, m["submitqueue-2019"].Builds; a > 0.7*b {
		t.Errorf("SubmitQueue'24 takes %.2f builds per change, '19 %.2f; the paper saves 45%% to 64%%", a, b)
	}
}

// TestNothingIsEverRed replays worlds of all kinds with all peers.
func TestNothingIsEverRed(t *testing.T) {
	for seed := range uint64(6) {
		w := mustGenerate(t, func(p *sim.Params) {
			p.Seed, p.Changes, p.Components, p.RatePerHour = seed, 120, 12+40*int(seed%2), 300
			p.Conflict, p.Broken, p.Predictor = 0.08, 0.12, float64(seed%3)
			p.Arrivals = []string{"fixed", "poisson", "bursts"}[seed%3]
			if seed >= 3 {
				p.Large, p.ConflictLarge, p.ExternalPush, p.Flaky, p.TreeStepMin = 0.03, 0.05, 30, 0.01, 2
			}
		})
		want := mustMeasure(t, w, "oracle", sim.Options{Workers: 40})
		for _, name := range peers() {
			for _, workers := range []int{1, 40} {
				m := mustMeasure(t, w, name, sim.Options{Workers: workers})
				if m.Bad() || m.Landed+m.Rejected != len(w.Changes) {
					t.Errorf("seed %d, %s, %d workers: %+v", seed, name, workers, m)
				}
				if seed < 3 && slices.Contains(inOrder, name) && (m.Harmed > 0 || m.Landed != want.Landed) {
					t.Errorf("seed %d, %s: lands %d and harms %d, arrival order lands %d", seed, name, m.Landed, m.Harmed, want.Landed)
				}
			}
		}
	}
}

func TestSameWorldSameOutcome(t *testing.T) {
	w := mustGenerate(t, func(p *sim.Params) { p.Changes, p.Components, p.Large = 150, 30, 0.02 })
	for _, name := range peers() {
		var last *sim.Outcome
		for range 2 {
			out, err := mustStrategy(t, name).Run(context.Background(), w, sim.Options{Workers: 50})
			if err != nil {
				t.Fatal(err)
			}
			out.CPU, out.Plans = 0, nil
			if d := cmp.Diff(last, out); last != nil && d != "" {
				t.Errorf("%s: the same world, another outcome:\n%s", name, d)
			}
			last = out
		}
	}
}

// TestGolden keeps the figures of each peer on a generated world. Run with
// -update where a change of figures is meant.
func TestGolden(t *testing.T) {
	w := mustGenerate(t, func(p *sim.Params) { p.Changes, p.Components, p.Large = 200, 60, 0.01 })
	var runs []*sim.Metrics
	for _, name := range peers() {
		m := mustMeasure(t, w, name, sim.Options{Workers: 80})
		m.CPU, m.Plan, m.Turnarounds = 0, sim.Plan{}, nil
		m.Against(append(runs, m)[0])
		runs = append(runs, m)
	}
	got, err := json.MarshalIndent(runs, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "golden.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimSpace(string(want)), string(got)); d != "" {
		t.Errorf("figures have changed; if that is meant, run with -update:\n%s", d)
	}
}

// TestExampleOfTheDoc is the example of the package's documentation.
func TestExampleOfTheDoc(t *testing.T) {
	w := &sim.World{OverheadMin: 4, Targets: []sim.Target{{CostMin: 1}}}
	for i := range 2 {
		w.Changes = append(w.Changes, sim.Change{ID: i, ArriveMin: float64(i), DurationMin: 30, Targets: []int{0}, BrokenTarget: -1,
			Predicted: sim.Prediction{Success: 0.95, DurationMin: 30, DurationSDMin: 2}})
	}
	w.Changes[1].Conflicts = []sim.Conflict{{With: 0, Target: 0}}
	for name, at := range map[string][2]float64{"oracle": {30, 31}, "single": {30, 60}, "submitqueue-2019": {30, 31}} {
		out, err := mustStrategy(t, name).Run(context.Background(), w, sim.Options{Workers: 2, Set: map[string]string{"epoch": "0"}})
		if err != nil {
			t.Fatal(err)
		}
		want := []sim.Decision{{Change: 0, At: at[0], Landed: true}, {Change: 1, At: at[1]}}
		if d := cmp.Diff(want, out.Decisions); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	out := &sim.Outcome{Decisions: []sim.Decision{{Change: 0, At: 30, Landed: true}, {Change: 1, At: 31, Landed: true}}, Landings: []int{0, 1}}
	if v := sim.Check(w, out); v.RedCommits != 1 {
		t.Errorf("both landed: %+v", v)
	}
}

func TestUnknownStrategyListsAll(t *testing.T) {
	_, err := sim.Lookup("psychic")
	if !errors.Is(err, sim.ErrUnknownStrategy) {
		t.Fatal(err)
	}
	for _, name := range peers() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for name, key := range map[string]string{"submitqueue-2019": "epoch", "submitqueue-2024": "threshold", "bors": "batch"} {
		o := sim.Options{Workers: 1, Set: map[string]string{key: "lots"}}
		if _, err := mustStrategy(t, name).Run(context.Background(), small(), o); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s with %s=lots: %v", name, key, err)
		}
	}
}

func TestRunsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range peers() {
		if _, err := mustStrategy(t, name).Run(ctx, small(), sim.Options{Workers: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProgressIsTold(t *testing.T) {
	w := mustGenerate(t, func(p *sim.Params) { p.Changes = 100 })
	for _, name := range peers() {
		last := -1
		mustMeasure(t, w, name, sim.Options{Workers: 20, Progress: func(decided, total int) {
			if total != 100 || decided < last {
				t.Errorf("%s: %d of %d after %d", name, decided, total, last)
			}
			last = decided
		}})
		if last < 0 {
			t.Errorf("%s tells nothing", name)
		}
	}
}

func TestMetrics(t *testing.T) {
	w := small()
	out := &sim.Outcome{Builds: 6, Aborted: 3, WorkerMinutes: 90, CPU: time.Second, Landings: []int{0}, Plans: []time.Duration{time.Millisecond, 3 * time.Millisecond},
		Decisions: []sim.Decision{{Change: 0, At: 2, Landed: true}, {Change: 1, At: 11}, {Change: 2, At: 22}}}
	m := sim.MetricsOf(w, "x", sim.Options{Workers: 2}, out)
	m.Against(m)
	nothing := &sim.Metrics{} // decided in time
	if nothing.Against(nothing); nothing.Throughput != 1 || nothing.Ratio.P50 != 1 {
		t.Errorf("nothing against itself: %+v", nothing)
	}
	got, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"strategy":"x","workers":2,"p50_min":10,"p95_min":19,"p99_min":19.8,"ratio":{"p50":1,"p95":1,"p99":1},"throughput_ratio":1,` +
		`"builds_per_change":2,"worker_hours_per_change":0.5,"aborted":0.5,"landed":1,"rejected":2,"harmed":0,"red_commits":0,"decided_twice":0,` +
		`"undecided":0,"cpu_seconds":1,"plan_ms":{"p50":2,"p99":2.98}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	// After so many changes their turnarounds and the builds that began before count no more.
	out.Starts = []float64{0, 1, w.Changes[1].ArriveMin, w.Changes[2].ArriveMin, 50, 60}
	if m := sim.MetricsOf(w, "x", sim.Options{Workers: 2, After: 2}, out); len(m.Turnarounds) != 1 || m.Builds != 3 {
		t.Errorf("after two of three changes: %v, %v builds for each", m.Turnarounds, m.Builds)
	}
}

// BenchmarkStrategies replays 3,000 changes at 500 per hour with 500 workers.
func BenchmarkStrategies(b *testing.B) {
	w := mustGenerate(b, func(p *sim.Params) { p.Changes = 3000 })
	for _, name := range peers() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				mustMeasure(b, w, name, sim.Options{Workers: 500})
			}
		})
	}
}
