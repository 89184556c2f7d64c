package config

import (
	"maps"
	"time"
)

// DefaultRetries is Rules.Retries where the file does not say it: no change is
// rejected for a failure that has happened once.
const DefaultRetries = 1

// defaultTimeout is Step.Timeout where the file does not say it.
const defaultTimeout = time.Hour

// DefaultHeadWait is Rules.HeadWait where the file does not say it: GitHub takes note of a
// push within seconds.
const DefaultHeadWait = 15 * time.Second

// DefaultProtected returns the globs of paths that need an administrator's
// approval where the configuration names none.
func DefaultProtected() []string {
	return []string{".github/**", ".gitlab-ci.yml", Path, "CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS"}
}

// Defaults fills in the documented default of each field that is not set. Rules.External
// stays empty: its default depends on the branch's protection. Rules.Retries stays as it
// is: 0 is a value with a meaning.
func (c *Config) Defaults() {
	for i := range c.Steps {
		s := &c.Steps[i]
		orDefault(&s.Scope, ScopeTargets)
		orDefault(&s.Report, ReportExitCode)
		orDefault(&s.Timeout, defaultTimeout)
		s.checkDefaults()
		if !s.ByForge() {
			orDefault(&s.Environment, c.Environment)
			s.envDefaults(c.Env)
			s.quarantineDefaults(c.Quarantine)
			orDefault(&s.Checkout.Submodules, c.Checkout.Submodules)
			orDefault(&s.Checkout.LFS, c.Checkout.LFS)
			orDefault(&s.Checkout.Depth, c.Checkout.Depth)
		}
	}
	if len(c.Analysis.Analyzers) == 0 {
		orDefault(&c.Analysis.Analyzer, AnalyzerNone)
	}
	c.partDefaults()
	orDefault(&c.Analysis.Unowned, UnownedAll)
	q := &c.Queue
	orDefault(&q.Label, "land")
	orDefault(&q.Order, OrderFinish)
	orDefault(&q.Method, MethodMerge)
	orDefault(&q.Intermediate, IntermediateVerify)
	orDefault(&q.Head, HeadMove)
	orDefault(&q.MergeAPI, MergeAPIOff)
	orDefault(&q.HeadWait, DefaultHeadWait)
	orDefault(&q.InfraRetries, 3)
	orDefault(&q.BuildsPerChange, 20)
	orDefault(&q.MaxOvertake, 4*time.Hour)
	orDefault(&q.VerifyMain, "24h")
	orDefault(&q.RedMain.Revert, RevertPrepare)
	orDefault(&q.Margin, 0.4)
	orDefault(&q.LaneMaxWait, 2*time.Hour)
	orDefault(&q.RequireChecks, ChecksWait)
	orDefault(&q.RequireResolved, ResolveAuto)
	orDefault(&q.ParkedLimit, 168*time.Hour)
	orDefault(&q.Threshold, 0.3)
	orDefault(&q.Spare, SpareAuto)
	orDefault(&q.Checkbox, CheckboxOn)
	orDefault(&q.Assignment, AssignmentOn)
	orDefault(&q.Batch, BatchOff)
	orDefault(&q.BatchMax, DefaultBatchMax)
	orDefault(&c.Permissions.Land, "write")
	orDefault(&c.Permissions.Queue, "maintain")
	if len(c.Permissions.Protected) == 0 {
		c.Permissions.Protected = DefaultProtected()
	}
	c.laneDefaults()
}

// envDefaults adds the variables of the file that the step does not set.
func (s *Step) envDefaults(all map[string]string) {
	if len(all) == 0 {
		return
	}
	env := maps.Clone(all)
	maps.Copy(env, s.Env)
	s.Env = env
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
