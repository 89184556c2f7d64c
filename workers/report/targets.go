package report

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// targetsJSON reads our own format, for tools without a better one: one JSON object per line,
//
//	{"target": "web", "result": "passed", "seconds": 1.5}
//	{"target": "api", "result": "failed", "output": "3 tests have failed\n..."}
//
// in a file, or in the output after targetsMark. A line says that all work of the command for
// the target has passed or failed; skipped says that it did nothing, and leaves the target
// unknown. A target that has failed once has failed.
type targetsJSON struct {
	tally
	step  config.Step
	names map[string]string
}

// targetsMark begins a line of the output that is of the report.
const targetsMark = "submitqueue: "

// targetLine is one line of the report.
type targetLine struct {
	Target  string  `json:"target"`
	Result  string  `json:"result"`
	Seconds float64 `json:"seconds"`
	Output  string  `json:"output"`
}

func targetsJSONOf(_ fs.FS, step config.Step, targets []string) (Reader, error) {
	return &targetsJSON{tally: newTally(targets), step: step, names: byToolName(step, targets)}, nil
}

// Line implements Reader. A line that has the mark and makes no sense goes to people, and keeps
// all targets from passing.
func (t *targetsJSON) Line(text string, last bool, tidy func(string) string) []string {
	rest, ok := strings.CutPrefix(text, targetsMark)
	if !ok {
		return []string{tidy(text)}
	}
	line, err := parseTargetLine(rest)
	if err != nil {
		t.lost = true
		return []string{tidy(text), tidy(targetsMark + err.Error())}
	}
	return t.take(line, last, tidy)
}

// File implements Reader.
func (t *targetsJSON) File(_ string, content io.Reader, last bool, tidy func(string) string) error {
	n := 0
	err := eachLine(content, func(text string) error {
		n++
		if strings.TrimSpace(text) == "" {
			return nil
		}
		line, err := parseTargetLine(strings.TrimPrefix(text, targetsMark))
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		t.take(line, last, tidy)
		return nil
	})
	if err != nil {
		t.lost = true
	}
	return err
}

func parseTargetLine(text string) (line targetLine, err error) {
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		return line, fmt.Errorf(`it is no object such as {"target": "a", "result": "passed"}: %w`, err)
	}
	switch {
	case line.Target == "":
		return line, fmt.Errorf("it names no target")
	case line.Result != "passed" && line.Result != "failed" && line.Result != "skipped":
		return line, fmt.Errorf("the result %.40q is none of passed, failed, skipped", line.Result)
	}
	return line, nil
}

// take counts a line and returns its lines for people.
func (t *targetsJSON) take(line targetLine, last bool, tidy func(string) string) []string {
	said := append([]string{tidy(line.Result + " " + line.Target)}, tidied(line.Output, tidy)...)
	target := t.names[line.Target]
	switch {
	case line.Result == "failed" && target == "":
		t.stray = true
	case line.Result == "failed":
		t.fail(target, seconds(line.Seconds), said...)
	case line.Result == "passed":
		t.pass(target, last, seconds(line.Seconds))
	}
	return said
}

// Of implements Reader.
func (t *targetsJSON) Of(target string) (Result, bool) {
	return t.result(target), named(t.step, target)
}
