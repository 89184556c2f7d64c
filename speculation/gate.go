package speculation

import "github.com/submitqueue/submitqueue/queue"

// Gate is the only way onto main. It says whether main may move from a commit
// along a chain of links, and returns the keys that are in the way: the chain
// may be pushed if and only if the result is empty and ok is true.
//
// ok is false where the links are not a chain on main or one of them is not a
// merged commit. Each link's keys are those that its commit has and its parent
// has not, so every commit of the chain is checked, not only the last; they
// were computed from the trees of these very commits. Where a change lands as
// several commits, its link's keys are besides those that each of them has and the
// one before it has not (queue.Halfway), unless main's configuration says to skip
// these. Nor is ok where two
// neighbours were told apart by another analyzer version than the lower one has
// been proven under, by for main: the keys of two versions say nothing of each
// other. Gate reads no plan, no conflict, no prediction and no order.
func Gate(main queue.CommitID, by string, chain []*queue.Link, passed func(queue.Key) bool) (missing []queue.Key, ok bool) {
	at := main
	for _, l := range chain {
		if l.Parent != at || l.Before != by || l.Outcome != queue.Merged || l.Commit == "" {
			return nil, false
		}
		for _, k := range l.Keys {
			if !passed(k) {
				missing = append(missing, k)
			}
		}
		at, by = l.Commit, l.Analyzer
	}
	return missing, len(chain) > 0
}

// passed reports whether a key has passed: by the ledger, and nothing else.
func (c *Core) passed(k queue.Key) bool {
	e := c.s.Ledger[k.ID()]
	return e != nil && e.Passed != 0
}
