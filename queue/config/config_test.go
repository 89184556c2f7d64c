package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/config"
)

var updateConfig = flag.Bool("update-config", false, "write the golden files of the configuration's tests")

// TestConfigErrors compares the whole message of each bad file with the .err
// file beside it: the texts are what people work with.
func TestConfigErrors(t *testing.T) {
	for _, file := range mustGlob(t, "testdata/bad/*.yml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := mustRead(t, file)
			_, err := config.Parse(config.Path, data)
			if err == nil {
				t.Fatal("the file was accepted")
			}
			var all config.Errors
			var one *config.Error
			if !errors.As(err, &all) || !errors.As(err, &one) || one != all[0] {
				t.Fatalf("the error is a %T", err)
			}
			var got strings.Builder
			for _, e := range all {
				got.WriteString(e.Error() + "\n" + e.Snippet + "\n\n")
			}
			golden(t, strings.TrimSuffix(file, ".yml")+".err", []byte(got.String()))
		})
	}
}

// TestConfigSamples compares each good file, with its defaults, with the .json
// file beside it.
func TestConfigSamples(t *testing.T) {
	for _, file := range mustGlob(t, "testdata/good/*.yml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := mustParse(t, mustRead(t, file))
			got, err := json.MarshalIndent(c, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".yml")+".json", append(got, '\n'))
			var back config.Config
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(*c, back); d != "" {
				t.Errorf("JSON loses something (-before +after):\n%s", d)
			}
		})
	}
}

func TestConfigSize(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"size":   {strings.Repeat("#", 256<<10+1), ".submitqueue.yml:1:1: the file has 262145 bytes; a configuration may have at most 262144: make it smaller"},
		"keys":   {strings.Repeat("a: b\n", 50000), ".submitqueue.yml:5001:2: the file has more than 5000 keys: make it smaller"},
		"nested": {"\n" + strings.Repeat("[", 250000), ".submitqueue.yml:2:1: 201 brackets are open here: a configuration needs a few"},
		"list":   {"version: 1\nsteps:\n" + strings.Repeat("- a\n", 5000), ".submitqueue.yml:3:1: steps has 5000 entries, and at most 100 are allowed"},
		"nul":    {"version: 1\na: \x00\n", ".submitqueue.yml:2:1: the file holds a NUL byte: is it a text file?"},
	} {
		start := time.Now()
		_, err := config.Parse(config.Path, []byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if took := time.Since(start); took > time.Minute { // milliseconds; what grows with the square takes hours
			t.Errorf("%s took %v", name, took)
		}
	}
}

// TestConfigManyErrors shows that the text of the errors is bounded and the
// list is not.
func TestConfigManyErrors(t *testing.T) {
	text := "version: 1\nsteps: [{name: a, run: b}]\nqueue:\n"
	for i := range 4900 {
		text += fmt.Sprintf("  wrong%d: 1\n", i)
	}
	_, err := config.Parse("f", []byte(text))
	var all config.Errors
	if !errors.As(err, &all) || len(all) != 4900 || !strings.HasSuffix(err.Error(), "\nand 4880 more") {
		t.Errorf("got %d errors: %v", len(all), err)
	}
}

// TestConfigRoundTrip writes configurations and reads them back.
func TestConfigRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawConfig(t)
		text, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.Parse(config.Path, text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		want.Defaults()
		if want.Queue.Retries == 0 { // and so not written
			want.Queue.Retries = config.DefaultRetries
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-want +got):\n%s in\n%s", d, text)
		}
		again := *got
		again.Defaults()
		if d := cmp.Diff(got, &again); d != "" {
			t.Fatalf("Defaults twice (-once +twice):\n%s", d)
		}
	})
}

func drawConfig(t *rapid.T) *config.Config {
	word := rapid.StringMatching(`[a-z][a-z0-9._-]{0,8}`)
	glob := rapid.SampledFrom([]string{"**", "a/**", "*.go", "{a,b}/[ab]*", "doc?", "x y/*", "#a", "- b", "é/**"})
	line := rapid.SampledFrom([]string{"make", "make all # not a comment", "true: false", "a\nb\n", "a\n\n  b", "'", `"`, "é", "- x", "0x10", "~", "{}", "[", "|", "a: b", "echo \"$X\" \\\n  && true\n"})
	seconds := func(low, high int, label string) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Second
	}
	analyzer := rapid.SampledFrom([]string{"", "none", "paths", "go", "cargo", "node", "gn", "bazel", "command", "several"}).Draw(t, "analyzer")
	var parts []string // of several
	if analyzer == "several" {
		parts = rapid.SliceOfNDistinct(word, 1, 3, func(w string) string { return w }).Draw(t, "parts")
	}
	c := &config.Config{Version: 1}
	for i, name := range rapid.SliceOfNDistinct(word, 1, 4, rapid.ID).Draw(t, "steps") {
		s := config.Step{Name: name, Run: line.Draw(t, "run"),
			Scope: rapid.SampledFrom([]config.Scope{"", config.ScopeTargets, config.ScopeRepository}).Draw(t, "scope"),
			Image: rapid.SampledFrom([]string{"", "golang:1.26", "x/y@sha256:00"}).Draw(t, "image"),
			OS:    rapid.SampledFrom([]string{"", "linux"}).Draw(t, "os"),
			Arch:  rapid.SampledFrom([]string{"", "arm64"}).Draw(t, "arch"),
			Tags:  rapid.SliceOfN(word, 0, 2).Draw(t, "tags")}
		if i > 0 {
			s.Timeout = seconds(1, 86400, "timeout")
			s.Env = map[string]string{"A": line.Draw(t, "env"), "B_1": "", "C": "1", "D": "yes", "E": "null"}
		}
		if analyzer != "" && analyzer != "none" && s.Scope != config.ScopeRepository {
			s.Run += " {targets}"
		}
		if len(parts) > 0 && s.Scope != config.ScopeRepository {
			s.Analyzer = "x-" + rapid.SampledFrom(parts).Draw(t, "of")
		}
		if rapid.Bool().Draw(t, "dir?") && analyzer != "go" {
			s.Dir = rapid.SampledFrom([]string{".", "a", "a b/c", "é", "'"}).Draw(t, "dir")
		}
		if analyzer == "go" && s.Scope != config.ScopeRepository {
			s.Report = config.ReportGoTestJSON
		}
		if len(s.Tags) == 0 {
			s.Tags = nil
		}
		c.Steps = append(c.Steps, s)
	}
	globs := func(label string) []string {
		if g := rapid.SliceOfN(glob, 0, 3).Draw(t, label); len(g) > 0 {
			return g
		}
		return nil
	}
	c.Analysis = config.Analysis{Analyzer: analyzer, Ignore: globs("ignore"), Barrier: globs("barrier"),
		Unowned: rapid.SampledFrom([]config.Unowned{"", config.UnownedAll, config.UnownedTarget}).Draw(t, "unowned")}
	inputs := func(label string) (list []config.Inputs) {
		for range rapid.IntRange(0, 2).Draw(t, label) {
			list = append(list, config.Inputs{Targets: []string{glob.Draw(t, "of")}, Files: []string{glob.Draw(t, "reads")}})
		}
		return list
	}
	if analyzer != "" && analyzer != "none" {
		c.Analysis.Inputs = inputs("inputs")
	}
	if len(parts) > 0 {
		c.Analysis.Analyzer = ""
		for i, name := range parts {
			p := config.SubAnalysis{Analyzer: rapid.SampledFrom([]string{"go", "cargo", "node"}).Draw(t, "kind"), Name: "x-" + name,
				Under: rapid.SampledFrom([]string{"", "a", "a b/c", "é"}).Draw(t, "under"), Barrier: globs("part barrier"), Inputs: inputs("part inputs")}
			if i > 0 && rapid.Bool().Draw(t, "part needs?") {
				p.Needs = []string{"x-" + parts[i-1]}
			}
			c.Analysis.Analyzers = append(c.Analysis.Analyzers, p)
		}
		c.Steps = append(c.Steps, config.Step{Name: "Whole", Run: "make", Scope: config.ScopeRepository})
	}
	if len(c.Analysis.Ignore) > 0 && rapid.Bool().Draw(t, "ignore the rest?") {
		c.Analysis.Unowned = config.UnownedIgnore
	}
	if analyzer == "command" {
		c.Analysis.Command, c.Analysis.Program, c.Analysis.Definitions = line.Draw(t, "command"), globs("program"), globs("definitions")
		c.Analysis.Timeout = seconds(1, 600, "limit")
	}
	if analyzer == "paths" {
		var before []string
		for _, name := range rapid.SliceOfNDistinct(word, 1, 4, rapid.ID).Draw(t, "areas") {
			a := config.Area{Name: "area/" + name, Files: []string{glob.Draw(t, "files")}}
			if len(before) > 0 && rapid.Bool().Draw(t, "needs?") {
				a.Needs = []string{rapid.SampledFrom(before).Draw(t, "needs")}
			}
			before = append(before, a.Name)
			c.Analysis.Areas = append(c.Analysis.Areas, a)
		}
	}
	if rapid.Bool().Draw(t, "rules?") {
		c.Queue = config.Rules{Label: word.Draw(t, "label"), Order: config.OrderArrival, Landing: config.Landing{Method: "merge"},
			External: rapid.SampledFrom([]config.External{"", config.ExternalHold, config.ExternalTrust}).Draw(t, "external"),
			Retries:  rapid.IntRange(0, 5).Draw(t, "retries"), InfraRetries: rapid.IntRange(1, 20).Draw(t, "infra"),
			BuildsPerChange: rapid.IntRange(1, 1000).Draw(t, "change"), BuildsPerHour: rapid.IntRange(0, 1000000).Draw(t, "hour"),
			MaxOvertake: seconds(60, 168*3600, "overtake"),
			VerifyMain:  rapid.SampledFrom([]string{"", "10m", "24h", config.VerifyOff}).Draw(t, "verify"),
			RedMain:     config.RedMain{Revert: rapid.SampledFrom([]config.RevertPolicy{"", config.RevertOff, config.RevertLand}).Draw(t, "revert")},
			Threshold:   rapid.Float64Range(0.01, 1).Draw(t, "threshold"),
			Admission:   config.Admission{ParkedLimit: seconds(60, 8760*3600, "parked"), RequireChecks: config.ChecksEnter, RequireResolved: config.ResolveAlways, BlockingLabels: []string{"do not merge"}}}
		drawLanes(t, c)
		c.Permissions = config.Permissions{Land: "admin", Cancel: "write @acme/x", Queue: "write", Bots: []string{"renovate[bot]"}, Protected: globs("protected")}
	}
	return c
}

// drawLanes draws lanes, projects and quotas.
func drawLanes(t *rapid.T, c *config.Config) {
	name := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,8}`)
	q := &c.Queue
	q.LaneMaxWait = time.Duration(rapid.IntRange(60, 168*3600).Draw(t, "lane wait")) * time.Second
	for _, n := range rapid.SliceOfNDistinct(name, 0, 4, rapid.ID).Draw(t, "lanes") {
		q.Lanes = append(q.Lanes, config.Lane{Name: n, Benefit: rapid.SampledFrom([]float64{0, 0.1, 1, 10}).Draw(t, "benefit"),
			MaxWait: time.Duration(rapid.SampledFrom([]int{0, 60, 3600}).Draw(t, "wait")) * time.Second,
			Least:   rapid.SampledFrom([]config.Who{"", "write", "admin"}).Draw(t, "least")})
	}
	if len(q.Lanes) > 0 && rapid.Bool().Draw(t, "default lane?") {
		q.DefaultLane = rapid.SampledFrom(q.LaneNames()).Draw(t, "default lane")
	}
	if c.Analysis.Analyzer == "go" {
		for _, n := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, "projects") {
			q.Projects = append(q.Projects, config.Project{Name: n, Targets: []string{"a/**", "./b"}, Benefit: rapid.SampledFrom([]float64{0, 2}).Draw(t, "worth")})
		}
	}
	for _, n := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, "quotas") {
		x := config.Quota{Name: n, Builds: rapid.IntRange(1, 9).Draw(t, "builds"), Share: rapid.SampledFrom([]float64{0, 0.01, 1}).Draw(t, "share"),
			When: rapid.SampledFrom([]config.When{"", config.WhenContended, config.WhenAlways}).Draw(t, "when"),
			Per:  rapid.SampledFrom([]config.Per{"", config.PerAll, config.PerAuthor}).Draw(t, "per")}
		if x.Per != config.PerAuthor {
			x.Authors = []string{"ann", "bot*"}
		}
		if len(q.Projects) > 0 && rapid.Bool().Draw(t, "of a project") {
			x.Project = q.Projects[0].Name
		}
		q.Quotas = append(q.Quotas, x)
	}
}

// FuzzParseConfig holds that no file makes the parser panic or hang, and that
// every error has a place.
func FuzzParseConfig(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yml", "testdata/bad/*.yml"} {
		for _, file := range mustGlob(f, pattern) {
			f.Add(mustRead(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		hangs := time.AfterFunc(10*time.Second, func() { panic("the parser hangs") })
		c, err := config.Parse("f", data)
		hangs.Stop()
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err == nil {
			return
		}
		var all config.Errors
		if !errors.As(err, &all) || len(all) == 0 {
			t.Fatalf("the error is a %T", err)
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, e := range all {
			if e.Line < 1 || e.Line > lines || e.Column < 1 || e.Message == "" {
				t.Fatalf("%+v in a file of %d lines", e, lines)
			}
		}
	})
}

func mustParse(t testing.TB, data []byte) *config.Config {
	t.Helper()
	c, err := config.Parse(config.Path, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustGlob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

func mustRead(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// golden compares got with a file; the flag writes the file instead.
func golden(t testing.TB, file string, got []byte) {
	t.Helper()
	if *updateConfig {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(mustRead(t, file)), string(got)); d != "" {
		t.Errorf("%s (-want +got; -update-config writes it):\n%s", file, d)
	}
}
