package workers

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// errNoSandbox is why steps cannot have a sandbox.
var errNoSandbox = errors.New("a sandbox for steps needs macOS")

// profile returns the room as a profile of the sandbox of macOS. Of two rules for one
// path the later one holds: deeper paths come later.
func (r *room) profile() string {
	type rule struct{ path, text string }
	var rules []rule
	var above []string
	for _, path := range r.hide {
		rules = append(rules, rule{path, "(deny file-read* file-write* (subpath " + quoted(path) + "))\n"})
	}
	for _, s := range r.show {
		if s.At != "" {
			continue // there are no mounts
		}
		what := "file-read*"
		if s.Writable {
			what = "file-read* file-write*"
		}
		rules = append(rules, rule{s.From, "(allow " + what + " (subpath " + quoted(s.From) + "))\n"})
		for dir := filepath.Dir(s.From); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if text := "(allow file-read-metadata (literal " + quoted(dir) + "))\n"; !slices.Contains(above, text) {
				above = append(above, text)
			}
		}
	}
	slices.SortStableFunc(rules, func(a, b rule) int { return strings.Count(a.path, "/") - strings.Count(b.path, "/") })
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n")
	b.WriteString(`; other processes, and what has something done outside
(deny signal)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
(deny mach-priv-task-port)
(deny job-creation)
(deny lsopen)
(deny appleevent-send)
(deny network-outbound (remote unix-socket))
(allow network-outbound (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))
; the machine is read-only
(deny file-write*)
(allow file-write*
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/tty")
  (literal "/dev/dtracehelper")
  (regex #"^/dev/fd/"))
; what is hidden, shown all the same, and the step's own
`)
	for _, r := range rules {
		b.WriteString(r.text)
	}
	for _, text := range above { // names of folders on the way, not what is in them
		b.WriteString(text)
	}
	return b.String()
}

// quoted returns a string of a profile.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
