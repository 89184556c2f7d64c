package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
)

// A repository on this machine needs no exchange of packs: the objects that a head
// brings are read from it and written here. This takes milliseconds; git needs five
// processes for a fetch.
const (
	nearObjects = 500     // a head that brings more is fetched by git
	nearBytes   = 8 << 20 // as is one that brings more than this
)

var errNotNear = errors.New("forge: not to be copied")

// copyHeads brings heads from a repository on this machine into the mirror, as far
// as that is simple, and reports whether it tried. It does not report heads that it
// did not bring: git is asked for them.
func (m *Remotes) copyHeads(ctx context.Context, r forge.Remote, heads []HeadRef) bool {
	var wants []string
	for _, h := range heads {
		if tip := localTip(r.URL, h.Ref); tip == h.Want && len(tip) == 40 {
			wants = append(wants, string(tip))
		}
	}
	if len(wants) == 0 {
		return false
	}
	m.merges.merging.RLock()
	defer m.merges.merging.RUnlock()
	source := m.source(localDir(r.URL))
	for _, want := range wants {
		if m.copyObjects(ctx, source, want) != nil {
			break
		}
	}
	return true
}

// source returns the reader of another repository.
func (m *Remotes) source(dir string) *helper {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.sources[dir]
	if h == nil {
		h = (&repository{dir: dir}).helper("cat-file", "--batch-command")
		m.sources[dir] = h
	}
	return h
}

// stop ends the readers of other repositories.
func (m *Remotes) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.sources {
		h.stop()
	}
}

// copied is an object on its way into the mirror.
type copied struct {
	object
	names   []string
	written bool
}

// copyObjects writes a commit with all objects that it reaches and that the mirror
// lacks.
func (m *Remotes) copyObjects(ctx context.Context, source *helper, want string) error {
	found := map[string]*copied{}
	size := 0
	for level := []string{want}; len(level) > 0; {
		there, err := m.objects.stat(ctx, level)
		if err != nil {
			return err
		}
		var missing []string
		for i, id := range level {
			if there[i].kind == "" {
				missing = append(missing, id)
			}
		}
		if len(missing)+len(found) > nearObjects {
			return errNotNear
		}
		sizes, err := stat(ctx, source, missing)
		if err != nil {
			return err
		}
		for _, o := range sizes {
			if size += o.size; o.kind == "" || size > nearBytes {
				return errNotNear
			}
		}
		objects, err := readAll(ctx, source, missing)
		if err != nil {
			return err
		}
		level = level[:0]
		for i, o := range objects {
			names, err := namesOf(o)
			if err != nil {
				return err
			}
			found[missing[i]] = &copied{object: o, names: names}
			level = append(level, names...)
		}
		slices.Sort(level)
		level = slices.DeleteFunc(slices.Compact(level), func(id string) bool { return found[id] != nil })
	}
	return m.writeCopied(found, want)
}

// writeCopied writes an object after those that it names, so that each object of
// the mirror is complete, even after a crash in between.
func (m *Remotes) writeCopied(found map[string]*copied, id string) error {
	o := found[id]
	if o == nil || o.written {
		return nil
	}
	for _, n := range o.names {
		if err := m.writeCopied(found, n); err != nil {
			return err
		}
	}
	o.written = true
	if idOf(o.kind, o.data) != id {
		return fmt.Errorf("object %s is damaged where it comes from", id)
	}
	m.objects.fresh.put(id, o.object)
	return nil
}

// namesOf returns the ids that an object names.
func namesOf(o object) ([]string, error) {
	switch o.kind {
	case "blob":
		return nil, nil
	case "commit":
		c, err := parseCommit(o)
		names := []string{string(c.tree)}
		for _, p := range c.parents {
			names = append(names, string(p))
		}
		return names, err
	case "tree":
		var names []string
		entries, err := parseTree(o.data)
		for _, e := range entries {
			if e.mode != "160000" { // a submodule's commit is in another repository
				names = append(names, e.id)
			}
		}
		return names, err
	}
	return nil, errNotNear
}

// sized is the kind and size of an object in a repository; the kind is "" if it
// does not have the object.
type sized struct {
	kind string
	size int
}

// stat asks a `cat-file --batch-command` for objects.
func stat(ctx context.Context, reader *helper, ids []string) ([]sized, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out := make([]sized, len(ids))
	err := reader.call(ctx, func(p *process) error {
		sent := p.send([]byte("info " + strings.Join(ids, "\ninfo ") + "\n"))
		for i, id := range ids {
			line, err := p.field('\n')
			if err != nil {
				return err
			}
			if out[i].kind, out[i].size, err = parseHead(line, id); err != nil {
				return err
			}
		}
		return <-sent
	})
	return out, err
}
