package speculation

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// row puts a line into the event archive.
func (c *Core) row(r queue.Row) {
	r.At = c.facts.Now
	c.turn.Rows = append(c.turn.Rows, r)
}

// rowArrival tells of a change that was analyzed for the first time.
func (c *Core) rowArrival(ch *queue.Change, f *queue.Footprint) {
	r := queue.NewArrivalRow(ch, f)
	r.Features = c.featuresOf(ch)
	c.row(queue.Row{Arrival: r})
}

// rowVerdict tells of a change that has ended.
func (c *Core) rowVerdict(ch *queue.Change) {
	r := queue.NewVerdictRow(ch)
	r.Features = c.featuresOf(ch)
	if ch.Reason.Code == queue.ReasonFailed {
		r.Sound = c.facts.Beliefs.Good(ch.ID)
	}
	c.row(queue.Row{Verdict: r})
}

// rowResult tells the result of a job of a build.
func (c *Core) rowResult(j *queue.Job, d queue.JobDone) {
	unnamed := j.Step.Report == config.ReportExitCode || j.Step.Report == ""
	c.row(queue.Row{Result: queue.NewResultRow(j, d, j.Step.Scope == config.ScopeRepository, unnamed)})
}

// rowBuild tells of a build that has ended.
func (c *Core) rowBuild(b *queue.Build, outcome queue.JobOutcome) {
	c.row(queue.Row{Build: queue.NewBuildRow(b, outcome)})
}

// rowMain tells of a new commit of main, by a push of ours or not.
func (c *Core) rowMain(commit queue.CommitID, ours bool, changes []queue.ChangeID) {
	c.row(queue.Row{Main: &queue.MainRow{Commit: commit, Changes: changes, Outside: !ours}})
}

// landedAs returns the changes that have landed as a commit of main, sorted.
func (c *Core) landedAs(commit queue.CommitID) (ids []queue.ChangeID) {
	for _, id := range derived.Sorted(c.s.Changes) {
		if ch := c.s.Changes[id]; ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == commit {
			ids = append(ids, id)
		}
	}
	return ids
}

// featuresOf returns the present features of a change, by the names of predict.Features,
// with its builds and infrastructure errors so far. It is nil for a change that has not
// been analyzed.
func (c *Core) featuresOf(ch *queue.Change) queue.Features {
	if ch.Virtual == 0 {
		return nil
	}
	f := queue.Features(c.facts.Beliefs.Story(ch).Known())
	f["builds"], f["infra"] = float64(ch.Course.Builds), float64(ch.Infra)
	return f
}
