package derived

import (
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// sampled is the number of a change's targets for which the history is looked at;
// they are drawn evenly.
const sampled = 500

// Directories returns the directories that a footprint's files are in, each once, in
// order; "" is the root. A footprint of very many files names folders instead of files.
func Directories(f *queue.Footprint) []string {
	dirs := make([]string, 0, len(f.Paths))
	for _, p := range f.Paths {
		d := path.Dir(p)
		if d == "." {
			d = ""
		}
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Case returns the present facts of a change, for models. It looks at some hundred
// targets, so call it when something has happened to the change, and not for each plan.
func (fs *Beliefs) Case(ch *queue.Change) *predict.Case {
	c := fs.Story(ch)
	if _, ranked := fs.Order.Rank[ch.ID]; ranked {
		c.Height = float64(len(fs.Order.Ahead(ch.ID)))
	}
	return c
}

// Story is Case without the place in the order, which may be out of date in the middle of a
// turn. It looks only at the state.
func (fs *Beliefs) Story(ch *queue.Change) *predict.Case {
	c := predict.NewCase()
	fs.described(c, ch)
	fs.analyzed(c, ch)
	fs.written(c, ch)
	c.BuildsPassed, c.BuildsFailed = float64(ch.Green), float64(ch.Red)
	c.MainPassed = predict.MainRate(fs.s.Learned.Main)
	c.QueueFailing = float64(fs.s.Learned.Failing)
	if f := fs.s.Footprints[ch.ID]; f != nil && fs.s.Main.Config != nil {
		c.Estimate = fs.estimate(f).Seconds()
	}
	return c
}

// described fills in the forge's facts of its pull request.
func (fs *Beliefs) described(c *predict.Case, ch *queue.Change) {
	f := ch.Facets
	if f == nil {
		return
	}
	c.Commits, c.Files = counted(f.Commits), counted(f.Files)
	c.LinesAdded, c.LinesRemoved = counted(f.Added), counted(f.Removed)
	c.Approvals = counted(f.Approvals)
	c.Revert, c.TestPlan = flagged(f.Revert), flagged(f.Plan)
	c.Attempts, c.Pushes = float64(f.Attempts), float64(f.Pushes)
	if f.Checks != nil {
		c.ChecksPassed, c.ChecksFailed, c.ChecksPending = float64(f.Checks.Passed), float64(f.Checks.Failed), float64(f.Checks.Pending)
	}
	if f.Opened != 0 {
		c.OpenHours = hours(ch.Arrival.Sub(f.Opened))
	}
}

// analyzed fills in the result of its analysis and the history of its targets. The
// analysis is of the merge, so it overrides the forge's facts.
func (fs *Beliefs) analyzed(c *predict.Case, ch *queue.Change) {
	f, t := fs.s.Footprints[ch.ID], ch.Touches
	if f == nil && t == (queue.Touches{}) {
		return // not yet
	}
	c.Everything, c.Graph = flag(t.All), flag(t.Graph)
	if t.Unknown == "" {
		c.Affected, c.NewTargets, c.GoneTargets = float64(t.Targets), float64(t.Added), float64(t.Gone)
	}
	if t.Files > 0 || t.Unknown == "" {
		c.Files, c.Dirs = float64(t.Files), float64(t.Dirs)
		c.BuildFiles, c.TestFiles = float64(t.Extent.Builds), float64(t.Extent.Tests)
	}
	if e := t.Extent; e.Counted {
		c.LinesAdded, c.LinesRemoved, c.Hunks, c.Binaries = float64(e.Lines), float64(e.Dropped), float64(e.Hunks), float64(e.Binaries)
	}
	if e := t.Extent; e.Placed {
		c.Commits, c.Behind = float64(e.Commits), float64(e.Behind)
	}
	if f != nil {
		fs.targets(c, f)
	}
}

// targets fills in the recent results of its targets.
func (fs *Beliefs) targets(c *predict.Case, f *queue.Footprint) {
	if fs.s.Main.Config == nil || len(f.Affected) == 0 {
		return
	}
	known, red := 0, 0
	failed, flaked := 0.0, 0.0
	n := len(f.Affected)
	for i := range min(n, sampled) {
		target := f.Affected[i*n/min(n, sampled)]
		seen, bad := false, false
		for _, s := range fs.s.Main.Config.Steps {
			if s.Scope == config.ScopeRepository {
				continue
			}
			if d := fs.s.Durations[DurationID(s.Name, target)]; d != nil {
				seen, bad = true, bad || d.Red
				failed, flaked = max(failed, d.Failed), max(flaked, d.Flaked)
			}
		}
		if seen {
			known++
		}
		if bad {
			red++
		}
	}
	if known > 0 {
		c.TargetsFailed, c.TargetsFlaked, c.TargetsRed = failed, flaked, float64(red)/float64(known)
	}
}

// written fills in the records of its author and of all changes.
func (fs *Beliefs) written(c *predict.Case, ch *queue.Change) {
	everybody := predict.GoodRate(fs.s.Learned.Good, float64(predict.Default))
	c.QueueSuccess = everybody
	if ch.Author == "" {
		return
	}
	a := fs.s.Authors[ch.Author]
	c.AuthorSuccess = predict.AuthorSuccess(a, everybody)
	c.AuthorChanges, c.AuthorDays = 0, 0
	if a != nil {
		c.AuthorChanges, c.AuthorDays = float64(a.Changes), hours(fs.Now.Sub(a.Since))/24
	}
	if f := fs.s.Footprints[ch.ID]; f != nil {
		c.AuthorPaths = predict.AuthorPaths(a, Directories(f), fs.Now)
	}
}

// PairCase returns the present facts of two changes. It is the same in either order.
func (fs *Beliefs) PairCase(a, b *queue.Change) *predict.PairCase {
	c := predict.NewPairCase()
	if a.Author != "" && b.Author != "" {
		c.SameAuthor = flag(strings.EqualFold(a.Author, b.Author))
	}
	c.GapHours = math.Abs(hours(a.Arrival.Sub(b.Arrival)))
	c.OverlapHours = max(0, hours(min(fs.until(a), fs.until(b)).Sub(max(a.Arrival, b.Arrival))))
	f, g := fs.s.Footprints[a.ID], fs.s.Footprints[b.ID]
	if f == nil || g == nil {
		return c
	}
	if !f.All && !g.All {
		shared := common(f.Affected, g.Affected)
		c.SharedTargets = float64(shared)
		if least := min(len(f.Affected), len(g.Affected)); least > 0 {
			c.SharedShare = float64(shared) / float64(least)
		}
	}
	dirs, others := Directories(f), Directories(g)
	c.SharedDirs = float64(common(dirs, others))
	if len(dirs) <= predict.WideChange && len(others) <= predict.WideChange {
		c.CoChange = predict.CoChange(dirs, others, func(d string) *queue.Area { return fs.s.Areas[d] })
	}
	return c
}

// until returns when a change has ended, or now.
func (fs *Beliefs) until(ch *queue.Change) queue.Instant {
	if ch.Phase.Final() {
		return ch.Decided
	}
	return fs.Now
}

// common counts the names that two sorted lists have in common.
func common(a, b []string) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

func counted(n *int) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

func flagged(is *bool) float64 {
	if is == nil {
		return math.NaN()
	}
	return flag(*is)
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func hours(d time.Duration) float64 { return d.Hours() }
