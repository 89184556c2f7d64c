package conflict

import (
	"context"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/conflict/internal/sorted"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// follow makes the snapshot of a tree from that of a tree near it. Nil without
// an error says that the whole tree must be analyzed.
func follow(ctx context.Context, a Follower, s *config.Analysis, near *Snapshot, t Tree, files []FileChange) (*Snapshot, error) {
	for i := range files {
		if placeOf(s, files[i].Path, near.filing.extra, true) == inBarrier {
			return nil, nil
		}
	}
	if near.filing.behind.moves(files) {
		return nil, nil
	}
	if len(near.filing.inputs) > 0 && slices.ContainsFunc(files, func(c FileChange) bool { return c.From.crosses() || c.To.crosses() }) {
		return nil, nil // a link may bring other declared files
	}
	watched := &watchedTree{Tree: t}
	p, err := a.Follow(ctx, near.memo, files, watched)
	switch {
	case watched.err != nil:
		return nil, fmt.Errorf("read tree %s: %w", t.ID(), watched.err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return failed(t.ID(), a.ID(), err), nil
	case p == nil || !p.sound():
		return nil, nil
	}
	next := newSuccessor(near, t.ID())
	if !next.apply(s, p, files) {
		return nil, nil
	}
	return next.finish(), nil
}

// sound reports whether the patch keeps the rules of Graph. If it does not,
// neither does the graph, and the analysis of the whole graph reports that.
func (p *Patch) sound() bool {
	g := Graph{Targets: p.Targets, Definitions: p.Definitions}
	return g.check() == nil
}

// successor is a snapshot that is being made from another.
type successor struct {
	near  *Snapshot
	snap  *Snapshot
	recs  draft[*record]
	sums  draft[sum]
	up    draft[[]uint32]
	frame framer
	seeds []uint32 // targets that are new, gone, or have another record
	files *refiling
}

func newSuccessor(near *Snapshot, tree queue.TreeID) *successor {
	return &successor{near: near, recs: near.recs.edit(), sums: near.sums.edit(), up: near.reverse().edit(),
		snap: &Snapshot{Tree: tree, Analyzer: near.Analyzer, settings: near.settings, salt: near.salt, barrier: near.barrier,
			names: near.names, live: near.live, Unread: near.Unread}}
}

// apply takes a patch over. It reports false where the whole tree must be
// analyzed instead.
func (n *successor) apply(s *config.Analysis, p *Patch, files []FileChange) bool {
	n.snap.memo = p.Memo
	n.files = n.near.filing.edit(s)
	rules := rulesOf(s)
	targets := make([]Target, 0, len(p.Targets)+len(p.Gone)+len(rules))
	for i := range p.Targets {
		targets = append(targets, readingInputs(rules, p.Targets[i]))
	}
	targets = append(targets, n.files.input(rules, files)...)
	there := len(targets)
	for _, name := range p.Gone {
		targets = append(targets, Target{Name: name})
	}
	news := n.diff(targets, there)
	if !n.replace(news) || !n.files.move(files) {
		return false
	}
	f, moved := n.files.done()
	n.snap.filing = f
	if moved {
		var unowned []revision
		if len(f.unowned) > 0 {
			unowned = n.diff([]Target{unownedTarget(f.unowned, f.behind.files)}, 1)
		} else {
			unowned = n.diff([]Target{{Name: config.TargetUnowned}}, 0)
		}
		for i := range unowned {
			if r := unowned[i].to; r != nil {
				r.reached, r.more = true, nil
			}
			n.put(&unowned[i])
		}
	}
	for dir, names := range n.files.names {
		h := sum{}
		if len(names) > 0 || dir == "" {
			h = n.frame.listing(names)
		}
		n.define(ListingOf(dir), h)
	}
	for _, d := range p.Definitions {
		n.define(d.Name, n.frame.definition(d))
	}
	for _, name := range p.GoneDefinitions {
		n.define(name, sum{})
	}
	return true
}

// define writes a definition node or listing; zero is none.
func (n *successor) define(name string, h sum) {
	if id := n.snap.names.number(name); n.sums.at(id) != h {
		n.sums.set(id, h)
	}
}

// revision is the change of one target from one record to another; nil where there is none.
type revision struct {
	id       uint32
	from, to *record
}

// diff returns the revisions of the targets with a record that differs. Targets
// after the first `there` no longer exist.
func (n *successor) diff(targets []Target, there int) []revision {
	var out []revision
	for i := range targets {
		t := &targets[i]
		v := revision{id: n.snap.names.number(t.Name)}
		v.from = n.recs.at(v.id)
		if i < there {
			v.to = &record{own: n.frame.record(&n.snap.salt, t), internal: t.Internal, reached: true, more: detailsOf(t, true, n.snap.names.number)}
			for _, d := range sorted.Names(t.Deps) {
				v.to.deps = append(v.to.deps, n.snap.names.number(d))
			}
			if v.from != nil {
				v.to.reached = v.from.reached
			}
		}
		if v.from.equal(v.to) {
			continue
		}
		out = append(out, v)
	}
	return out
}

// replace writes the revisions, and counts again how many targets own each
// file. It reports false where it cannot tell which targets are reached.
func (n *successor) replace(news []revision) bool {
	for i := range news {
		n.put(&news[i])
	}
	if !n.reach(news) {
		return false
	}
	for _, v := range news {
		if v.from != nil && v.from.reached {
			n.files.claim(v.from.sources(), -1)
		}
		if v.to != nil && v.to.reached {
			n.files.claim(v.to.sources(), 1)
		}
	}
	return true
}

// put writes one revision with its edges.
func (n *successor) put(v *revision) {
	n.recs.set(v.id, v.to)
	n.seeds = append(n.seeds, v.id)
	switch {
	case v.from == nil:
		n.snap.live++
	case v.to == nil:
		n.snap.live--
		n.sums.set(v.id, sum{})
	}
	for _, d := range minus(v.from.dependencies(), v.to.dependencies()) {
		list := slices.Clone(n.up.at(d))
		if at := slices.Index(list, v.id); at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		n.up.set(d, list)
	}
	for _, d := range minus(v.to.dependencies(), v.from.dependencies()) {
		list := n.up.at(d)
		n.up.set(d, append(list[:len(list):len(list)], v.id))
	}
}

// reach says which of the new targets are reached. It reports false where other
// targets may have become reached or unreached, and that is not clear at once.
func (n *successor) reach(news []revision) bool {
	for _, v := range news {
		switch {
		case v.to == nil || !v.to.internal:
			if v.from != nil && v.to != nil && v.from.internal {
				return false
			}
		case v.from == nil:
			above := n.up.at(v.id)
			v.to.reached = slices.ContainsFunc(above, n.plain)
			if !v.to.reached && len(above) > 0 {
				return false
			}
		case !v.from.internal:
			return false
		}
	}
	for _, v := range news {
		for _, d := range v.from.dependencies() { // the kept dependencies, too: their dependent may be gone
			below := n.recs.at(d)
			if below != nil && below.internal && below.reached && v.from.reached &&
				(v.to == nil || !slices.Contains(v.to.deps, d)) && !slices.ContainsFunc(n.up.at(d), n.plain) {
				return false
			}
		}
		for _, d := range v.to.dependencies() {
			if below := n.recs.at(d); below != nil && below.internal && !below.reached && v.to.reached {
				return false
			}
		}
	}
	return true
}

// plain reports whether a number is a target that can be verified.
func (n *successor) plain(id uint32) bool {
	r := n.recs.at(id)
	return r != nil && !r.internal
}

// finish hashes the targets that the revisions reach.
func (n *successor) finish() *Snapshot {
	s := n.snap
	list := s.names.all()
	closure := s.names.borrow(len(list))
	s.recs, s.level = n.recs.vector, n.near.level
	moved := n.above(closure)
	if pages := closure.sort(moved, len(list)); len(moved) > aside && pages*pageSize > len(list)/2 {
		n.sums.flatten(len(list))
	}
	levels := s.level.edit()
	for _, id := range n.seeds {
		if s.recs.at(id) == nil {
			levels.set(id, 0)
		}
	}
	r := rehash{snap: s, sums: &n.sums, levels: &levels, inside: func(id uint32) bool { return closure.has(id) && s.recs.at(id) != nil },
		ids: slices.DeleteFunc(moved, func(id uint32) bool { return s.recs.at(id) == nil })}
	var cycles [][]string
	if len(n.near.Cycles) > 0 || !r.keepsLevels(n.seeds, &n.up.vector) {
		cycles = r.search()
	}
	r.run()
	s.level = levels.vector
	for _, c := range n.near.Cycles {
		if id, _ := s.names.find(c[0]); !closure.has(id) {
			s.Cycles = append(s.Cycles, c)
		}
	}
	s.Cycles = append(s.Cycles, cycles...)
	sortCycles(s.Cycles)
	s.names.giveBack(closure)
	s.sums, s.up.vector = n.sums.vector, n.up.vector
	s.size = n.recs.copied*pageSize*8 + n.sums.copied*pageSize*len(sum{}) + n.up.copied*pageSize*24 + s.filing.size()
	for _, id := range n.seeds {
		s.size += recordBytes + s.recs.at(id).size()
	}
	return s
}

// above returns the seeds and all targets that depend on them.
func (n *successor) above(seen *marks) []uint32 {
	var out []uint32
	for _, id := range n.seeds {
		if seen.add(id) {
			out = append(out, id)
		}
	}
	for i := 0; i < len(out); i++ {
		for _, id := range n.up.at(out[i]) {
			if seen.add(id) {
				out = append(out, id)
			}
		}
	}
	return out
}
