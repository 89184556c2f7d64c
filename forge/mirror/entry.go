package mirror

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// treeEntry is one name in a directory.
type treeEntry struct {
	mode string // as git writes it in trees: "40000" for a directory
	name string
	id   string
}

const dirMode = "40000"

func (e treeEntry) dir() bool { return e.mode == dirMode || e.mode == "0"+dirMode } // some tools pad

// key is the text by which git sorts the entries of a directory.
func (e treeEntry) key() string {
	if e.dir() {
		return e.name + "/"
	}
	return e.name
}

func byKey(a, b treeEntry) int {
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	return strings.Compare(a.key()[n:], b.key()[n:])
}

// directories returns the entries of tree objects, in one exchange; none for the id
// "". The slices are shared: do not change them.
func (m *Objects) directories(ctx context.Context, ids ...string) ([][]treeEntry, error) {
	out := make([][]treeEntry, len(ids))
	var missing []string
	at := map[string][]int{} // where the missing ones go: the same tree may be asked for many times
	for i, id := range ids {
		if id == "" {
			continue
		}
		if at[id] != nil {
			at[id] = append(at[id], i)
			continue
		}
		found, ok := m.trees.get(id)
		if !ok {
			missing, at[id] = append(missing, id), append(at[id], i)
		}
		out[i] = found
	}
	objects, err := m.read(ctx, missing...)
	if err != nil {
		return nil, err
	}
	for n, o := range objects {
		if o.kind == "" {
			return nil, &absent{kind: "tree", id: missing[n]}
		}
		if o.kind != "tree" {
			return nil, fmt.Errorf("%s is a %s, not a tree", missing[n], o.kind)
		}
		found, err := parseTree(o.data)
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", missing[n], err)
		}
		m.trees.put(missing[n], found, treeSize(found))
		for _, i := range at[missing[n]] {
			out[i] = found
		}
	}
	return out, nil
}

// parseTree reads a sequence of "<mode> <name> NUL <20 bytes>".
func parseTree(data []byte) ([]treeEntry, error) {
	var entries []treeEntry
	text := string(data)
	for text != "" {
		head, rest, ok := strings.Cut(text, "\x00")
		mode, name, ok2 := strings.Cut(head, " ")
		if !ok || !ok2 || len(rest) < 20 {
			return nil, errors.New("it cannot be read")
		}
		entries = append(entries, treeEntry{mode, name, hex.EncodeToString([]byte(rest[:20]))})
		text = rest[20:]
	}
	return entries, nil
}

// makeTree makes a tree object of entries that are in git's order.
func (m *Objects) makeTree(entries []treeEntry) (string, error) {
	var b bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(e.id)
		if err != nil {
			return "", err
		}
		b.WriteString(e.mode + " " + e.name + "\x00")
		b.Write(id)
	}
	id := m.fresh.add("tree", b.Bytes())
	m.trees.put(id, entries, treeSize(entries))
	return id, nil
}

// plainMode reports whether git writes a mode as it has read it.
func plainMode(mode string) bool {
	switch mode {
	case dirMode, "100644", "100755", "120000", "160000":
		return true
	}
	return false
}

// fileMode returns the mode that git shows for a file, whatever mode the tree has.
func fileMode(mode string) string {
	switch {
	case mode == "" || plainMode(mode):
		return mode
	case len(mode) == 6 && mode[3] >= '0' && (mode[3]-'0')&1 == 1:
		return "100755"
	}
	return "100644"
}

// step is an entry that differs between two directories; the zero entry stands for
// none.
type step struct{ from, to treeEntry }

// compare walks two directories side by side.
func compare(from, to []treeEntry) []step {
	var steps []step
	for len(from) > 0 || len(to) > 0 {
		var s step
		c := 0
		switch {
		case len(from) == 0:
			c = 1
		case len(to) == 0:
			c = -1
		default:
			c = byKey(from[0], to[0])
		}
		if c <= 0 {
			s.from, from = from[0], from[1:]
		}
		if c >= 0 {
			s.to, to = to[0], to[1:]
		}
		if s.from != s.to {
			steps = append(steps, s)
		}
	}
	return steps
}

// mergeTrees merges the changes of two sides since a base where this needs no look
// into a file: where each entry was changed by one side only, down to the
// directories that both sides have changed. Not ok: git must be asked.
//
// The result is the same as git's: an entry that one side alone has changed is
// taken over, and no rename can change that. A renamed file or directory is gone at
// its old place, and so matters only where the other side has changed the old place
// too, or has something at the new one; both are entries that both sides have
// changed.
func (m *Merges) mergeTrees(ctx context.Context, base, ours, theirs string) (id string, ok bool, err error) {
	switch {
	case ours == theirs:
		return ours, base == ours, nil
	case base == ours:
		return theirs, true, nil
	case base == theirs:
		return ours, true, nil
	}
	dirs, err := m.objects.directories(ctx, base, ours, theirs)
	if err != nil {
		return "", false, err
	}
	merged := slices.Clone(dirs[1])
	for _, s := range compare(dirs[0], dirs[2]) {
		key := s.from
		if key == (treeEntry{}) {
			key = s.to
		}
		i, found := slices.BinarySearchFunc(merged, key, byKey)
		var mine treeEntry
		if found {
			mine = merged[i]
		}
		next := s.to
		if mine != s.from {
			if !mine.dir() || !s.from.dir() || !s.to.dir() {
				return "", false, nil
			}
			if next.id, ok, err = m.mergeTrees(ctx, s.from.id, mine.id, s.to.id); err != nil || !ok {
				return "", false, err
			}
		}
		switch {
		case next == (treeEntry{}):
			merged = slices.Delete(merged, i, i+1)
		case found:
			merged[i] = next
		default:
			merged = slices.Insert(merged, i, next)
		}
	}
	names := make(map[string]bool, len(merged))
	for _, e := range merged {
		if names[e.name] || !plainMode(e.mode) { // a file and a directory of one name
			return "", false, nil
		}
		names[e.name] = true
	}
	if len(merged) == 0 {
		return "", false, nil
	}
	id, err = m.objects.makeTree(merged)
	return id, err == nil, err
}

// maxDiff bounds the memory that a difference may take: a few trees that contain
// one another many times may name more files than fit into memory.
const maxDiff = 256 << 20

// diffTrees returns the files that differ between two trees, in no order.
func (m *Objects) diffTrees(ctx context.Context, from, to queue.TreeID) ([]Delta, error) {
	type pair struct{ path, from, to string }
	var deltas []Delta
	size := 0
	for level := []pair{{"", string(from), string(to)}}; len(level) > 0; {
		ids := make([]string, 0, 2*len(level))
		for _, p := range level {
			ids = append(ids, p.from, p.to)
		}
		dirs, err := m.directories(ctx, ids...)
		if err != nil {
			return nil, err
		}
		var next []pair
		for i, p := range level {
			for _, s := range compare(dirs[2*i], dirs[2*i+1]) {
				path := p.path + s.from.name
				if s.from.name == "" {
					path = p.path + s.to.name
				}
				if size += len(path) + 96; size > maxDiff {
					return nil, fmt.Errorf("trees %s and %s differ in too many files: more than %d MiB of names", from, to, maxDiff>>20)
				}
				if s.from.dir() || s.to.dir() {
					next = append(next, pair{path + "/", s.from.id, s.to.id})
					continue
				}
				d := Delta{Path: path, Old: s.from.id, OldMode: fileMode(s.from.mode), New: s.to.id, Mode: fileMode(s.to.mode)}
				if d.Old != d.New || d.OldMode != d.Mode {
					deltas = append(deltas, d)
				}
			}
		}
		level = next
	}
	return deltas, nil
}
