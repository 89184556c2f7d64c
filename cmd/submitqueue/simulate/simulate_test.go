package simulate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/speculation/sim"
)

const givenWorld = "../../../speculation/sim/testdata/e-100.jsonl.gz"

// simulate parses arguments as the command line does.
func simulate(t *testing.T, args ...string) *Command {
	t.Helper()
	var c Command
	parser, err := kong.New(&c, kong.Vars(Vars()), kong.Vars{"data": "nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestSimulateWritesFiguresPictureAndWorld(t *testing.T) {
	dir := t.TempDir()
	figures, picture, saved := filepath.Join(dir, "f.json"), filepath.Join(dir, "p.svg"), filepath.Join(dir, "w.jsonl.gz")
	args := []string{"--world", givenWorld, "--strategy", "oracle,single", "--workers", "100,50",
		"--json", figures, "--svg", picture, "--save", saved}
	if err := simulate(t, args...).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		World map[string]any   `json:"world"`
		Runs  []map[string]any `json:"runs"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Runs) != 4 || f.World["changes"] != 600.0 {
		t.Fatalf("%d runs of %v changes", len(f.Runs), f.World["changes"])
	}
	var names []string
	for name := range f.Runs[0] {
		names = append(names, name)
	}
	slices.Sort(names)
	want := strings.Fields(`aborted builds_per_change cpu_seconds decided_twice harmed landed p50_min p95_min p99_min
		plan_ms ratio red_commits rejected strategy throughput_ratio undecided worker_hours_per_change workers`)
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("the figures have other names:\n%s", d)
	}
	for i, want := range []struct {
		strategy string
		workers  float64
	}{{"oracle", 100}, {"single", 100}, {"oracle", 50}, {"single", 50}} {
		m := f.Runs[i]
		ratio := m["ratio"].(map[string]any)["p50"].(float64)
		if m["strategy"] != want.strategy || m["workers"] != want.workers || (want.strategy == "oracle") != (ratio == 1) {
			t.Errorf("run %d: %v", i, m)
		}
	}
	if svg, err := os.ReadFile(picture); err != nil || strings.Count(string(svg), "<polyline") != 4 {
		t.Errorf("the picture has %d curves, %v", strings.Count(string(svg), "<polyline"), err)
	}
	again := simulate(t, "--world", saved)
	if w, err := again.world(t.Context()); err != nil || len(w.Changes) != 600 {
		t.Errorf("the saved world cannot be replayed: %v", err)
	}
}

// Red mains are injected, and where one is wrong too often the command fails.
func TestSimulateRedMains(t *testing.T) {
	figures := filepath.Join(t.TempDir(), "f.json")
	if err := simulate(t, "--red", "10", "--json", figures).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(figures)
	var f struct{ Injected, Right int }
	if err != nil || json.Unmarshal(raw, &f) != nil || f.Injected != 10 || f.Right != 10 {
		t.Errorf("%s, %v", raw, err)
	}
}

// The history that a simulation of ours writes can be replayed, and gives the
// same changes.
func TestSimulateReplaysAHistory(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "h.jsonl")
	if err := simulate(t, "--changes", "60", "--strategy", "ours", "--workers", "100", "--save-history", kept).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := simulate(t, "--history", kept).world(t.Context())
	if err != nil || len(w.Changes) != 60 || w.Changes[0].Features == nil {
		t.Fatalf("%v, %v", w, err)
	}
	if w, err = simulate(t, "--history", kept, "--changes", "10").world(t.Context()); err != nil || len(w.Changes) != 10 {
		t.Errorf("the last ten: %v, %v", w, err)
	}
	if err := simulate(t, "--history", kept, "--strategy", "oracle,ours", "--workers", "100").Run(t.Context()); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--history", givenWorld}, "e-100.jsonl.gz: line 1: this is no history"},
		{[]string{"--history", t.TempDir()}, "there is no history in it"},
		{[]string{"--queue", "q", "--data", t.TempDir()}, "no server has its data in"},
	} {
		if _, err := simulate(t, c.args...).world(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q", c.args, err, c.want)
		}
	}
	for _, args := range [][]string{{"--strategy", "oracle"}, {"--workers", "1,2"}, {"--ablate"}} {
		c := simulate(t, append(args, "--changes", "10", "--save-history", kept)...)
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--save-history writes what one run of strategy ours does") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestSimulateRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--strategy", "psychic"}, `unknown strategy "psychic"; there are: oracle, `},
		{[]string{"--workers", "0"}, "--workers 0: at least one is needed"},
		{[]string{"--workers", "100,99999999999"}, "--workers 99999999999: at most 1000000"},
		{[]string{"--workers", ""}, "one number of --workers"},
		{[]string{"--ablate", "--strategy", "oracle"}, "--ablate takes ingredients out of strategy ours"},
	} {
		if _, err := simulate(t, c.args...).strategies(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q", c.args, err, c.want)
		}
	}
	if _, err := simulate(t, "--rate", "0").world(t.Context()); err == nil || !strings.Contains(err.Error(), "rate is 0") {
		t.Errorf("nothing arriving: %v", err)
	}
	if _, err := simulate(t, "--trace", givenWorld).world(t.Context()); err == nil || !strings.Contains(err.Error(), "line 1: it has neither landed nor time") {
		t.Errorf("a world as a trace: %v", err)
	}
}

// Arguments that cannot end well are refused before anything has run.
func TestSimulateChecksFirst(t *testing.T) {
	same := filepath.Join(t.TempDir(), "same")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--set", "nonsense=1"}, `unknown key "nonsense"; there are: `},
		{[]string{"--set", "nonsense=1", "--strategy", "bors"}, `unknown key "nonsense"; there are: batch`},
		{[]string{"--set", "=1", "--strategy", "oracle"}, `unknown key "": no strategy that is to run has settings; others have: assignment, auto, batch, `},
		{[]string{"--set", "epoch=1", "--strategy", "oracle,ours"}, `unknown key "epoch": it is a setting of speculate-all, submitqueue-2019, submitqueue-2024, and`},
		{[]string{"--set", "retries=1", "--strategy", "single"}, `unknown key "retries": it is a setting of ours, ours-informed, and`},
		{[]string{"--set", "batch=x", "--strategy", "oracle,bors"}, "bors: setting batch"},
		{[]string{"--set", "retries=99", "--set", "spare=x"}, "queue.retries must be"},
		{[]string{"--set", "off=["}, "not valid YAML"},
		{[]string{"--set", "retries=0\n  spare: never"}, "more than one line"},
		{[]string{"--set", "batch=8", "--strategy", "bors,ours"}, "queue.batch must be"},
		{[]string{"--json", t.TempDir()}, "--json cannot be written"},
		{[]string{"--svg", filepath.Join(t.TempDir(), "none", "x.svg")}, "--svg cannot be written"},
		{[]string{"--save", filepath.Join(t.TempDir(), "none", "w")}, "--save cannot be written"},
		{[]string{"--json", same, "--svg", same}, "--json and --svg name the same file"},
		{[]string{"--world", givenWorld, "--json", givenWorld}, "--world and --json name the same file"},
	} {
		s := simulate(t, c.args...)
		strategies, err := s.strategies()
		if err != nil {
			t.Fatal(err)
		}
		err = s.check(strategies)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v; want %q on one line", c.args, err, c.want)
		}
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := writable(file); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file is left behind")
	}
	if err := os.WriteFile(file, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writable(file); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(file); string(b) != "kept" {
		t.Errorf("the file holds %q", b)
	}
}

// Each strategy is given the settings that it has, so that those of several can
// be set at once.
func TestSimulateGivesEachStrategyItsSettings(t *testing.T) {
	s := simulate(t, "--set", "epoch=1", "--set", "threshold=0.5", "--set", "retries=1", "--ablate", "--workers", "7",
		"--strategy", "oracle,submitqueue-2019,ours")
	strategies, err := s.strategies()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.check(strategies); err != nil {
		t.Fatal(err)
	}
	var got []map[string]string
	for _, r := range s.runs(strategies)[:4] {
		got = append(got, r.set)
	}
	want := []map[string]string{nil, {"epoch": "1", "threshold": "0.5"}, {"threshold": "0.5", "retries": "1"},
		{"threshold": "0.5", "retries": "1", "order": "arrival"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSimulateSettings(t *testing.T) {
	s := simulate(t, "--set", "a=1", "--set", "b=x=y", "--set", "c=1,2;3", "--strategy", "oracle, bors")
	if d := cmp.Diff(map[string]string{"a": "1", "b": "x=y", "c": "1,2;3"}, s.Set); d != "" {
		t.Error(d)
	}
	all, err := s.strategies()
	if err != nil || len(all) != 2 || all[1].Name() != "bors" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestSimulateEndsWithFailureWhereARunIsWrong(t *testing.T) {
	good := &sim.Metrics{Strategy: "good"}
	if err := verdictOf([]*sim.Metrics{good}); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
	for _, bad := range []*sim.Metrics{{Red: 1}, {Twice: 1}, {Undecided: 1}} {
		var code print.ExitCode
		if err := verdictOf([]*sim.Metrics{good, bad}); !errors.As(err, &code) || code == 0 {
			t.Errorf("%+v: %v", bad, err)
		}
		if wrong(bad) == "" || wrong(good) != "" {
			t.Errorf("the row does not say what is wrong with %+v", bad)
		}
	}
}
