package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// junit reads XML in the format that is named after JUnit. There is no standard; the elements
// are testsuites, testsuite, testcase, and in that failure, error, skipped. The target of a
// test case is the first of these that exists:
//
//  1. the target of the file, if report_files says so by {target};
//  2. the Go package with the name of the suite or of the class as its import path;
//  3. the package, or the folder, with the file that the case, its suite, or the
//     suite's name names;
//  4. the target with the name of the suite, whole or before "::" (as nextest writes it), or
//     of the class.
//
// A suite takes missing attributes from the elements around it. A failure that belongs to no
// target keeps all targets from passing.
type junit struct {
	noLines
	tally
	*owners
	fixed
	step     config.Step
	packages map[string]string // import path -> target
}

func junitOf(files fs.FS, step config.Step, targets []string) (Reader, error) {
	o, err := newOwners(files, step, targets)
	if err != nil {
		return nil, err
	}
	packages, err := packagesOf(files, step, targets)
	return &junit{tally: newTally(targets), owners: o, step: step, packages: packages}, err
}

// maxDepth bounds the depth of nested elements, maxText the bytes that are kept of the text of
// one failure.
const (
	maxDepth = 64
	maxText  = 64 << 10
)

// suite is an element testsuite, with the attributes that it takes from those around it.
type suite struct {
	name, file string
	cases      int  // of it and of those within
	failed     bool // it says that it has failed cases, or errors of its own
	broken     bool // one of its cases has failed
}

// testCase is an element testcase.
type testCase struct {
	name, class, file string
	took              time.Duration
	failed            bool
	text              strings.Builder
}

// File implements Reader.
func (j *junit) File(_ string, content io.Reader, last bool, tidy func(string) string) error {
	err := j.read(content, last, tidy)
	if err != nil {
		j.lost = true
	}
	return err
}

func (j *junit) read(content io.Reader, last bool, tidy func(string) string) error {
	d := xml.NewDecoder(content)
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "ascii") {
			return in, nil
		}
		return nil, fmt.Errorf("its encoding is %.40q; write UTF-8", charset)
	}
	var suites []*suite
	var in *testCase
	within := false // a failure or an error of it
	depth, seen := 0, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("it is no XML that can be read: %w", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("its elements are more than %d deep", maxDepth)
			}
			switch e.Name.Local {
			case "testsuites":
				seen = true
			case "testsuite":
				seen = true
				suites = append(suites, newSuite(e, suites))
			case "testcase":
				seen = true
				in = &testCase{name: attr(e, "name"), class: attr(e, "classname"), file: attr(e, "file")}
				s, _ := strconv.ParseFloat(strings.ReplaceAll(attr(e, "time"), ",", ""), 64) // 0, if it makes no sense
				in.took = seconds(s)
			case "failure", "error":
				if within = true; in != nil {
					in.failed = true
					in.say(attr(e, "message"))
				} else if len(suites) > 0 {
					suites[len(suites)-1].failed = true
				}
			}
		case xml.CharData:
			if within && in != nil {
				in.say(string(e))
			}
		case xml.EndElement:
			depth--
			switch e.Name.Local {
			case "failure", "error":
				within = false
			case "testcase":
				if in != nil {
					j.testCase(suites, *in, last, tidy)
				}
				in = nil
			case "testsuite":
				if n := len(suites); n > 0 {
					j.suite(suites, last, tidy)
					suites = suites[:n-1]
				}
			}
		}
	}
	if !seen {
		return errors.New("it holds no testsuite")
	}
	return nil
}

func (c *testCase) say(text string) {
	if text = strings.TrimSpace(text); text != "" && c.text.Len() < maxText {
		c.text.WriteString(text[:min(len(text), maxText)] + "\n")
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func newSuite(e xml.StartElement, around []*suite) *suite {
	s := &suite{name: attr(e, "name"), file: attr(e, "file")}
	if s.file == "" {
		s.file = attr(e, "filepath")
	}
	if n := len(around); n > 0 {
		if s.name == "" {
			s.name = around[n-1].name
		}
		if s.file == "" {
			s.file = around[n-1].file
		}
	}
	for _, count := range [...]string{"failures", "errors"} {
		n, _ := strconv.Atoi(attr(e, count)) // 0, if it makes no sense
		s.failed = s.failed || n > 0
	}
	return s
}

// testCase counts a case that has ended.
func (j *junit) testCase(suites []*suite, c testCase, last bool, tidy func(string) string) {
	in := &suite{}
	if n := len(suites); n > 0 {
		in = suites[n-1]
	}
	for _, s := range suites {
		s.cases++
		s.broken = s.broken || c.failed
	}
	who := j.ownerOf(in, c)
	switch {
	case c.failed && !who.known:
		j.lost = true
	case c.failed:
		head := tidy("FAIL " + strings.TrimSpace(c.class+" "+c.name))
		j.fail(who.target, c.took, append([]string{head}, tidied(c.text.String(), tidy)...)...)
	case who.known:
		j.pass(who.target, last, c.took)
	}
}

// suite counts a suite that has ended: its own failures, and a suite without cases.
func (j *junit) suite(suites []*suite, last bool, tidy func(string) string) {
	s := suites[len(suites)-1]
	who := j.ownerOf(s, testCase{})
	switch {
	case s.failed && !s.broken && !who.known:
		j.lost = true
	case s.failed && !s.broken:
		j.fail(who.target, 0, tidy("FAIL "+s.name))
	case s.cases == 0 && who.known: // a Go package without tests
		j.pass(who.target, last, 0)
	}
	if n := len(suites); n > 1 && s.failed {
		suites[n-2].broken = true
	}
}

// ownerOf returns the owner of a test case.
func (j *junit) ownerOf(s *suite, c testCase) owner {
	if j.fixedTo != "" {
		return owner{target: j.fixedTo, known: true}
	}
	for _, name := range [...]string{s.name, c.class} {
		if target, ok := j.packages[name]; ok {
			return owner{target: target, known: true}
		}
	}
	for _, file := range [...]string{c.file, s.file} {
		if file != "" {
			if who := j.owners.of(file); who.known {
				return who
			}
		}
	}
	if strings.Contains(s.name, "/") && !strings.HasPrefix(s.name, "//") {
		if who := j.owners.of(s.name); who.known {
			return who
		}
	}
	crate, _, _ := strings.Cut(s.name, "::")
	for _, name := range [...]string{s.name, crate, c.class} {
		if target, ok := j.tools[name]; ok {
			return owner{target: target, known: true}
		}
	}
	return owner{}
}

// Of implements Reader.
func (j *junit) Of(target string) (Result, bool) { return j.result(target), named(j.step, target) }
