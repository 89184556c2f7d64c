package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// A run counts at the time when it ran, not when the queue hears of it. After turns
// were lost, a build that had run before is asked for again, and its runner repeats
// the old result. Since then, a failure may have healed, a pass may have been
// forgotten, or the key may have failed.
//
// The times are by the clock of the server that had the build run, or by the forge's
// clock, corrected by its offset; no runner gives them. A time in the future, or at which
// the build cannot have run, is not believed: the run is taken to end now. The queue's
// own knowledge bounds such times: a pass proves nothing for a time after its build
// began, and a control must be younger than that.

// oldestRun is how long before its build was asked for a run may have been: older
// runs are not kept.
const oldestRun = queue.ArchiveTTL

// span is when a run was.
type span struct{ began, ended queue.Instant }

// ranIn returns when a job was run, as far as that is known.
func (c *judging) ranIn(b *queue.Build, r queue.JobDone) span {
	s := span{began(b), c.facts.Now}
	if r.Ended != 0 && r.Ended >= b.At.Add(-oldestRun) {
		s.ended = min(r.Ended, c.facts.Now)
	}
	if r.Began >= b.At.Add(-oldestRun) && r.Began <= s.ended && r.Ended != 0 {
		s.began = r.Began
	}
	return s
}

// passBegan returns when a run that has passed began at the latest: a control must not
// be younger than it was.
func (s span) passBegan(b *queue.Build) queue.Instant { return min(s.began, s.ended, began(b)) }

// failureBegan returns when a run that has failed began at the earliest: a control has
// begun since.
func (s span) failureBegan(b *queue.Build) queue.Instant { return max(s.began, began(b)) }

// tooOld reports whether a pass no longer counts for its key: passes of the key were
// forgotten after the run, or main was seen to fail it after the run.
func (c *judging) tooOld(k queue.Key, s shown) bool {
	if by := c.s.Main.Forgotten; len(by) > 0 && queue.Covered(by, k, s.step.Name, min(s.asked, s.began, s.ended)) {
		return true
	}
	id := k.ID()
	return slices.ContainsFunc(c.s.Main.Drift, func(d queue.Drift) bool { return d.Key == id && s.ended < d.Bad })
}
