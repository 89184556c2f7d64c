package speculation

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// forecastDepth is how many changes of the order have a forecast: a change farther back
// depends on too much.
const forecastDepth = 100

// foreseen is the distribution of the time until a verdict, in seconds.
type foreseen struct {
	left predict.Dist
	base [3]float64 // quantiles of the same time if nothing is built once more
	lead []float64  // as in queue.Promise
	queue.Forecast
	proven bool // all that is left is the push
}

// Forecasts returns when the first changes of the order should have their verdicts, as
// View says of each. The result is the caller's.
func (c *Core) Forecasts() map[queue.ChangeID]queue.Forecast { return maps.Clone(c.telling.forecast()) }

// forecast returns when the first changes of the order should have their
// verdicts. Four of five verdicts should come between Early and Late, by the present
// builds and by how far off forecasts have been so far. There is no forecast while
// nothing can land, for steps that have hardly been seen, or behind a build that takes
// longer than it ever should. It is for people and decides nothing.
func (c *telling) forecast() map[queue.ChangeID]queue.Forecast {
	if c.forecasts == nil {
		c.forecasts = map[queue.ChangeID]queue.Forecast{}
		foresight := c.foresight()
		for id, f := range c.foresee() {
			c.forecasts[id] = c.interval(foresight, f)
		}
	}
	return c.forecasts
}

// interval sets the ends of a forecast by the queue's own record of past forecasts.
func (c *telling) interval(foresight *predict.Foresight, f foreseen) queue.Forecast {
	if f.proven || f.Late != 0 {
		return f.Forecast
	}
	expected := foresight.Median(f.lead).Seconds()
	low, high := foresight.Ends(f.left.Sigma)
	at := func(log float64) queue.Instant { return c.facts.Now.Add(c.secondsOf(expected * math.Exp(log))) }
	f.Early, f.Late = at(low), at(high)
	return f.Forecast
}

// secondsOf is a duration of so many seconds, within bounds.
func (*telling) secondsOf(seconds float64) time.Duration {
	return time.Duration(min(seconds, predict.Longest.Seconds()) * float64(time.Second))
}

// standsStill reports whether nothing lands until somebody does something about it, or until a moment
// that has nothing to do with builds: landings are paused, or the repository is out of reach.
func (c *telling) standsStill() bool { return c.s.Main.Paused != nil || c.s.Main.Away != "" }

// foresee goes through the order. A change is decided when its own builds are over and
// the changes ahead of it are decided. If one of these does not land, it is decided one
// build later.
func (c *telling) foresee() map[queue.ChangeID]foreseen {
	out := map[queue.ChangeID]foreseen{}
	if m := c.s.Main; m.Tip == "" || m.Config == nil || c.standsStill() || c.facts.Changing() || c.s.Slots == 0 ||
		c.facts.External() == config.ExternalHold && !c.facts.ProvenMain() {
		return out
	}
	builds := map[queue.ChangeID][]*queue.Build{}
	slots := make([]queue.Instant, 0, c.s.Slots) // when each comes free
	for _, id := range derived.Sorted(c.s.Builds) {
		b := c.s.Builds[id]
		if b.Cancel {
			slots = append(slots, c.facts.Now)
			continue
		}
		for _, at := range b.For() {
			builds[at] = append(builds[at], b)
		}
		slots = append(slots, c.facts.Builds.Expected(b))
	}
	for len(slots) < c.s.Slots {
		slots = append(slots, c.facts.Now)
	}
	for place, id := range c.facts.Order.IDs[:min(len(c.facts.Order.IDs), forecastDepth)] {
		f, again, ok := c.own(id, builds[id], slots)
		ahead := c.facts.Order.FirstAhead(id)
		var before [3]float64 // quantiles of the time until all changes ahead are decided
		hold, open := 1.0, 0
		for _, a := range ahead {
			x, known := out[a]
			if ok = ok && known && (x.Late == 0 || x.Late >= c.facts.Now); !ok {
				break
			}
			for i := range spanLevels {
				before[i] = max(before[i], x.base[i])
			}
			if !c.facts.Futures.Verified[a] {
				hold *= c.facts.Beliefs.Good(a)
				open++
			}
		}
		if !ok {
			continue
		}
		for i, q := range spanLevels {
			f.base[i] = max(before[i], f.left.Quantile(q))
		}
		if len(ahead) > 0 && f.Late == 0 {
			f = behind(f, before, again, hold, c.facts.Futures.Verified[id])
		}
		f.lead = predict.Lead(c.secondsOf(math.Exp(f.left.Mu)), open, place, c.facts.Now.Sub(c.s.Changes[id].Arrival))
		out[id] = f
	}
	return out
}

// spanLevels are the quantiles by which a distribution is made from other
// distributions.
var spanLevels = [3]float64{0.1, 0.5, 0.9}

// spread is how many deviations lie between the first and the last of spanLevels.
const spread = 2.563

// leastSpread keeps a forecast from being certain.
const leastSpread = 0.1

// fitted is the LogNormal with the given quantiles at spanLevels, in seconds.
func fitted(q [3]float64) predict.Dist {
	mu := math.Log(max(q[1], 1))
	sigma := (math.Log(max(q[2], 1)) - math.Log(max(q[0], 1))) / spread
	return predict.Dist{Mu: mu, Sigma: min(max(sigma, leastSpread), 3)}
}

// behind turns the forecast of a change's own builds into one that also waits for the
// changes ahead. With chance hold these all land and its builds count; else it is built
// once more.
func behind(f foreseen, before [3]float64, again predict.Dist, hold float64, verified bool) foreseen {
	var first, second [3]float64
	for i, q := range spanLevels {
		first[i] = max(before[i], f.left.Quantile(q))
		second[i] = before[i] + again.Quantile(q)
	}
	if f.proven = false; verified {
		hold = 1 // it lands as soon as it may
	}
	a, b := fitted(first), fitted(second)
	var q [3]float64
	for i, level := range spanLevels {
		low, high := a.Mu-4*a.Sigma, b.Mu+4*b.Sigma
		high = max(high, a.Mu+4*a.Sigma)
		for range 30 {
			at := (low + high) / 2
			if t := math.Exp(at); hold*a.CDF(t)+(1-hold)*b.CDF(t) < level {
				low = at
			} else {
				high = at
			}
		}
		q[i] = math.Exp((low + high) / 2)
	}
	f.left = fitted(q)
	return f
}

// own predicts when a change's own builds are done, and how long one more would
// take. A change without one takes the first slot that comes free.
func (c *telling) own(id queue.ChangeID, builds []*queue.Build, slots []queue.Instant) (f foreseen, again predict.Dist, ok bool) {
	if c.facts.Futures.Verified[id] {
		f.proven, f.left = true, predict.Dist{Sigma: leastSpread}
		f.Early, f.Late = c.facts.Now, c.facts.Now.Add(landingTime)
		if len(c.facts.Order.FirstAhead(id)) > 0 {
			f.Forecast = queue.Forecast{}
		}
		return f, again, true
	}
	took, seen := c.foreseeBuild(id)
	again = c.lasting(took)
	if len(builds) == 0 {
		next := slices.Index(slots, slices.Min(slots))
		start := max(slots[next], c.facts.Now)
		slots[next] = start.Add(took)
		var q [3]float64
		for i, level := range spanLevels {
			q[i] = start.Sub(c.facts.Now).Seconds() + again.Quantile(level)
		}
		f.left = fitted(q)
		return f, again, seen
	}
	ok = true
	var longest [3]float64
	for _, b := range builds {
		span, seen := c.span(b)
		ok = ok && seen
		elapsed := max(c.facts.Now.Sub(span.from).Seconds(), 0)
		if late := span.took.Quantile(overdue); elapsed > late {
			f.Late, f.Usual = span.from.Add(time.Duration(late*float64(time.Second))), span.usual
			f.Early = f.Late
			continue
		}
		for i, level := range spanLevels {
			q := span.took.RemainingQuantile(level, elapsed)
			if i == 1 && q > longest[i] {
				f.Usual = span.usual
			}
			longest[i] = max(longest[i], q)
		}
	}
	if longest[1] > 0 {
		f.Early, f.Late = 0, 0
	}
	f.left = fitted(longest)
	return f, again, ok
}

// overdue is a quantile: a build that runs for longer than this share of builds takes is
// said to take longer than it should.
const overdue = 0.95

// landingTime is about how long a push takes.
const landingTime = 3 * time.Second

// lasting is the distribution of a build's duration, in seconds.
func (c *telling) lasting(took time.Duration) predict.Dist {
	d := c.facts.Beliefs.Lasting(took)
	d.Sigma = max(d.Sigma, leastSpread)
	return d
}

// buildSpan is how long a build should take from its start.
type buildSpan struct {
	from  queue.Instant
	usual time.Duration
	took  predict.Dist
}

// span predicts how long a build takes; seen is false where it asks for steps and
// targets that have mostly never been run.
func (c *telling) span(b *queue.Build) (s buildSpan, seen bool) {
	if s.from = b.Started; s.from == 0 {
		s.from = c.facts.Now
	}
	keys, known := 0, 0
	for _, j := range b.Jobs {
		for _, k := range j.Keys {
			keys++
			if d := c.s.Durations[derived.DurationID(j.Step.Name, k.Target)]; d != nil && d.N > 0 {
				known++
			}
		}
	}
	s.usual = c.facts.Builds.PredictBuild(b)
	s.took = c.lasting(s.usual)
	return s, 2*known >= keys && keys > 0
}

// foreseeBuild predicts how long a build of a change takes that has not been asked for
// yet.
func (c *telling) foreseeBuild(id queue.ChangeID) (took time.Duration, seen bool) {
	f := c.s.Footprints[id]
	if f == nil {
		return 0, false
	}
	keys, known := 0, 0
	for _, s := range c.s.Main.Config.Steps {
		targets := f.Affected
		if s.Scope == config.ScopeRepository {
			targets = []string{config.TargetTree}
		}
		for _, t := range targets {
			if !s.Covers(t) {
				continue
			}
			keys++
			if d := c.s.Durations[derived.DurationID(s.Name, t)]; d != nil && d.N > 0 {
				known++
			}
		}
	}
	return c.facts.Beliefs.Predict(c.s.Changes[id], f), 2*known >= keys && keys > 0
}

// ranOn returns the change, the commit and the base that a build runs on.
func ranOn(b *queue.Build) queue.Ran {
	return queue.Ran{Change: b.Change, Commit: b.Commit, Main: b.Main, Chain: below(b)}
}

// below returns the changes that a build's commit holds besides its own.
func below(b *queue.Build) []queue.ChangeID {
	chain := slices.Clone(b.Chain)
	for _, id := range b.Also {
		if !slices.Contains(chain, id) {
			chain = append(chain, id) // a rollup's
		}
	}
	return chain
}

// clipRun bounds a step's command as it is kept with evidence.
func clipRun(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
