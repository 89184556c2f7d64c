package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// forecastDepth is how many changes of the order have a forecast: what is
// farther back depends on too much.
const forecastDepth = 100

// forecast returns when the first changes of the order should have their
// verdicts, as far as the durations seen so far tell: their builds under way or
// yet to get a slot, and whatever is ahead. It has none while nothing can land,
// none for steps that have hardly been seen, and none behind a build that takes
// longer than it ever has. It is for people and decides nothing.
func (c *telling) forecast() map[queue.ChangeID]queue.Forecast {
	if c.forecasts == nil {
		c.forecasts = c.foresee()
	}
	return c.forecasts
}

func (c *telling) foresee() map[queue.ChangeID]queue.Forecast {
	out := map[queue.ChangeID]queue.Forecast{}
	if m := c.s.Main; m.Tip == "" || m.Config == nil || m.Paused != nil || c.s.Slots == 0 ||
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
		span, _ := c.span(b)
		free := span.Late
		if free < c.facts.Now {
			free = c.facts.Now.Add(c.facts.Now.Sub(b.Started) / 2) // what is late tends to stay so
		}
		slots = append(slots, free)
	}
	for len(slots) < c.s.Slots {
		slots = append(slots, c.facts.Now)
	}
	for _, id := range c.facts.Order.IDs[:min(len(c.facts.Order.IDs), forecastDepth)] {
		f, again, ok := c.own(id, builds[id], slots)
		for _, a := range c.facts.Order.FirstAhead(id) {
			before, known := out[a]
			ok = ok && known && before.Late >= c.facts.Now
			f.Early, f.Late = max(f.Early, before.Early), max(f.Late, before.Late)
		}
		if len(c.facts.Order.FirstAhead(id)) > 0 && !c.facts.Futures.Verified[id] {
			f.Late = f.Late.Add(again) // one of them may fail, and then it is built anew
		}
		if ok {
			out[id] = f
		}
	}
	return out
}

// own predicts when a change's own builds are done, and how long one more would
// take. A change without one takes the first slot that comes free.
func (c *telling) own(id queue.ChangeID, builds []*queue.Build, slots []queue.Instant) (f queue.Forecast, again time.Duration, ok bool) {
	if c.facts.Futures.Verified[id] {
		return queue.Forecast{Early: c.facts.Now, Late: c.facts.Now.Add(landingTime)}, 0, true
	}
	if len(builds) == 0 {
		took, seen := c.foreseeBuild(id)
		next := slices.Index(slots, slices.Min(slots))
		start := max(slots[next], c.facts.Now)
		slots[next] = start.Add(took)
		return queue.Forecast{Early: start.Add(took * 3 / 4), Late: start.Add(took*3/2 + landingTime)}, took, seen
	}
	ok = true
	for _, b := range builds {
		span, seen := c.span(b)
		ok = ok && seen
		again = max(again, span.Usual)
		if f.Late == 0 || span.Early < f.Early {
			f.Early = span.Early
		}
		if span.Late > f.Late {
			f.Late, f.Usual = span.Late, span.Usual
		}
	}
	return f, again, ok
}

// landingTime is about how long a push takes.
const landingTime = 3 * time.Second

// span predicts when a build ends; seen is false where it asks for steps and
// targets that have mostly never been run.
func (c *telling) span(b *queue.Build) (f queue.Forecast, seen bool) {
	from := b.Started
	if from == 0 {
		from = c.facts.Now
	}
	keys, known := 0, 0
	for _, j := range b.Jobs {
		for _, k := range j.Keys {
			keys++
			if c.s.Durations[derived.DurationID(j.Step.Name, k.Target)] != nil {
				known++
			}
		}
	}
	f.Usual = c.facts.Builds.PredictBuild(b)
	f.Early, f.Late = from.Add(f.Usual*3/4), from.Add(f.Usual*3/2+landingTime)
	return f, 2*known >= keys && keys > 0
}

// foreseeBuild predicts how long a build of a change takes that is yet to be
// asked for.
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
			if c.s.Durations[derived.DurationID(s.Name, t)] != nil {
				known++
			}
		}
	}
	return c.facts.Beliefs.Predict(c.s.Changes[id], f), 2*known >= keys && keys > 0
}

// ranOn says on what a build runs.
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
