package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds on a pattern of a log. They keep hostile ones cheap: a match takes time in
// proportion to the program and to the text, which is a tail of few KiB.
const (
	maxPattern = 300
	maxProgram = 2000
)

// ownLine begins each line that the queue's runner writes into a log.
const ownLine = "[submitqueue] "

// RetriedFor returns the first pattern of RetryOn that the end of a failed run's log
// matches, "" where none does. Lines that the runner has written do not count: they
// quote the command. A pattern that Parse would refuse matches nothing.
func (s Step) RetriedFor(tail string) (pattern string) {
	if len(s.RetryOn) == 0 {
		return ""
	}
	var text strings.Builder
	for line := range strings.Lines(tail) {
		if !strings.HasPrefix(line, ownLine) {
			text.WriteString(line)
		}
	}
	for _, p := range s.RetryOn {
		if re, err := compilePattern(p); err == nil && re.MatchString(text.String()) {
			return p
		}
	}
	return ""
}

// compilePattern compiles a pattern of RE2; ^ and $ are the ends of lines. The error is
// for people.
func compilePattern(p string) (*regexp.Regexp, error) {
	if len(p) > maxPattern {
		return nil, fmt.Errorf("has %d characters, and a pattern may have at most %d", len(p), maxPattern)
	}
	re, err := regexp.Compile("(?m)" + p)
	if err != nil {
		return nil, fmt.Errorf("is not a pattern of RE2: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	tree, err := syntax.Parse("(?m)"+p, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("is not a pattern of RE2: %w", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	switch {
	case err != nil:
		return nil, fmt.Errorf("is not a pattern of RE2: %w", err)
	case len(program.Inst) > maxProgram:
		return nil, fmt.Errorf("repeats too much: write fewer and smaller counts in { }")
	case re.MatchString("") || re.MatchString("\n"):
		return nil, fmt.Errorf("matches any log, so that no failure would ever count: name what only a fault of the infrastructure prints")
	}
	return re, nil
}

// checkRetryOn checks the patterns of a step, and that its log can be read.
func checkRetryOn(d *document, path string, s Step) {
	at := path + ".retry_on"
	for i, p := range s.RetryOn {
		sub := fmt.Sprintf("%s[%d]", at, i)
		if p == "" {
			continue
		}
		if _, err := compilePattern(p); err != nil {
			d.report(sub, "%s is %s, which %s", sub, quoted(p), err)
		}
	}
	if len(s.RetryOn) == 0 {
		return
	}
	for _, c := range s.Checks {
		if c.App != AppActions && c.Name != "" {
			d.report(at, "%s needs logs, and of the check %s none can be had unless it is a job of GitHub Actions: write {name: %s, app: %s}, or delete the line", at, quoted(c.Name), c.Name, AppActions)
			return
		}
	}
}
