package speculation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// huntOf returns the hunt that a link was made for, or nil.
func (c *hunting) huntOf(id queue.LinkID) *queue.Hunt {
	_, hunt, ok := strings.Cut(string(id), "@hunt:")
	if !ok {
		return nil
	}
	return c.s.Hunts[hunt]
}

// probed reports whether a link belongs to a hunt that goes on.
func (c *hunting) probed(l *queue.Link) bool {
	h := c.huntOf(l.ID)
	return h != nil && h.Over == 0
}

// lostProbe takes in that a build of a hunt has brought no result.
func (c *hunting) lostProbe(h *queue.Hunt, commit queue.CommitID) {
	i := slices.IndexFunc(h.Lost, func(l queue.LostProbe) bool { return l.Commit == commit })
	if i < 0 {
		i = len(h.Lost)
		h.Lost = append(h.Lost, queue.LostProbe{Commit: commit})
	}
	h.Lost[i].Times++
	h.Retry = c.facts.Now.Add(backoff(h.Lost[i].Times - 1))
	c.touchHunt(h)
}

// makeProbeLink makes the link for the keys of all trails of a hunt on a commit of its
// line, unless there are none.
func (c *hunting) makeProbeLink(h *queue.Hunt, commit int) *queue.Link {
	at := h.Line[commit]
	id := plan.HuntLink(h, at.Commit)
	if l := c.s.Links[id]; l != nil {
		return l
	}
	l := &queue.Link{ID: id, Parent: at.Commit, Outcome: queue.Merged, Commit: at.Commit, Tree: at.Tree, Steps: at.Steps,
		At: c.facts.Now, Analyzer: h.Analyzer, Before: h.Analyzer}
	for i := range h.Trails {
		t := &h.Trails[i]
		if s := t.SpotAt(commit); s >= 0 {
			for _, k := range t.Spots[s].Keys {
				if !slices.Contains(l.Keys, k) {
					l.Keys = append(l.Keys, k)
				}
			}
		}
	}
	if len(l.Keys) == 0 || c.s.Steps[l.Steps] == nil {
		return nil
	}
	slices.SortFunc(l.Keys, func(a, b queue.Key) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Hash, b.Hash))
	})
	c.s.Links[id] = l
	c.facts.Links.IndexLink(l)
	c.touch(queue.KindLink, string(id))
	return l
}
