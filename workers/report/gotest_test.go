package report

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var goStep = config.Step{Name: "unit", Run: "go test -json {targets}", Scope: config.ScopeTargets, Report: config.ReportGoTestJSON}

// tidy makes a line fit for people, as the caller of a report does.
func tidy(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
}

func TestJudgeReadsDurations(t *testing.T) {
	g := of(newGoTest(map[string]string{"m/a": "./a", "m/b": "./b"}), goStep, NewMark())
	for _, line := range []string{
		`{"Action":"pass","Package":"m/a","Test":"TestX","Elapsed":9}`,
		`{"Action":"pass","Package":"m/a","Elapsed":1.5}`,
		`{"Action":"fail","Package":"m/b","Elapsed":1e300}`,
		"FAIL\tm/b [build failed]",
	} {
		g.Line(line, tidy)
	}
	v := g.Judge(1, []string{"./a", "./b"})
	if len(v.PerTarget) != 1 || v.PerTarget["./a"].Seconds() != 1.5 {
		t.Errorf("durations %v", v.PerTarget)
	}
	if !reflect.DeepEqual(v.Failed, []queue.TargetFailure{{Target: "./b", Tail: "FAIL\tm/b [build failed]"}}) {
		t.Errorf("failed %+v", v.Failed)
	}
}

func TestTailsShareABudget(t *testing.T) {
	packages := map[string]string{}
	var asked []string
	for i := range 100 {
		dir := "./p" + strings.Repeat("x", i)
		packages["m/"+dir] = dir
		asked = append(asked, dir)
	}
	g := of(newGoTest(packages), goStep, NewMark())
	for p := range packages {
		for range 100 {
			text, err := json.Marshal(goEvent{Action: "output", Package: p, Output: strings.Repeat("é", 300) + "\n"})
			if err != nil {
				t.Fatal(err)
			}
			g.Line(string(text), tidy)
		}
		g.Line(`{"Action":"fail","Package":"`+p+`"}`, tidy)
	}
	total := 0
	for _, f := range g.Judge(1, asked).Failed {
		total += len(f.Tail)
		if !utf8.ValidString(f.Tail) || f.Tail == "" {
			t.Fatalf("tail %q", f.Tail)
		}
	}
	if total > tailsBytes {
		t.Errorf("tails of %d bytes", total)
	}
}

// What go vet says before go test fails the packages of the files that it names, not all
// that it was run for: an author sees whose line it is, and the change that broke it is the
// one to be rejected. (Words of go 1.26.)
func TestVetFailsThePackageOfItsLine(t *testing.T) {
	vet := []string{"a/a.go:3:24: fmt.Printf format %d has arg \"x\" of wrong type string", "# m/sub/b", "# [m/sub/b]", "vet: sub/b/b_test.go:3:19: undefined: x", "\thave (int)"}
	asked := []string{"./a", "./sub/b", "./c", "."}
	event := `{"Action":"start","Package":"m/c"}`
	for name, test := range map[string]struct {
		lines []string
		code  int
		want  []string
	}{
		"vet ends the step":            {vet, 1, []string{"./a " + vet[0], "./sub/b " + vet[3] + "\n" + vet[4]}},
		"a file of the root":           {[]string{"./main.go:1:1: x", "main.go:2:1: y"}, 1, []string{". ./main.go:1:1: x\nmain.go:2:1: y"}},
		"go test has begun since":      {append(vet[:3:3], event), 1, nil},
		"vet comes last":               {append([]string{event}, vet[:1]...), 1, []string{"./a " + vet[0]}},
		"a test fails":                 {append(vet[:1:1], event, `{"Action":"fail","Package":"m/c"}`, "a/a.go:1:1: x"), 1, []string{"./c "}},
		"all is well":                  {vet, 0, nil},
		"a package that is not of it":  {[]string{"other/o.go:1:1: x", "../a/a.go:1:1: x", "/d/d.go:1:1: x", "a/a.c:1:1: x", "a/a.go: x", "a/b/a.go:1:1: x"}, 1, nil},
		"the whole path":               {[]string{"/work/x/a/a.go:1:1: x", "/work/x/main.go:1:1: x", "/work/xa/a.go:1:1: x", "/work/y/main.go:1:1: x"}, 1, []string{"./a /work/x/a/a.go:1:1: x", ". /work/x/main.go:1:1: x"}},
		"a path in another checkout":   {[]string{"/other/y/sub/b/b.go:1:1: x", "/other/sub/c/c.go:1:1: x"}, 1, []string{"./sub/b /other/y/sub/b/b.go:1:1: x", "./c /other/sub/c/c.go:1:1: x"}},
		"lines that belong to nothing": {[]string{vet[0], "x", "\ty"}, 1, []string{"./a " + vet[0]}},
	} {
		g := newGoTest(map[string]string{"m": ".", "m/a": "./a", "m/sub/b": "./sub/b", "m/c": "./c"})
		g.step = goStep
		g.place()
		g.Root("/work/x/")
		r := of(g, goStep, NewMark())
		for _, line := range test.lines {
			r.Line(line, tidy)
		}
		v := r.Judge(test.code, asked)
		var got []string
		for _, f := range v.Failed {
			got = append(got, f.Target+" "+f.Tail)
		}
		slices.Sort(got)
		if slices.Sort(test.want); !slices.Equal(got, test.want) {
			t.Errorf("%s: failed %q, not %q", name, got, test.want)
		}
		if test.code != 0 && (v.Outcome != queue.JobFailed || len(v.Passed) > 0) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// FuzzGoTest holds what must be true of any output: only asked targets are
// named, each once, failures are never passes, and an exit status other than 0
// never passes the set.
func FuzzGoTest(f *testing.F) {
	f.Add(0, `{"Action":"pass","Package":"m/a"}`+"\n"+`{"Action":"fail","Package":"m/b","FailedBuild":"m/b"}`)
	f.Add(1, `{"Action":"build-output","ImportPath":"m/b","Output":"x\n"}`+"\nFAIL\tm/a [build failed]\nplain")
	f.Add(2, `{"Action":"skip","Package":"m/a","Output":"\u001b[31m"}`+"\n{\"Action\":\"output\",\"Package\":\"m/a\",\"Output\":\"\xff\"}")
	asked := []string{"./a", "./b", "tree"}
	f.Fuzz(func(t *testing.T, code int, output string) {
		g := of(newGoTest(map[string]string{"m/a": "./a", "m/b": "./b"}), goStep, NewMark())
		for line := range strings.Lines(output) {
			for _, said := range g.Line(strings.TrimSuffix(line, "\n"), tidy) {
				if !utf8.ValidString(said) || strings.ContainsAny(said, "\x1b\x00\r\n") {
					t.Errorf("said %q", said)
				}
			}
		}
		v := g.Judge(code, asked)
		seen := map[string]bool{"./a": true, "./b": true, "tree": true}
		for _, name := range v.Passed {
			if !seen[name] {
				t.Errorf("passed %q twice or not asked", name)
			}
			seen[name] = false
		}
		for _, fail := range v.Failed {
			if !seen[fail.Target] || len(fail.Tail) > TailBytes {
				t.Errorf("failed %q: tail of %d bytes", fail.Target, len(fail.Tail))
			}
			seen[fail.Target] = false
		}
		switch {
		case code != 0 && v.Outcome != queue.JobFailed:
			t.Errorf("exit status %d: %s", code, v.Outcome)
		case v.Outcome == queue.JobPassed && (len(v.Passed) == 0 || len(v.Failed) > 0):
			t.Errorf("passed with %v and %v", v.Passed, v.Failed)
		case v.Outcome == queue.JobFailed && code == 0 && len(v.Failed) == 0:
			t.Error("failed for no reason")
		}
	})
}
