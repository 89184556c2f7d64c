package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Counts is what a pass of a step's checks counts for.
type Counts string

// A pass can count for these keys.
const (
	CountsAsked Counts = "asked" // the keys that the build was asked for
	CountsTree  Counts = "tree"  // every key of the step on the commit
)

// DefaultAppear is how long a check may take to appear on a commit.
const DefaultAppear = 10 * time.Minute

// ByForge reports whether the step is verified by the forge's own CI.
func (s Step) ByForge() bool { return len(s.Checks) > 0 }

// A pass on the pull request's own head is taken in one of these ways.
const (
	EarlierIgnore = "ignore"
	EarlierCount  = "count"
)

// CountsEarlier reports whether a pass on the pull request's own head counts.
func (s Step) CountsEarlier() bool { return s.ByForge() && s.Earlier == EarlierCount }

// Command says for people what the step is: its command, or its checks.
func (s Step) Command() string {
	if !s.ByForge() {
		return s.Run
	}
	names := make([]string, len(s.Checks))
	for i, c := range s.Checks {
		names[i] = c.String()
	}
	return "checks: " + strings.Join(names, ", ")
}

func (s *Step) checkDefaults() {
	if s.ByForge() {
		orDefault(&s.Counts, CountsAsked)
		orDefault(&s.Appear, DefaultAppear)
	}
}

// checkFields adds the settings of a step with checks to the fields of its
// digest. The order of the checks and the case of their letters mean nothing.
// Steps that name no App keep their passes.
func (s Step) checkFields(fields []string) []string {
	if fields[0] == "step1" {
		fields = append(fields, "", "") // analyzer and dir
	}
	fields[0] = "step3"
	s.checkDefaults()
	checks := make([]Check, len(s.Checks))
	for i, c := range s.Checks {
		checks[i] = Check{strings.ToLower(c.Name), strings.ToLower(c.App)}
	}
	slices.SortFunc(checks, func(a, b Check) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.App, b.App)) })
	if s.Earlier != "" && s.Earlier != EarlierIgnore {
		fields = append(fields, s.Earlier)
	}
	fields = append(fields, string(s.Counts), strconv.FormatInt(int64(s.Appear), 10), strconv.Itoa(s.Rerun), strconv.Itoa(len(checks)))
	for _, c := range checks {
		fields = append(fields, c.Name)
	}
	if slices.ContainsFunc(checks, func(c Check) bool { return c.App != "" }) {
		fields[0] = "step4"
		for _, c := range checks {
			fields = append(fields, c.App)
		}
	}
	return fields
}
