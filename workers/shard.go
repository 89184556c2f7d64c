package workers

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// shard is what one agent is handed: one job of a build, or some of its targets. It waits,
// runs (lease != 0) or has ended.
type shard struct {
	of    *entry
	build queue.Build     // the build with this one job
	asked []string        // its targets; nil: those of the job, which no other shard of the build has
	costs []time.Duration // the expected time of each of its targets
	work  time.Duration   // the expected time of all of them
	place int             // from 1, among the shards of the build

	lease  Lease
	agent  *member
	heard  time.Time // of the lease
	handed time.Time // to the agent
	held   bool      // by a process before this one
	told   bool      // its result was reported
	ended  bool
}

// firstFixed is the assumed fixed cost of a shard until the first one has ended: the checkout
// and the start of the tools.
const firstFixed = 5 * time.Second

// worthwhile is the least work of a shard, as a multiple of its fixed cost: with 4, at most a
// fifth of the runner time goes into fixed costs.
const worthwhile = 4

// shardsOf divides a build among at most that many agents, each step separately. A step gets
// agents in proportion to its work. fixed returns the fixed cost of a shard of a step.
func shardsOf(b queue.Build, agents int, fixed func(step string) time.Duration) []*shard {
	work := make([]time.Duration, len(b.Jobs))
	var all time.Duration
	twice := map[queue.Digest]int{}
	for i, j := range b.Jobs {
		for _, w := range expected(j) {
			work[i] += w
		}
		all += work[i]
		twice[j.Step.Digest()]++
	}
	var out []*shard
	for i, j := range b.Jobs {
		most := 1
		if all > 0 {
			most = int(float64(agents)*float64(work[i])/float64(all) + 0.5)
		}
		parts := [][]int{nil}
		costs := expected(j)
		if divisible(j) {
			parts = divide(costs, fixed(j.Step.Name), most)
		}
		for _, part := range parts {
			s := &shard{build: b, costs: costs, work: work[i]}
			own := j
			own.Expect = nil
			s.build.Jobs = []queue.Job{own}
			if part != nil {
				s = s.part(part)
			}
			if len(parts) > 1 || twice[j.Step.Digest()] > 1 {
				s.asked = s.build.Jobs[0].Targets()
			}
			out = append(out, s)
		}
	}
	for i, s := range out {
		s.place = i + 1
	}
	return out
}

// part returns a shard of some of a shard's targets, by their places. The caller sets asked.
func (s *shard) part(at []int) *shard {
	j := s.build.Jobs[0]
	own := j
	own.Keys = make([]queue.Key, len(at))
	out := &shard{of: s.of, build: s.build, costs: make([]time.Duration, len(at))}
	for n, i := range at {
		own.Keys[n], out.costs[n] = j.Keys[i], s.costs[i]
		out.work += s.costs[i]
	}
	out.build.Jobs = []queue.Job{own}
	return out
}

// divideAgain shares a shard that waits among the agents that are free by now and for which
// nothing else waits: they were busy, or not there yet, when the build came. The shard keeps
// the part with the most work; the others wait beside it. It stays whole if that would not end
// its build earlier, because a running shard has as much left to do.
func (p *Pool) divideAgain(s *shard, now time.Time) {
	j := s.build.Jobs[0]
	if !divisible(j) || len(s.costs) != len(j.Keys) { // the costs of a held shard are unknown
		return
	}
	for _, o := range s.of.shards {
		if o.lease != 0 && !o.ended && o.work-now.Sub(o.handed) >= s.work-time.Second {
			return
		}
	}
	free := 1 - len(p.waiting)
	for _, m := range p.members {
		if m.busy == nil && missing(m.agent, s.build) == "" && !p.shuns(m.agent, s) && !p.leaves(m.agent, s, now) {
			free++
		}
	}
	if free < 2 {
		return
	}
	parts := divide(s.costs, p.fixedCost(j.Step.Name), free)
	if len(parts) < 2 {
		return
	}
	first := s.part(parts[0])
	for _, part := range parts[1:] {
		other := s.part(part)
		other.asked = other.build.Jobs[0].Targets()
		s.of.shards = append(s.of.shards, other)
		s.of.open++
		other.place = len(s.of.shards)
		p.waiting = append(p.waiting, other)
	}
	s.build, s.costs, s.work, s.asked = first.build, first.costs, first.work, first.build.Jobs[0].Targets()
	p.wake()
}

// divisible reports whether a step can verify some of a job's targets without the others: its
// command must name the targets.
func divisible(j queue.Job) bool {
	return len(j.Keys) > 1 && j.Step.Scope != config.ScopeRepository &&
		(strings.Contains(j.Step.Run, "{targets}") || strings.Contains(j.Step.Run, "SUBMITQUEUE_TARGETS"))
}

// expected returns the expected times of a job's keys. If the job has none, all are the same.
func expected(j queue.Job) []time.Duration {
	if len(j.Expect) == len(j.Keys) {
		return j.Expect
	}
	return slices.Repeat([]time.Duration{time.Second}, len(j.Keys))
}

// divide puts items of known cost into bins, the longest first, each into the bin with the
// least so far (longest processing time first: Graham, Bounds on Multiprocessing Timing
// Anomalies, SIAM J. Appl. Math. 17(2), 1969: at most 4/3 of the shortest makespan). It
// takes the least number of bins, at most `most`, with the fullest within a tenth of the
// least that more bins can reach, and no more bins than are worth the fixed cost of each.
// It returns each bin's items in their order, the fullest bin first.
func divide(costs []time.Duration, fixed time.Duration, most int) [][]int {
	var total, longest time.Duration
	for _, c := range costs {
		total, longest = total+c, max(longest, c)
	}
	if fixed > 0 {
		most = min(most, int(total/(worthwhile*fixed)))
	}
	most = max(1, min(most, len(costs)))
	least := max(longest, total/time.Duration(most))
	bins := max(1, int(float64(total)/(1.1*float64(least)+1)))
	for ; ; bins++ {
		parts, fullest := packed(costs, bins)
		if bins >= most || float64(fullest) <= 1.1*float64(least) {
			return parts
		}
	}
}

// packed puts items into so many bins.
func packed(costs []time.Duration, n int) (parts [][]int, fullest time.Duration) {
	order := make([]int, len(costs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	bins := make(bins, n)
	for i := range bins {
		bins[i].at = i
	}
	for _, i := range order {
		bins[0].items, bins[0].full = append(bins[0].items, i), bins[0].full+costs[i]
		heap.Fix(&bins, 0)
	}
	slices.SortFunc(bins, func(a, b bin) int { return cmp.Or(cmp.Compare(b.full, a.full), cmp.Compare(a.at, b.at)) })
	for _, b := range bins {
		if len(b.items) > 0 {
			slices.Sort(b.items)
			parts = append(parts, b.items)
		}
	}
	return parts, bins[0].full
}

type bin struct {
	at    int
	items []int
	full  time.Duration
}

// bins is a heap with the emptiest first.
type bins []bin

func (b bins) Len() int { return len(b) }
func (b bins) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(b[i].full, b[k].full), cmp.Compare(b[i].at, b[k].at)) < 0
}
func (b bins) Swap(i, k int) { b[i], b[k] = b[k], b[i] }
func (b *bins) Push(x any)   { *b = append(*b, x.(bin)) }
func (b *bins) Pop() any     { panic("never removed") }

// heading is the line in a build's log that comes before the lines of a shard.
func (s *shard) heading() string {
	j := s.build.Jobs[0]
	what := "step " + clean(j.Step.Name)
	if s.asked != nil {
		what += ", " + some(s.asked)
	}
	if s.agent != nil {
		what += ", on " + clean(s.agent.agent.Name)
	}
	return fmt.Sprintf("[submitqueue] ---- part %d of %d: %s\n", s.place, len(s.of.shards), what)
}

// learnFixed takes in the fixed cost of a shard: the time from when the agent had it to its
// result, less the times that its report gives for targets, or less the whole run if the report
// gives none.
func (p *Pool) learnFixed(s *shard, done queue.JobDone) {
	if s.held { // no process has measured a part of its time
		return
	}
	beside := s.heard.Sub(s.handed)
	if len(done.PerTarget) > 0 {
		for _, d := range done.PerTarget {
			beside -= d
		}
	} else {
		beside -= done.Took
	}
	step := s.build.Jobs[0].Step.Name
	beside = max(beside, 0)
	if known, ok := p.fixed[step]; ok {
		beside = known + (beside-known)/8
	}
	p.fixed[step] = beside
}

// fixedCost returns the cost of a shard of a step beside its targets.
func (p *Pool) fixedCost(step string) time.Duration {
	if d, ok := p.fixed[step]; ok {
		return d
	}
	return firstFixed
}
