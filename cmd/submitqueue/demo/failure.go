package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// maxNamed bounds how many targets or paths a line names.
const maxNamed = 3

// failure says in one line why a change was rejected: the step, its targets and the
// most telling line of its log, or the paths that do not merge. It is hostile text, and
// "" for other verdicts.
func failure(v *queue.Verdict) string {
	switch {
	case v == nil:
		return ""
	case len(v.Conflicts) > 0:
		return "does not merge: " + print.Some(v.Conflicts, maxNamed)
	case len(v.Failures) == 0:
		return ""
	}
	f := v.Failures[0]
	text := "step " + f.Step + " failed"
	if f.Timeout {
		text = "step " + f.Step + " ran out of time"
	}
	if len(f.Targets) > 0 && !(len(f.Targets) == 1 && f.Targets[0] == config.TargetTree) {
		text += " on " + print.Some(f.Targets, maxNamed)
	}
	if line := Telling(f.Tail); line != "" {
		text += ": " + line
	}
	return text
}

// Telling returns the most telling line of a log: the first line that names a place in a file,
// else the first that mentions a failure, else the last. It is hostile text.
func Telling(log string) string {
	log = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]").ReplaceAllString(log, "")
	var lines []string
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	for _, pattern := range []string{
		`(^|\s)[^\s:]+\.\w+:\d+(:\d+)?: `,
		`(?i)\b(error|errors|exception|fail|failed|failure|fatal|panic|not found|no such)\b`,
	} {
		says := regexp.MustCompile(pattern)
		for _, line := range lines {
			if says.MatchString(line) {
				return line
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
