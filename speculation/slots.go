package speculation

import (
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
)

// buildID names the next build of a link. A link that was forgotten and made
// again counts its attempts anew; the time tells the two apart. What is asked for after
// passes of its keys were taken back is told by that from the same build of before,
// which turns that were lost had asked for: those who ran that one would say again what
// it has shown.
func (c *landing) buildID(l *queue.Link, keys []queue.Key) queue.BuildID {
	made := string(l.ID) + "@" + strconv.FormatInt(int64(l.At), 10)
	var back queue.Instant
	for _, f := range c.s.Main.Forgotten {
		if slices.ContainsFunc(keys, func(k queue.Key) bool {
			st, _ := c.facts.Links.Step(l, k)
			return f.Covers(k, st.Name)
		}) {
			back = max(back, f.At)
		}
	}
	if back != 0 {
		made += "@" + strconv.FormatInt(int64(back), 10)
	}
	return queue.NewBuildID(queue.LinkID(made), keys, l.Attempts)
}
