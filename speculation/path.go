package speculation

import (
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

func queueDuration(n int) time.Duration { return time.Duration(max(n, 1)) }

// resolveChunk bounds one action, so that the first results of a long chain
// come early.
const resolveChunk = 32

// resolve asks for the merges that this turn wanted. Of those that begin alike it asks
// for the longest, and it leaves out a chain if an action under way makes it, or begins
// with it, or makes its beginning.
func (c *landing) resolve() {
	if len(c.wants) == 0 {
		return
	}
	type named struct {
		derived.Want
		name string
	}
	var all []named
	for _, w := range c.wants {
		if len(w.Picks) > resolveChunk {
			w.Picks, w.Together = w.Picks[:resolveChunk], 0
		}
		all = append(all, named{w, w.Name()})
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	var busy []string
	for _, a := range c.s.Actions {
		if t, ok := a.Task.(queue.Resolve); ok {
			w := derived.Want{Base: t.Base, Together: t.Together}
			for _, p := range t.Picks {
				w.Picks = append(w.Picks, p.Change)
			}
			busy = append(busy, w.Name())
		}
	}
	for i, w := range all {
		if i+1 < len(all) && strings.HasPrefix(all[i+1].name, w.name) {
			continue
		}
		if slices.ContainsFunc(busy, func(b string) bool {
			return strings.HasPrefix(b, w.name) || strings.HasPrefix(w.name, b)
		}) {
			continue
		}
		picks := make([]queue.Pick, 0, len(w.Picks))
		for _, id := range w.Picks {
			picks = append(picks, pickOf(c.s.Changes[id]))
		}
		version, _ := c.mainline.versionAt(w.Base)
		c.upkeep.ask(queue.Resolve{Base: w.Base, Picks: picks, Together: w.Together, Analyzer: version, Former: c.mainline.former(), Protected: c.facts.Permissions().Protected})
	}
}
