package synth

import "slices"

// Edge says that From depends on To.
type Edge struct{ From, To uint32 }

// Target is a rule that a change adds. Nothing on main depends on it.
type Target struct {
	Name string
	Deps []uint32 // ascending
}

// Change is the effect of one change on a graph. The graphs of all changes of
// one call, and of all of them together, have no cycles.
type Change struct {
	Edited  []uint32 // nodes with other content, ascending: files, or rules that have none
	Added   []Edge   // dependencies of rules that get them
	Removed []Edge   // dependencies that go
	New     []Target
	Gone    []uint32 // files that are deleted; Removed has the edges to them
}

// Alters reports whether the change alters the graph.
func (c *Change) Alters() bool {
	return len(c.Added)+len(c.Removed)+len(c.New)+len(c.Gone) > 0
}

// Changes returns n changes. Each edits up to three files of one rule; the
// given share of them also adds up to three dependencies to it, may remove one
// and delete a file, and adds a target every fourth time.
func Changes(g *Graph, n int, alterers float64, seed uint64) []Change {
	r := source{seed ^ 0x5851f42d4c957f2d}
	var rules []uint32
	for i := range g.Len() {
		if g.Rule(uint32(i)) {
			rules = append(rules, uint32(i))
		}
	}
	changes := make([]Change, n)
	for i := range changes {
		c := &changes[i]
		at := r.below(len(rules))
		rule := rules[at]
		c.edit(g, &r, rule)
		// Drawn for every change: the edits do not depend on the share.
		alter, own := r.unit(), source{r.next()}
		if alter < alterers {
			c.alter(g, &own, rule, rules[:at])
		}
	}
	return changes
}

func (c *Change) edit(g *Graph, r *source, rule uint32) {
	first := g.files(rule)
	if first == rule {
		c.Edited = []uint32{rule}
		return
	}
	for range 1 + r.below(3) {
		c.Edited = append(c.Edited, first+uint32(r.below(int(rule-first))))
	}
	slices.Sort(c.Edited)
	c.Edited = slices.Compact(c.Edited)
}

// alter lets a rule depend on other rules that come before it, some of which
// are popular.
func (c *Change) alter(g *Graph, r *source, rule uint32, before []uint32) {
	deps := g.Deps(rule)
	for range 1 + r.below(3) {
		if len(before) == 0 {
			break
		}
		e := Edge{rule, before[int(float64(len(before))*r.skewed(1+r.below(3)))]}
		if _, has := slices.BinarySearch(deps, e.To); !has && !slices.Contains(c.Added, e) {
			c.Added = append(c.Added, e)
		}
	}
	if len(deps) > 0 && r.below(2) == 0 {
		e := Edge{rule, deps[r.below(len(deps))]}
		c.Removed = append(c.Removed, e)
		if !g.Rule(e.To) {
			c.Gone = append(c.Gone, e.To)
			c.Edited = slices.DeleteFunc(c.Edited, func(n uint32) bool { return n == e.To })
		}
	}
	if r.below(4) == 0 {
		c.New = append(c.New, Target{Name: g.Name(rule) + "_" + string('a'+rune(r.below(26))), Deps: []uint32{rule}})
	}
	if !c.Alters() {
		c.New = append(c.New, Target{Name: g.Name(rule) + "_new", Deps: []uint32{rule}})
	}
}
