package report

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// goTest reads the output of `go test -json` as it comes, mixed with other
// lines. The output is hostile: it counts only for the packages it is made for.
type goTest struct {
	noFiles
	step     config.Step
	packages map[string]*goPackage // by import path: those that were asked for
	targets  map[string]*goPackage // the same, by target
	builds   map[string]*Tail      // output of the compiler, by the import path of the build
	dirs     map[string]*goPackage // those that were asked for, by directory from the folder that the step runs in
	blamed   map[*goPackage]*Tail  // plain lines about their files since the last event
	root     string                // the folder that the step runs in, where it runs; "": not told
	last     *goPackage            // the package of the plain line before this one
	stray    bool                  // a package that was not asked for has failed
}

// goPackage has the results of one asked package so far.
type goPackage struct {
	passed  bool
	late    bool // passed in the part that reports
	failed  bool // stays: a later pass does not take it back
	elapsed time.Duration
	output  Tail
	broken  string // the build that failed, if one did
}

// goEvent is a line of `go test -json` (go doc test2json, go help buildjson).
type goEvent struct {
	Action      string
	Package     string
	ImportPath  string // of build events
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

// maxBuilds bounds how many builds' output is kept.
const maxBuilds = 256

// goTestOf returns a reader for a step on targets.
func goTestOf(files fs.FS, step config.Step, targets []string) (Reader, error) {
	packages, err := packagesOf(files, step, targets)
	if err != nil {
		return nil, err
	}
	g := newGoTest(packages)
	g.step = step
	g.place()
	return g, nil
}

// newGoTest returns a reader for the packages, import path to target.
func newGoTest(packages map[string]string) *goTest {
	g := &goTest{packages: map[string]*goPackage{}, targets: map[string]*goPackage{}, builds: map[string]*Tail{}, blamed: map[*goPackage]*Tail{}}
	for importPath, target := range packages {
		g.packages[importPath] = &goPackage{}
		g.targets[target] = g.packages[importPath]
	}
	return g
}

// place finds the directories of the targets, as the step's command sees them.
func (g *goTest) place() {
	g.dirs = map[string]*goPackage{}
	for target, p := range g.targets {
		if dir, ok := packageDir(g.step.ToolName(target)); ok {
			g.dirs[dir] = p
		}
	}
}

func (g *goTest) Line(line string, last bool, tidy func(string) string) []string {
	e, ok := parseGoEvent(line)
	if !ok {
		text := tidy(line)
		g.plainLine(text)
		return []string{text}
	}
	clear(g.blamed) // go test has begun: earlier lines did not end the step
	g.last = nil
	var text []string
	if e.Output != "" {
		for l := range strings.Lines(e.Output) {
			text = append(text, tidy(l))
		}
	}
	switch e.Action {
	case "build-output":
		t := g.builds[e.ImportPath]
		if t == nil && len(g.builds) < maxBuilds {
			t = &Tail{}
			g.builds[e.ImportPath] = t
		}
		if t != nil {
			addAll(t, text)
		}
	case "output":
		if p := g.packages[e.Package]; p != nil {
			for _, l := range text {
				if !progress(l) {
					p.output.Add(l)
				}
			}
		}
	case "pass", "skip", "fail":
		if e.Test == "" {
			g.ended(e, last)
		}
	}
	return text
}

// ended takes the last event of a package. A skip is a package without tests:
// it was compiled.
func (g *goTest) ended(e goEvent, last bool) {
	p := g.packages[e.Package]
	if p == nil {
		g.stray = g.stray || e.Action == "fail"
		return
	}
	if e.Action == "fail" {
		p.failed, p.broken = true, e.FailedBuild
	} else {
		p.passed, p.late = true, p.late || last
	}
	if e.Elapsed > 0 && e.Elapsed < 1e6 {
		p.elapsed = max(p.elapsed, time.Duration(e.Elapsed*float64(time.Second)))
	}
}

// plainLine reads the line that Go before 1.24 prints, outside of JSON, for a package that does
// not compile: FAIL, tab, import path, [build failed] or [setup failed].
func (g *goTest) plainLine(line string) {
	rest, ok := strings.CutPrefix(line, "FAIL\t")
	if !ok {
		g.blame(line)
		return
	}
	importPath, why, _ := strings.Cut(rest, " ")
	if p := g.packages[importPath]; p != nil && (why == "[build failed]" || why == "[setup failed]") {
		p.failed = true
		p.output.Add(line)
	}
}

// dirOf returns the directory of a file from the folder that the step runs in. Vet repeats
// earlier messages with the absolute path, which may be in another checkout with the same
// cache. For such a path it returns the longest directory of a target that the path ends with.
func (g *goTest) dirOf(name string) string {
	if !path.IsAbs(name) {
		return path.Dir(name)
	}
	if at, ok := strings.CutPrefix(name, g.root+"/"); ok && g.root != "" {
		return path.Dir(at)
	}
	for at := strings.TrimPrefix(path.Dir(name), "/"); at != ""; _, at, _ = strings.Cut(at, "/") {
		if g.dirs[at] != nil {
			return at
		}
	}
	return ""
}

// Root implements rooted.
func (g *goTest) Root(dir string) { g.root = path.Clean(dir) }

// blame takes a line of a command beside go test, as go vet and the compiler write it about a
// file: [vet: ]PATH:LINE[:COLUMN]: MESSAGE. Indented lines belong to the line before them.
func (g *goTest) blame(line string) {
	if strings.HasPrefix(line, "\t") {
		if g.last != nil {
			g.blamed[g.last].Add(line)
		}
		return
	}
	g.last = nil
	name, rest, ok := strings.Cut(strings.TrimPrefix(line, "vet: "), ".go:")
	if !ok || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return
	}
	if p := g.dirs[g.dirOf(name)]; p != nil {
		if g.blamed[p] == nil {
			g.blamed[p] = &Tail{}
		}
		g.blamed[p].Add(line)
		g.last = p
	}
}

// Of implements Reader: a target that names a directory has the result of its package.
func (g *goTest) Of(target string) (Result, bool) {
	_, named := packageDir(g.step.ToolName(target))
	p := g.targets[target]
	if p == nil {
		return Result{}, named
	}
	r := Result{Passed: p.passed, Late: p.late, Failed: p.failed, Took: p.elapsed}
	if p.failed {
		r.Tail = g.tailOf(p)
	}
	if b := g.blamed[p]; b != nil {
		r.Blamed = b.String()
	}
	return r, named
}

func (g *goTest) Strayed() bool { return g.stray }

// tailOf returns the last lines about a failed package: the compiler's, if it
// was the build that failed, and its own.
func (g *goTest) tailOf(p *goPackage) string {
	var t Tail
	if b := g.builds[p.broken]; b != nil && p.broken != "" {
		addAll(&t, b.lines)
	}
	addAll(&t, p.output.lines)
	return t.String()
}

func addAll(t *Tail, lines []string) {
	for _, l := range lines {
		t.Add(l)
	}
}

// progress reports whether a line of a test's output says nothing about a failure.
func progress(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, p := range [...]string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- PASS: ", "--- SKIP: "} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

// parseGoEvent reads a line as an event.
func parseGoEvent(line string) (goEvent, bool) {
	var e goEvent
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		return goEvent{}, false
	}
	switch e.Action {
	case "start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip", "attr", "artifacts":
		return e, e.Package != ""
	case "build-output", "build-fail":
		return e, e.ImportPath != ""
	}
	return goEvent{}, false
}
