package queue

import "slices"

// Partners are the changes that one is built or lands with. The zero Partners:
// it is on its own.
type Partners struct {
	Rollup []ChangeID // the changes with which it is to land, or has landed, in one merge
	Shares []ChangeID // others that its live builds are for, too; each lands on its own
}

// None reports whether there are no partners.
func (p Partners) None() bool { return len(p.Rollup)+len(p.Shares) == 0 }

// Partners returns the changes with which the change is built or lands, each
// once. A parked change has none. A change that has ended has none either,
// unless it landed in one merge with others. A build that is being stopped
// makes no partners.
func (v View) Partners() Partners {
	switch {
	case v.Change.Phase == Landed && v.Change.Verdict != nil:
		return Partners{Rollup: v.Change.Verdict.Together}
	case v.Change.Phase.Final(), v.Change.Phase == Parked:
		return Partners{}
	}
	p := Partners{Rollup: v.Rollup}
	for _, b := range v.Builds {
		if b.Build.Cancel {
			continue
		}
		for _, id := range b.Build.For() {
			if id != v.Change.ID && !slices.Contains(p.Rollup, id) && !slices.Contains(p.Shares, id) {
				p.Shares = append(p.Shares, id)
			}
		}
	}
	return p
}
