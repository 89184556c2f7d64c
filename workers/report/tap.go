package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// tap reads the Test Anything Protocol, versions 12 to 14 (testanything.org), in the output or
// in files. A test point at the top level belongs to the target that its description names, or
// to the target of the folder with the file that its description names. Nested points are part
// of the point that ends them. A point with TODO has not failed. With a plan that is not kept,
// or a bail-out, no target has passed.
type tap struct {
	tally
	*owners
	fixed
	step   config.Step
	output tapStream
}

// tapStream is one document, as it comes.
type tapStream struct {
	began   bool
	points  int
	planned int // -1: there is no plan
	bailed  bool
	failing []string // targets of the last point, if it has failed: its diagnostics may follow
}

var (
	tapPoint = regexp.MustCompile(`^(not )?ok\b(?:\s+(\d+))?(?:\s*-)?\s*(.*)$`)
	tapPlan  = regexp.MustCompile(`^1\.\.(\d+)\b`)
	tapTold  = regexp.MustCompile(`(?i)(?:^|\s)#\s*(skip|todo)\S*(?:\s|$)`)
)

func tapOf(files fs.FS, step config.Step, targets []string) (Reader, error) {
	o, err := newOwners(files, step, targets)
	return &tap{tally: newTally(targets), owners: o, step: step, output: tapStream{planned: -1}}, err
}

// Line implements Reader.
func (t *tap) Line(text string, last bool, tidy func(string) string) []string {
	said := tidy(text)
	t.take(&t.output, said, last)
	return []string{said}
}

// File implements Reader.
func (t *tap) File(_ string, content io.Reader, last bool, tidy func(string) string) error {
	doc := tapStream{planned: -1}
	err := eachLine(content, func(text string) error {
		t.take(&doc, tidy(text), last)
		return nil
	})
	if err == nil {
		err = doc.problem()
	}
	if err == nil && !doc.began {
		err = errors.New("it holds no TAP")
	}
	if err != nil {
		t.lost = true
	}
	return err
}

// take reads one line of a document.
func (t *tap) take(doc *tapStream, line string, last bool) {
	switch {
	case strings.HasPrefix(line, "TAP version "):
		doc.began = true
	case strings.HasPrefix(line, "Bail out!"):
		doc.bailed = true
	case tapPlan.MatchString(line):
		n, err := strconv.Atoi(tapPlan.FindStringSubmatch(line)[1])
		if doc.planned >= 0 || err != nil {
			doc.bailed = true // two plans: it is unknown which one counts
		}
		doc.planned, doc.began = n, true
	case strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "not ok"):
		if m := tapPoint.FindStringSubmatch(line); m != nil {
			t.point(doc, m[1] != "", m[3], last)
		}
	case strings.HasPrefix(line, "# Subtest"):
		doc.failing = nil
	case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "#"):
		for _, target := range doc.failing {
			t.targets[target].tail.Add(line)
		}
	}
}

// point takes a test point of the top level.
func (t *tap) point(doc *tapStream, not bool, text string, last bool) {
	doc.began = true
	doc.points++
	doc.failing = nil
	description, todo := text, false
	if at := tapTold.FindStringSubmatchIndex(text); at != nil {
		description, todo = strings.TrimSpace(text[:at[0]]), strings.EqualFold(text[at[2]:at[3]], "todo")
	}
	description = strings.NewReplacer(`\#`, "#", `\\`, `\`).Replace(description)
	who := owner{target: t.tools[description], known: t.tools[description] != ""}
	if t.fixedTo != "" {
		who = owner{target: t.fixedTo, known: true}
	}
	if !who.known && strings.ContainsAny(description, `/\`) {
		who = t.owners.of(description)
	}
	switch failed := not && !todo; {
	case failed && !who.known:
		t.lost = true
	case failed:
		t.fail(who.target, 0, "not ok "+description)
		if t.targets[who.target] != nil {
			doc.failing = []string{who.target}
		}
	case who.known:
		t.pass(who.target, last, 0)
	}
}

// problem says why a document is not whole, if so.
func (d *tapStream) problem() error {
	switch {
	case d.bailed:
		return errors.New("it bails out, or has two plans")
	case d.planned >= 0 && d.points != d.planned:
		return fmt.Errorf("its plan is of %d tests, and it has %d", d.planned, d.points)
	case d.began && d.planned < 0:
		return errors.New("it has no plan, so that nobody knows whether all of it is there")
	}
	return nil
}

// Of implements Reader.
func (t *tap) Of(target string) (Result, bool) {
	r := t.result(target)
	if t.output.began && t.output.problem() != nil {
		r.Passed, r.Late = false, false
	}
	return r, named(t.step, target)
}
