package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// failedOn returns the hosts on which some of the given keys have failed, alone or
// with others, and not passed since, and the hosts on which builds of them brought no
// result. One more failure on such a host would show less than a failure elsewhere.
func (c *benching) failedOn(keys []queue.Key) []string {
	var hosts []string
	seen := map[queue.Digest]bool{}
	add := func(id queue.Digest) {
		e := c.s.Ledger[id]
		if e == nil || seen[id] {
			return
		}
		seen[id] = true
		if e = derived.Filtered(e, func(f queue.Failure) bool { return f.At > e.Good() }); e != nil {
			hosts = append(hosts, e.FailedOn(c.facts.Now)...)
		}
	}
	for _, k := range keys {
		id := k.ID()
		add(id)
		for _, set := range c.facts.Ledger.Sets[id] {
			add(set)
		}
	}
	ids := map[queue.Digest]bool{}
	for _, k := range keys {
		ids[k.ID()] = true
	}
	for name, h := range c.s.Hosts {
		if h.Doubts(ids) {
			hosts = append(hosts, name)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
