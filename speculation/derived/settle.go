package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Reds says which keys of a root link have decisively failed: a cache, because
// every pending change is looked at with it in every turn.
type Reds struct {
	root    *queue.Link
	version int // of the ledger
	Keys    []bool
	Targets []string       // sorted; without those that are in unrun only
	Unrun   []*queue.Entry // what has failed because no runner could run the command
	Failing []*queue.Entry // the other entries behind keys
}

// RedOn returns which keys of a root link are red: alone, or in a set that main
// holds whole.
func (fs *Ledger) RedOn(root *queue.Link) *Reds {
	if fs.red.root == root && fs.red.version == fs.version {
		return &fs.red
	}
	fs.red = Reds{root: root, version: fs.version, Keys: make([]bool, len(root.Keys))}
	facts, whole := fs.Links.Info(root).Facts, map[queue.Digest]bool{}
	seen := map[queue.Digest]bool{}
	for i, f := range facts {
		red, by := f.Decisive, f.Entry
		for _, sid := range f.Sets {
			if red || f.Passed() {
				break
			}
			held, known := whole[sid]
			if !known {
				e := fs.s.Ledger[sid]
				held = e != nil && HoldsAll(facts, e) && fs.Decides(fs.Weighed(e, root))
				whole[sid] = held
			}
			if red = held; red {
				by = fs.s.Ledger[sid]
			}
		}
		if fs.red.Keys[i] = red; !red {
			continue
		}
		list := &fs.red.Unrun
		if by == nil || !by.Unrun() {
			list = &fs.red.Failing
			fs.red.Targets = append(fs.red.Targets, root.Keys[i].Target)
		}
		if by != nil && !seen[by.ID] {
			seen[by.ID] = true
			*list = append(*list, by)
		}
	}
	slices.Sort(fs.red.Targets)
	fs.red.Targets = slices.Compact(fs.red.Targets)
	return &fs.red
}
