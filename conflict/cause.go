package conflict

import "slices"

// CauseKind says what moved a hash.
type CauseKind string

// The kinds of cause, of which a target has the first that holds.
const (
	CauseAnalyzer   CauseKind = "analyzer"   // another analyzer, or another version of it
	CauseSettings   CauseKind = "settings"   // the settings of the analysis
	CauseBarrier    CauseKind = "barrier"    // a file that is in every hash
	CauseUnowned    CauseKind = "unowned"    // a file that no target claims, so that it is in every hash
	CauseFacts      CauseKind = "facts"      // facts that the analyzer has read and put into every hash
	CauseNew        CauseKind = "new"        // the target was not there
	CauseFile       CauseKind = "file"       // one of its files
	CauseDefinition CauseKind = "definition" // its rule: kind or attributes
	CauseDependency CauseKind = "dependency" // it gained or lost a dependency
)

// Cause is why a target has another hash than before.
type Cause struct {
	Kind CauseKind
	// Through are the nodes from the target to the one that itself changed,
	// each a dependency of the one before; the target alone when it is that one.
	Through []string
	Path    string // of the file, for CauseBarrier, CauseUnowned and CauseFile
	Mark    string // how the file or dependency differs: "added", "changed" or "removed"
	Dep     string // the dependency, for CauseDependency
}

// Causes tells why hashes moved from one tree to another.
type Causes struct {
	from, to *Description
	every    *Cause // the cause that moved all of them; nil: there is none
	own      map[string]*Cause
}

// NewCauses returns the causes of the differences between two trees.
func NewCauses(from, to *Description) *Causes {
	c := &Causes{from: from, to: to, own: map[string]*Cause{}}
	switch {
	case from.Analyzer != to.Analyzer:
		c.every = &Cause{Kind: CauseAnalyzer}
	case from.Nodes == nil || to.Nodes == nil || from.salt == to.salt:
	default:
		c.every = c.salted()
	}
	return c
}

// salted tells why the salt of two graphs differs.
func (c *Causes) salted() *Cause {
	if path, mark, ok := firstDelta(c.from.Snapshot.barrier, c.to.Snapshot.barrier); ok {
		kind := CauseBarrier
		if holds(c.from.Unowned, path) || holds(c.to.Unowned, path) {
			kind = CauseUnowned
		}
		return &Cause{Kind: kind, Path: path, Mark: mark}
	}
	if c.from.settings != c.to.settings {
		return &Cause{Kind: CauseSettings}
	}
	return &Cause{Kind: CauseFacts}
}

// Every returns the cause that moved every hash, or nil.
func (c *Causes) Every() *Cause { return c.every }

// Of returns why a target of the second tree has another hash than in the
// first, by the shortest way to a node that itself changed; nil when it has the
// same hash, or is the whole tree.
func (c *Causes) Of(target string) *Cause {
	if c.every != nil {
		return c.every
	}
	type step struct {
		name string
		back int
	}
	todo := []step{{target, -1}}
	seen := map[string]bool{target: true}
	for i := 0; i < len(todo); i++ {
		n := c.to.Node(todo[i].name)
		if n == nil {
			continue
		}
		if own := c.ownOf(n); own.Kind != "" {
			found := *own
			for at := i; at >= 0; at = todo[at].back {
				found.Through = append(found.Through, todo[at].name)
			}
			slices.Reverse(found.Through)
			return &found
		}
		for _, d := range n.Deps {
			if !seen[d] && c.moved(d) {
				seen[d] = true
				todo = append(todo, step{d, i})
			}
		}
	}
	return nil
}

// moved reports whether a node has another hash than before.
func (c *Causes) moved(name string) bool {
	from, to := c.from.Node(name), c.to.Node(name)
	return from != nil && to != nil && from.Hash != to.Hash || (from == nil) != (to == nil)
}

// ownOf returns what changed in a node's own record; no kind: nothing did.
func (c *Causes) ownOf(n *Node) *Cause {
	if known, ok := c.own[n.Name]; ok {
		return known
	}
	found := c.compare(n)
	c.own[n.Name] = &found
	return &found
}

func (c *Causes) compare(n *Node) Cause {
	old := c.from.Node(n.Name)
	if old == nil {
		return Cause{Kind: CauseNew}
	}
	if old.Hash == n.Hash {
		return Cause{}
	}
	if path, mark, ok := firstDelta(old.Sources, n.Sources); ok {
		return Cause{Kind: CauseFile, Path: path, Mark: mark}
	}
	if path, mark, ok := firstDelta(old.Inputs, n.Inputs); ok {
		return Cause{Kind: CauseFile, Path: path, Mark: mark}
	}
	if added := missing(n.Deps, old.Deps); len(added) > 0 {
		return Cause{Kind: CauseDependency, Dep: added[0], Mark: "added"}
	}
	if removed := missing(old.Deps, n.Deps); len(removed) > 0 {
		return Cause{Kind: CauseDependency, Dep: removed[0], Mark: "removed"}
	}
	if old.Kind != n.Kind || old.Attrs != n.Attrs {
		return Cause{Kind: CauseDefinition}
	}
	for _, d := range n.Deps { // a name that has become a target, or is one no more
		if (c.from.Node(d) == nil) != (c.to.Node(d) == nil) {
			mark := "added"
			if c.to.Node(d) == nil {
				mark = "removed"
			}
			return Cause{Kind: CauseDependency, Dep: d, Mark: mark}
		}
	}
	return Cause{}
}

// firstDelta returns the first file that differs between two sorted lists: one
// that changed if there is one, else one that was added or removed.
func firstDelta(from, to []Entry) (path, mark string, ok bool) {
	for len(from) > 0 || len(to) > 0 {
		found, was := "", ""
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Path < to[0].Path:
			found, was, from = from[0].Path, "removed", from[1:]
		case len(from) == 0 || to[0].Path < from[0].Path:
			found, was, to = to[0].Path, "added", to[1:]
		default:
			if from[0] != to[0] {
				return from[0].Path, "changed", true
			}
			from, to = from[1:], to[1:]
			continue
		}
		if !ok {
			path, mark, ok = found, was, true
		}
	}
	return path, mark, ok
}
