package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Quarantine is targets whose failures do not count for a while: they are run and shown,
// and refuse no change.
type Quarantine struct {
	// Targets are globs of target names, e.g. ./cmd/*; a leading "./" may be left out, and ** is all of them. The name tree, in a step without targets, is the whole step.
	Targets []string `json:"targets" yaml:"targets" jsonschema:"required,minItems=1,maxItems=200"`
	// Until is the last day, in UTC, on which the entry counts, e.g. 2026-12-31. Default: it counts until it is deleted.
	Until string `json:"until,omitempty" yaml:"until,omitempty" jsonschema:"pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`
	// Reason is shown to people, e.g. the issue that is to repair the target.
	Reason string `json:"reason,omitempty" yaml:"reason,omitempty" jsonschema:"maxLength=200,pattern=^\\S([^\\r\\n\\x00]*\\S)?$"`
}

// Ends returns when the entry ceases to count; the zero time: it does not.
func (q Quarantine) Ends() time.Time {
	day, err := time.Parse(time.DateOnly, q.Until)
	if err != nil {
		return time.Time{}
	}
	return day.AddDate(0, 0, 1)
}

// Counts reports whether the entry counts at a moment.
func (q Quarantine) Counts(now time.Time) bool {
	ends := q.Ends()
	return ends.IsZero() || now.Before(ends)
}

func (q Quarantine) equal(o Quarantine) bool {
	return q.Until == o.Until && q.Reason == o.Reason && slices.Equal(q.Targets, o.Targets)
}

// names reports whether the entry is about a target of a step. The target
// of a step that no analyzer divides has to be named; no glob matches it.
func (q Quarantine) names(s Step, target string) bool {
	if undivided(target) {
		return slices.Contains(q.Targets, target)
	}
	own := targetGlob(s.ToolName(target))
	return slices.ContainsFunc(q.Targets, func(glob string) bool {
		glob = targetGlob(glob)
		return glob == own || glob == target || doublestar.MatchUnvalidated(glob, own) || doublestar.MatchUnvalidated(glob, target)
	})
}

// Quarantined reports whether an entry of the step that counts at a moment names a target.
// The core decides by the steps of two commits whether a failure counts.
func (s Step) Quarantined(target string, now time.Time) bool {
	return slices.ContainsFunc(s.Quarantine, func(q Quarantine) bool { return q.Counts(now) && q.names(s, target) })
}

// SameQuarantine reports whether two steps have the same entries.
func SameQuarantine(a, b Step) bool {
	return slices.EqualFunc(a.Quarantine, b.Quarantine, Quarantine.equal)
}

// StepNamed returns the step of a name.
func (c *Config) StepNamed(name string) (Step, bool) {
	if c == nil {
		return Step{}, false
	}
	at := slices.IndexFunc(c.Steps, func(s Step) bool { return s.Name == name })
	if at < 0 {
		return Step{}, false
	}
	return c.Steps[at], true
}

// QuarantineRow is an entry of a configuration with the steps that have it.
type QuarantineRow struct {
	Quarantine
	Steps []string // in the order of the file
	Over  bool     // it counts no more
}

// Quarantines returns the entries of all steps in the order of the file, equal ones of
// several steps once.
func (c *Config) Quarantines(now time.Time) (out []QuarantineRow) {
	if c == nil {
		return nil
	}
	for _, s := range c.Steps {
		for _, q := range s.Quarantine {
			at := slices.IndexFunc(out, func(r QuarantineRow) bool { return q.equal(r.Quarantine) })
			if at < 0 {
				at = len(out)
				out = append(out, QuarantineRow{Quarantine: q, Over: !q.Counts(now)})
			}
			out[at].Steps = append(out[at].Steps, s.Name)
		}
	}
	return out
}

// String is the entry in words: its targets, its last day and its reason.
func (q Quarantine) String() string {
	text := strings.Join(q.Targets, ", ")
	if q.Until != "" {
		text += " until " + q.Until
	}
	if q.Reason != "" {
		text += " (" + q.Reason + ")"
	}
	return text
}

// quarantineFields are the fields that the entries add to the digest; none without entries.
func (s Step) quarantineFields() []string {
	if len(s.Quarantine) == 0 {
		return nil
	}
	fields := []string{"quarantine1", strconv.Itoa(len(s.Quarantine))}
	for _, q := range s.Quarantine {
		fields = append(fields, strconv.Itoa(len(q.Targets)))
		fields = append(append(fields, q.Targets...), q.Until, q.Reason)
	}
	return fields
}

// quarantineDefaults adds the entries of the file to those of the step.
func (s *Step) quarantineDefaults(all []Quarantine) {
	if s.Scope == ScopeRepository {
		return
	}
	for _, q := range all {
		if !slices.ContainsFunc(s.Quarantine, q.equal) {
			s.Quarantine = append(slices.Clip(s.Quarantine), q)
		}
	}
}

// checkQuarantine reports what is wrong with entries at a path. whole: they are of a step
// that has no targets.
func checkQuarantine(d *document, path string, list []Quarantine, whole bool) {
	for i, q := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if _, err := time.Parse(time.DateOnly, q.Until); err != nil && q.Until != "" && !d.refused[at+".until"] {
			d.report(at+".until", "%s.until is %s, and there is no such day: write one such as 2026-12-31", at, quoted(q.Until))
		}
		for j, g := range q.Targets {
			sub := fmt.Sprintf("%s.targets[%d]", at, j)
			switch {
			case !d.glob(sub, g):
			case whole && g != TargetTree:
				d.report(sub, "%s is %s, and the step has no targets: write %q, which is the whole step", sub, quoted(g), TargetTree)
			case !whole && undivided(g):
				d.report(sub, "%s is %s, which stands for files that no analyzer tells apart: name targets", sub, quoted(g))
			case !doublestar.ValidatePattern(g):
				d.report(sub, "%s is %s, which is not a valid glob", sub, quoted(g))
			}
		}
	}
}

// checkQuarantineGuarded refuses entries in a file that anybody may change.
func checkQuarantineGuarded(d *document, c *Config) {
	const at = "permissions.protected_paths"
	some := len(c.Quarantine) > 0 || slices.ContainsFunc(c.Steps, func(s Step) bool { return len(s.Quarantine) > 0 })
	if list := c.Permissions.Protected; some && len(list) > 0 && !slices.ContainsFunc(list, func(g string) bool { return doublestar.MatchUnvalidated(g, Path) }) {
		d.report(at, "%s leaves out %s, and the file has a quarantine, which administrators decide: add %q to the list", at, Path, Path)
	}
}
