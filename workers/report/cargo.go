package report

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// cargo reads what `cargo test --message-format json` prints: Cargo's messages name the package
// of each test program (doc.rust-lang.org/cargo/reference/external-tools.html), and its lines
// "Running ..." and "Doc-tests ..." name the program that runs. libtest reports the end of that
// program: as text or, with its unstable --format json, in JSON. A package has passed if all of
// its test programs have passed, and the tests of its documentation, if its library has any.
// For nextest it reads `--message-format libtest-json-plus`.
//
// A target is a package by its name, or by its folder ("./dir").
type cargo struct {
	noFiles
	tally
	step     config.Step
	names    map[string]string   // name, or folder, of a package -> target
	programs map[string]*program // by path of the program
	docs     map[string]*program // by name of the library
	running  *program
	block    string          // the target of the output that is being printed; "": none
	built    map[string]bool // targets of which something was compiled
	root     string          // the folder that the step runs in
}

// Root takes the folder that the step runs in.
func (c *cargo) Root(dir string) { c.root = dir }

// program is a test program of a package, or the tests of its documentation.
type program struct {
	target string // "": it was not asked for
	docs   bool   // the tests of the documentation, which may not run at all
	ended  bool
}

// cargoMessage is a line of JSON: a message of Cargo or an event of libtest.
type cargoMessage struct {
	Reason     string `json:"reason"`
	PackageID  string `json:"package_id"`
	Manifest   string `json:"manifest_path"`
	Executable string `json:"executable"`
	Target     struct {
		Kind    []string `json:"kind"`
		Name    string   `json:"name"`
		Doctest bool     `json:"doctest"`
	} `json:"target"`
	Profile struct {
		Test bool `json:"test"`
	} `json:"profile"`
	Message struct {
		Level    string `json:"level"`
		Rendered string `json:"rendered"`
	} `json:"message"`
	Success *bool `json:"success"`

	Type    string  `json:"type"`  // of libtest
	Event   string  `json:"event"` //
	Name    string  `json:"name"`
	Stdout  string  `json:"stdout"`
	Took    float64 `json:"exec_time"`
	Nextest *struct {
		Crate string `json:"crate"`
	} `json:"nextest"`
}

func cargoOf(_ fs.FS, step config.Step, targets []string) (Reader, error) {
	return &cargo{tally: newTally(targets), step: step, names: byToolName(step, targets),
		programs: map[string]*program{}, docs: map[string]*program{}, built: map[string]bool{}}, nil
}

var (
	cargoRuns   = regexp.MustCompile(`^\s+Running (?:unittests )?.*\((.+)\)$`)
	cargoDocs   = regexp.MustCompile(`^\s+Doc-tests (\S+)$`)
	cargoFailed = regexp.MustCompile("^error: test failed, to rerun pass `(?:(?:-p|--package) ([^ `@]+))?")
	cargoResult = regexp.MustCompile(`^test result: (ok|FAILED)\. .* finished in ([0-9.]+)s$`)
)

// maxPrograms bounds how many programs are told apart.
const maxPrograms = 100_000

// Line implements Reader.
func (c *cargo) Line(text string, last bool, tidy func(string) string) []string {
	if strings.HasPrefix(text, "{") {
		var m cargoMessage
		if json.Unmarshal([]byte(text), &m) == nil && (m.Reason != "" || m.Type != "") {
			if m.Reason != "" {
				return c.message(m, last, tidy)
			}
			return c.event(m, last, tidy)
		}
	}
	said := tidy(text)
	if m := cargoRuns.FindStringSubmatch(said); m != nil {
		c.begins(c.programOf(m[1]))
	} else if m := cargoDocs.FindStringSubmatch(said); m != nil {
		c.begins(c.docs[m[1]])
	} else if m := cargoResult.FindStringSubmatch(said); m != nil {
		c.ends(m[1] == "ok", last, said)
	} else if m := cargoFailed.FindStringSubmatch(said); m != nil {
		if c.running != nil { // a crash has no result
			c.ends(false, last, said)
		}
		if target := c.names[m[1]]; target != "" {
			c.fail(target, 0)
		}
	} else if c.block != "" {
		c.targets[c.block].tail.Add(said)
	}
	return []string{said}
}

// message takes a message of Cargo.
func (c *cargo) message(m cargoMessage, last bool, tidy func(string) string) []string {
	target := c.packageOf(m)
	said := tidied(m.Message.Rendered, tidy)
	switch {
	case m.Reason == "compiler-message" && m.Message.Level == "error":
		if target == "" {
			c.stray = true // its dependents are not built either, and unknown
		} else {
			c.fail(target, 0, said...)
		}
	case m.Reason == "compiler-artifact" && m.Profile.Test && m.Executable != "":
		if c.programs[m.Executable] == nil && len(c.programs) < maxPrograms {
			c.programs[m.Executable] = &program{target: target}
			if n := c.targets[target]; n != nil {
				n.open++
				n.programs = true
			}
		}
	case m.Reason == "compiler-artifact" && !m.Profile.Test && target != "":
		c.built[target] = true
		if m.Target.Doctest && c.docs[m.Target.Name] == nil {
			c.docs[m.Target.Name] = &program{target: target, docs: true}
			c.targets[target].rest++
		}
	case m.Reason == "build-finished" && m.Success != nil && *m.Success:
		for target := range c.built { // one without programs has passed by being built
			if n := c.targets[target]; !n.programs {
				c.pass(target, last, 0)
			}
		}
	}
	return said
}

// packageOf returns the target of a message's package.
func (c *cargo) packageOf(m cargoMessage) string {
	at, name, ok := strings.Cut(m.PackageID, "#") // path+file:///dir#name@1.0.0, path+file:///dir/name#1.0.0
	switch before, _, versioned := strings.Cut(name, "@"); {
	case !ok: // name 1.0.0 (path+file:///dir)
		name, at, _ = strings.Cut(m.PackageID, " ")
		_, at, _ = strings.Cut(at, "(")
	case versioned:
		name = before
	default:
		name = path.Base(at)
	}
	if !strings.HasPrefix(at, "path+") {
		return "" // of a registry, which can have any name
	}
	if dir, ok := strings.CutPrefix(path.Dir(m.Manifest), c.root+"/"); ok && c.root != "" {
		if target := c.names["./"+dir]; target != "" {
			return target
		}
	}
	return c.names[name]
}

// programOf returns a program by the path that Cargo prints, which may be relative.
func (c *cargo) programOf(name string) *program {
	if p := c.programs[name]; p != nil {
		return p
	}
	var found *program
	for at, p := range c.programs {
		if strings.HasSuffix(at, "/"+name) {
			if found != nil {
				return nil
			}
			found = p
		}
	}
	return found
}

// begins notes that a program runs: nil is one that no message has named.
func (c *cargo) begins(p *program) {
	c.running, c.block = p, ""
	if p == nil {
		c.running = &program{}
	} else if c.targets[p.target] != nil {
		c.block = p.target
	}
}

// ends notes how the program that runs has ended.
func (c *cargo) ends(ok, last bool, said string) {
	p := c.running
	if p == nil {
		return // a line of output that only looks like a result
	}
	if c.block != "" {
		c.targets[c.block].tail.Add(said)
	}
	c.running, c.block = nil, ""
	n := c.targets[p.target]
	switch {
	case n == nil && !ok:
		c.stray = true
	case n == nil:
	case !ok:
		c.fail(p.target, 0)
	default:
		if m := cargoResult.FindStringSubmatch(said); m != nil {
			n.add(secondsOf(m[2]))
		}
		if !p.ended {
			if p.ended = true; p.docs {
				n.rest--
			} else if p.target != "" {
				n.open--
			}
		}
		c.pass(p.target, last, 0)
	}
}

// event takes an event of libtest.
func (c *cargo) event(m cargoMessage, last bool, tidy func(string) string) []string {
	said := []string{tidy(strings.Join(strings.Fields(m.Type+" "+m.Name+" "+m.Event), " "))}
	if m.Stdout != "" {
		said = append(said, tidied(m.Stdout, tidy)...)
	}
	if m.Nextest != nil && m.Type == "suite" {
		target := c.names[m.Nextest.Crate]
		switch {
		case m.Event == "started":
			if n := c.targets[target]; n != nil {
				n.open++
			}
		case c.targets[target] == nil:
			c.stray = c.stray || m.Event == "failed"
		case m.Event == "ok":
			c.targets[target].open--
			c.pass(target, last, seconds(m.Took))
		case m.Event == "failed":
			c.fail(target, seconds(m.Took))
		}
		return said
	}
	if m.Type == "test" && m.Event == "failed" {
		target := c.block
		if crate, _, ok := strings.Cut(m.Name, "::"); ok && target == "" && strings.Contains(m.Name, "$") {
			target = c.names[crate] // as nextest names it: crate::program$test
		}
		if n := c.targets[target]; n != nil {
			addAll(&n.tail, said)
		}
	}
	if m.Type == "suite" && (m.Event == "ok" || m.Event == "failed") {
		c.ends(m.Event == "ok", last, said[0])
	}
	return said
}

// Of implements Reader.
func (c *cargo) Of(target string) (Result, bool) { return c.result(target), named(c.step, target) }
