package texts

import (
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// mostFailing is how many characters of a failing line are shown.
const mostFailing = 160

// failing are patterns of lines that say what failed, as test runners, compilers and
// shells write them.
var failing = []*regexp.Regexp{
	regexp.MustCompile(`^\s*(vet: )?[^\s:(]+\.[A-Za-z]{1,5}:\d+(:\d+)?: \S`), // compilers, go test: file.go:12:3: message
	regexp.MustCompile(`^\s*[^\s:(]+\.[A-Za-z]{1,5}\(\d+(,\d+)?\): error\b`), // tsc, msbuild: file.ts(12,3): error
	regexp.MustCompile(`^\s*(error(\[\w+\])?|Error|ERROR|FATAL|fatal|panic|AssertionError|\w*Error|\w*Exception): \S`),
	regexp.MustCompile(`^thread '.*' (\(\d+\) )?panicked at `),
	regexp.MustCompile(`^E\s+\S`), // pytest
	regexp.MustCompile(`^\s*(not ok \d|● |✕ |✗ |✖ |FAILED |FAIL: |--- FAIL: )`),
	regexp.MustCompile(`: (command )?not found$|: No such file or directory$`),
}

// framing are lines of a log's end that say only that something has failed.
var framing = regexp.MustCompile(`^(FAIL|FAILED|exit status \d+|make: .*|\[submitqueue\].*|npm (ERR!|error).*|FAIL\s.*|ok\s.*|PASS)$`)

// FailingLine returns the line of a failed step's output that says what failed, as one
// line of plain text. It is the first line that looks like a message of a test or a
// compiler, else the last line with any words. "" where there is no output. It is
// hostile text.
func FailingLine(f queue.Evidence) string {
	last := ""
	for line := range strings.Lines(escapes().ReplaceAllString(f.Output(), "")) {
		line = strings.TrimSpace(line)
		for _, shape := range failing {
			if shape.MatchString(line) {
				return OneLine(line, mostFailing)
			}
		}
		if line != "" && !framing.MatchString(line) {
			last = line
		}
	}
	return OneLine(last, mostFailing)
}

// failingLine is the failing line of a change that was rejected for a failed step.
func failingLine(c queue.Change) string {
	if c.Phase != queue.Rejected && c.Phase != queue.Tried || c.Reason.Code != queue.ReasonFailed || c.Verdict == nil {
		return ""
	}
	for _, f := range c.Verdict.Failures {
		if f.Step == config.Path {
			continue // its output is shown whole, and names the place
		}
		if line := FailingLine(f); line != "" {
			return line
		}
	}
	return ""
}
