package conflict

import "slices"

// record is what a snapshot knows of a target beside its hash. It never
// changes, so near snapshots share it.
type record struct {
	own      sum      // digest of the target's own data (framer.record)
	deps     []uint32 // by name, each once
	more     *details // nil: nothing of it
	internal bool
	reached  bool // it can be verified, or a target that can be verified depends on it
}

// details are data that most targets do not have.
type details struct {
	reads   []uint32 // by name, each once
	alias   string
	sources []Entry // for snapshots that are made from this one
}

func (r *record) reads() []uint32 {
	if r == nil || r.more == nil {
		return nil
	}
	return r.more.reads
}

func (r *record) alias() string {
	if r == nil || r.more == nil {
		return ""
	}
	return r.more.alias
}

func (r *record) sources() []Entry {
	if r == nil || r.more == nil {
		return nil
	}
	return r.more.sources
}

// size returns roughly how many bytes it takes beside its place.
func (r *record) size() int { return 4*len(r.dependencies()) + sourceBytes*len(r.sources()) }

// sourceBytes is how many bytes an Entry takes if its texts are in other lists as well.
const sourceBytes = 48

func (r *record) dependencies() []uint32 {
	if r == nil {
		return nil
	}
	return r.deps
}

// equal reports whether two records say the same.
func (r *record) equal(o *record) bool {
	return r == o || r != nil && o != nil && r.own == o.own && r.internal == o.internal && r.reached == o.reached &&
		slices.Equal(r.deps, o.deps) && slices.Equal(r.reads(), o.reads()) && r.alias() == o.alias()
}

// minus returns the numbers that a list has and another has not, in its order.
func minus(list, other []uint32) []uint32 {
	if len(other) == 0 || len(list) == 0 {
		return list
	}
	var has func(uint32) bool
	if len(list)*len(other) <= 256 {
		has = func(id uint32) bool { return slices.Contains(other, id) }
	} else {
		set := make(map[uint32]bool, len(other))
		for _, id := range other {
			set[id] = true
		}
		has = func(id uint32) bool { return set[id] }
	}
	var out []uint32
	for _, id := range list {
		if !has(id) {
			out = append(out, id)
		}
	}
	return out
}
