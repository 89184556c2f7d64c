package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Whole reports whether a build is of steps on the whole tree only.
func (b *LiveBuild) Whole() bool {
	return !slices.ContainsFunc(b.Jobs, func(j queue.Job) bool { return j.Step.Scope != config.ScopeRepository })
}
