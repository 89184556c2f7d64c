package speculation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A world whose graphs are in its files: changes edit them as they edit code,
// and git merges them. The queue is told what package conflict makes of a tree.
// The truth is what conflicttest.Contents makes of it, which has no hashes.

// built is the truth about targets.
type built struct {
	conflicttest.Places
	memo map[queue.TreeID]map[string]conflicttest.Content
}

func (b *built) contents(t tree) map[string]conflicttest.Content {
	c, ok := b.memo[t.id()]
	if !ok {
		c = b.Contents(t.files())
		b.memo[t.id()] = c
	}
	return c
}

// files are those that hold something.
func (t tree) files() map[string]string {
	out := maps.Clone(map[string]string(t))
	maps.DeleteFunc(out, func(_, content string) bool { return content == "" })
	return out
}

func (b *built) reads(t tree, target string) map[string]bool {
	set := map[string]bool{}
	for _, f := range b.contents(t)[target].Files {
		maps.Copy(set, setOf(t[f]))
	}
	return set
}

// hashes names contents by a digest, to be short: it is made in one step of all
// that is in them.
func (b *built) hashes(t tree) []queue.TargetHash {
	all := b.contents(t)
	var out []queue.TargetHash
	for _, n := range slices.Sorted(maps.Keys(all)) {
		h := sha256.Sum256([]byte(all[n].Text))
		out = append(out, queue.TargetHash{Target: n, Hash: queue.Digest(fmt.Sprintf("%x", h))})
	}
	return out
}

// broken reports whether a target cannot be built at all.
func (b *built) broken(t tree, target string) bool {
	c := b.contents(t)[target]
	return len(c.Missing) > 0 || c.Cyclic
}

// analyst answers as the service does, with package conflict.
type analyst struct {
	places conflicttest.Places
	memo   map[queue.TreeID]*conflict.Snapshot
}

// named is a tree with the world's id.
type named struct {
	*conflicttest.Tree
	id queue.TreeID
}

func (n named) ID() queue.TreeID { return n.id }

func (a *analyst) snapshot(w *world, t tree) *conflict.Snapshot {
	if s := a.memo[t.id()]; s != nil {
		return s
	}
	analyzer, settings := conflict.Analyzer(a.places.Analyzer()), a.places.Settings()
	if _, broken := configOf(t); broken != "" {
		analyzer, settings = nil, config.Analysis{}
	}
	s, err := conflict.Analyze(context.Background(), analyzer, settings, named{conflicttest.New(t.files()), t.id()})
	if err != nil {
		w.Fatalf("%v", err)
	}
	a.memo[t.id()] = s
	return s
}

func (a *analyst) footprint(w *world, main *commit, with tree) queue.Footprint {
	return conflict.FootprintOf(a.snapshot(w, main.tree), a.snapshot(w, with), main.id)
}

// keysOf, newKeys and gone are what the queue is told, of the real analysis where
// there is one. The audit asks the law.
func (w *world) keysOf(t tree) []queue.Key {
	if w.real == nil {
		return w.law.keysOf(t)
	}
	return conflict.Keys(nil, w.real.snapshot(w, t), nil, stepsOf(t))
}

func (w *world) newKeys(parent, t tree) []queue.Key {
	if w.real == nil {
		return w.law.newKeys(parent, t)
	}
	return conflict.Keys(w.real.snapshot(w, parent), w.real.snapshot(w, t), stepsOf(parent), stepsOf(t))
}

func (w *world) gone(parent, t tree) []string {
	if w.real == nil {
		return w.law.gone(parent, t)
	}
	return conflict.Gone(w.real.snapshot(w, parent), w.real.snapshot(w, t))
}
