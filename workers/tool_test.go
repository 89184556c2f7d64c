package workers

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// A command that cannot be run is said to be so, of whatever step, and is no failure of
// what it was asked for: another runner may have it. A command that ends by itself is
// what it ends with.
func TestCommandThatCannotBeRun(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	r := slot(t, tree{"plain": "text"})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		type way struct {
			run  string
			tool bool
		}
		w := rapid.SampledFrom([]way{
			{"true", false}, {"exit 1", false}, {"false", false}, {"exit 125", false}, {"no-such-command-here || exit 2", false},
			{"no-such-command-here", true}, {"./plain", true}, {"exit 126", true}, {"exit 127", true}, {"sh -c no-such-command-here", true},
		}).Draw(rt, "command")
		s := step(fmt.Sprintf(rapid.SampledFrom([]string{"%s", "true && %s", "(%s)", "set -e; %s"}).Draw(rt, "in"), w.run))
		s.Scope = rapid.SampledFrom([]config.Scope{config.ScopeTargets, config.ScopeRepository}).Draw(rt, "scope")
		n++
		b := build(fmt.Sprint("b", n), job(s, "./a"))
		done := execute(t.Context(), r, b).jobs[0]
		if done.Tool != w.tool || w.tool != (done.Outcome == queue.JobInfra) {
			rt.Fatalf("%q ends as %s, and that it could not be run is said to be %t", s.Run, done.Outcome, done.Tool)
		}
		if !w.tool && (done.Outcome == queue.JobPassed) != (w.run == "true") {
			rt.Fatalf("%q ends as %s", s.Run, done.Outcome)
		}
	})
}
