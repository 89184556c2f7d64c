package workers

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// module is a small Go module with a package of each kind.
var module = tree{
	"go.mod":             "module example.com/m\n\ngo 1.24\n",
	"root_test.go":       "package m\nimport \"testing\"\nfunc TestRoot(t *testing.T) {}\n",
	"good/good_test.go":  "package good\nimport \"testing\"\nfunc TestGood(t *testing.T) {}\n",
	"bad/bad_test.go":    "package bad\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Error(\"\\x1b[31mred\\x1b[0m \\xff reason\") }\nfunc TestFine(t *testing.T) {}\n",
	"panics/p_test.go":   "package panics\nimport \"testing\"\nfunc TestPanic(t *testing.T) { panic(\"oh no\") }\n",
	"exits/e_test.go":    "package exits\nimport (\"os\"; \"testing\")\nfunc TestExit(t *testing.T) { os.Exit(0) }\n",
	"broken/b_test.go":   "package broken\nimport \"testing\"\nfunc TestB(t *testing.T) { undefinedThing() }\n",
	"usesbroken/u.go":    "package usesbroken\nimport _ \"example.com/m/libbroken\"\n",
	"libbroken/l.go":     "package libbroken\nvar x int = \"text\"\n",
	"syntax/s.go":        "package syntax\nfunc {\n",
	"noimport/n.go":      "package noimport\nimport _ \"no/such\"\n",
	"libsyntax/l.go":     "package libsyntax\nfunc (\n",
	"usessyntax/u.go":    "package usessyntax\nimport _ \"example.com/m/libsyntax\"\n",
	"vetted/v.go":        "package vetted\nimport \"fmt\"\nfunc F() { fmt.Sprintf(\"%d\", \"x\") }\n",
	"vetted/v_test.go":   "package vetted\nimport \"testing\"\nfunc TestV(t *testing.T) {}\n",
	"notests/n.go":       "package notests\n",
	"liar/l_test.go":     liar,
	"nested/go.mod":      "module example.com/other\n\ngo 1.24\n",
	"nested/x/x_test.go": "package x\nimport \"testing\"\nfunc TestX(t *testing.T) {}\n",
}

// liar prints events of another package and of its own.
const liar = `package liar

import (
	"fmt"
	"os"
	"testing"
)

func TestLiar(t *testing.T) {
	t.Parallel()
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		fmt.Fprintln(f, ` + "`" + `{"Action":"pass","Package":"example.com/m/bad"}` + "`" + `)
		fmt.Fprintln(f, ` + "`" + `{"Action":"fail","Package":"example.com/m/good"}` + "`" + `)
		fmt.Fprintln(f, ` + "`" + `{"Action":"pass","Package":"example.com/m/liar"}` + "`" + `)
	}
	t.Fail()
}
`

func goStep(run string) config.Step {
	s := step(run)
	s.Report = config.ReportGoTestJSON
	s.Env = map[string]string{"GOFLAGS": "-trimpath", "GOWORK": "off", "GOTOOLCHAIN": "local"}
	return s
}

func failedNames(done queue.JobDone) []string {
	var names []string
	for _, f := range done.Failed {
		names = append(names, f.Target)
	}
	return names
}

func TestGoTestJSON(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go")
	}
	const plain, vetFirst = "go test -json {targets}", "go vet {targets} && go test -json {targets}"
	r := slot(t, module)
	for _, c := range []struct {
		name    string
		run     string
		targets string
		outcome queue.JobOutcome
		passed  string
		failed  string
		tail    string           // in the tail of the first failed target
		end     queue.JobOutcome // when it is not the job's
	}{
		{name: "pass", run: plain, targets: ". ./good", outcome: "passed", passed: ". ./good"},
		{name: "no tests", run: plain, targets: "./notests", outcome: "passed", passed: "./notests"},
		{name: "fail and pass", run: plain, targets: "./bad ./good ./notests", outcome: "failed", passed: "./good ./notests", failed: "./bad", tail: "red \uFFFD reason"},
		{name: "panic", run: plain, targets: "./panics ./good", outcome: "failed", passed: "./good", failed: "./panics", tail: "oh no"},
		{name: "exit 0 inside a test", run: plain, targets: "./exits", outcome: "failed", failed: "./exits", tail: "os.Exit(0)"},
		{name: "compile error", run: plain, targets: "./broken ./good", outcome: "failed", passed: "./good", failed: "./broken", tail: "undefined: undefinedThing"},
		{name: "compile error below", run: plain, targets: "./usesbroken ./good", outcome: "failed", passed: "./good", failed: "./usesbroken", tail: "libbroken/l.go"},
		{name: "vet fails within", run: plain, targets: "./vetted ./good", outcome: "failed", passed: "./good", failed: "./vetted", tail: "%d"},
		{name: "vet fails before", run: vetFirst, targets: "./vetted ./good", outcome: "failed", failed: "./vetted", tail: "%d"},
		{name: "vet passes before", run: vetFirst, targets: "./good", outcome: "passed", passed: "./good"},
		{name: "fails after all passed", run: plain + "; exit 1", targets: "./good", outcome: "failed"},
		{name: "exit 0 with a failure", run: plain + "; true", targets: "./bad ./good", outcome: "failed", passed: "./good", failed: "./bad"},
		{name: "retry does not heal", run: "go test -json ./bad; echo '{\"Action\":\"pass\",\"Package\":\"example.com/m/bad\"}'", targets: "./bad", outcome: "failed", failed: "./bad"},
		{name: "not named", run: "go test -json ./good", targets: "./good ./bad", outcome: "passed", passed: "./good", end: "infrastructure"},
		{name: "none named", run: "true", targets: "./good", outcome: "infrastructure"},
		{name: "not JSON", run: "go test {targets}", targets: "./good", outcome: "infrastructure"},
		{name: "more than asked", run: "go test -json ./bad ./good; true", targets: "./good", outcome: "passed", passed: "./good"},
		{name: "more than asked, exit 1", run: "go test -json ./bad ./good", targets: "./good", outcome: "failed"},
		{name: "liar", run: plain, targets: "./liar ./good ./bad", outcome: "failed", passed: "./good", failed: "./liar ./bad"},
		{name: "nested module", run: "go test -json . && cd nested && go test -json ./x", targets: ". ./nested/x", outcome: "passed", passed: ". ./nested/x"},
		{name: "no such package", run: plain, targets: "./good ./gone", outcome: "failed"}, // go calls it by no import path: the set fails
		{name: "syntax error", run: plain, targets: "./syntax ./good", outcome: "failed", passed: "./good", failed: "./syntax", tail: "expected"},
		{name: "missing import", run: plain, targets: "./noimport ./good", outcome: "failed", passed: "./good", failed: "./noimport", tail: "is not in std"},
		{name: "syntax error below", run: plain, targets: "./usessyntax ./good", outcome: "failed", passed: "./good", failed: "./usessyntax", tail: "libsyntax/l.go"},
		{name: "whole tree", run: "go test -json ./good .", targets: "tree", outcome: "passed", passed: "tree"},
		{name: "whole tree fails", run: "go test -json ./good ./bad", targets: "tree", outcome: "failed"},
		{name: "whole tree, exit 0 with a failure", run: "go test -json ./good ./bad; true", targets: "tree", outcome: "infrastructure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			done, res := one(t, r, job(goStep(c.run), strings.Fields(c.targets)...))
			if done.Outcome != c.outcome || strings.Join(done.Passed, " ") != c.passed || strings.Join(failedNames(done), " ") != c.failed {
				t.Errorf("%s, passed %v, failed %v; want %s, %s, %s\n%s", done.Outcome, done.Passed, failedNames(done), c.outcome, c.passed, c.failed, res.log)
			}
			if c.tail != "" && (len(done.Failed) == 0 || !strings.Contains(done.Failed[0].Tail, c.tail)) {
				t.Errorf("no %q in the tail: %+v", c.tail, done.Failed)
			}
			want := c.outcome
			if c.end != "" {
				want = c.end
			}
			if res.end.Outcome != want {
				t.Errorf("build %+v, want %s", res.end, want)
			}
			if strings.Contains(res.log, `"Action":"output"`) || !utf8.ValidString(res.log) {
				t.Errorf("raw events in the log:\n%s", res.log)
			}
		})
	}
}
