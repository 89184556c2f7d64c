package sim

import (
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// growth is the length of main's line from a moment on.
type growth struct {
	at   queue.Instant
	line int
}

// attest returns the passes of the CI of a change's own head, by the truth about that
// head. The head is a branch of main as it was Options.Heads minutes before the change
// came. A flake there is a failure, and failures are not told.
func (d *driver) attest(key string, t queue.Attest) queue.Body {
	out := queue.Attested{Action: key, Change: t.Change, Head: t.Head, Steps: d.tree.steps}
	c := d.tree.change[t.Head]
	ended := instant(d.w.Changes[c].ArriveMin - d.o.Heads)
	root := 0
	for _, g := range d.grown {
		if g.at <= ended {
			root = g.line
		}
	}
	keys, red := d.tree.head(c, root)
	for _, s := range d.steps {
		if p := (queue.HeadPass{Step: s.Digest(), Keys: keys[s.Digest()], Began: ended - 1, Ended: ended}); !red[s.Digest()] && len(p.Keys) > 0 && !d.w.Flake(c, headTry, -1) {
			out.Passed = append(out.Passed, p)
		}
	}
	return out
}

// headTry is the attempt number of the CI of a change's own head, for its flakes.
const headTry = 1 << 20

// head returns the keys, by step, of a change's head on the first root places of main,
// and the steps that fail there.
func (f *forest) head(c, root int) (keys map[queue.Digest][]queue.Key, red map[queue.Digest]bool) {
	at := &spot{root: root, stack: []int{c}}
	f.at[headOf(c)] = at
	defer delete(f.at, headOf(c))
	targets, tree := f.broken(headOf(c), f.w.Changes[c].Targets)
	red = map[queue.Digest]bool{f.unit: len(targets) > 0}
	keys = map[queue.Digest][]queue.Key{}
	whole := queue.Key{Target: config.TargetTree, Hash: queue.Digest(fmt.Sprintf("%016x", f.content(root, at.stack)))}
	if whole.Step = f.unit; f.w.Opaque {
		keys[f.unit] = []queue.Key{whole}
	}
	if f.whole != "" {
		red[f.whole], whole.Step = tree, f.whole
		keys[f.whole] = []queue.Key{whole}
	}
	if f.w.Opaque {
		return keys, red
	}
	for _, target := range slices.Sorted(slices.Values(f.w.Changes[c].Targets)) {
		h := f.main[target] ^ label(c)
		for _, p := range f.line[root:] {
			if f.touches(p, target) {
				h ^= p.mark()
			}
		}
		keys[f.unit] = append(keys[f.unit], queue.Key{Step: f.unit, Target: f.name[target], Hash: queue.Digest(fmt.Sprintf("%016x", h))})
	}
	return keys, red
}
