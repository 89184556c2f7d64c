package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// missingMode marks a file that a target names and the tree does not have.
const missingMode = "missing"

// listing is the tree's files by path.
type listing struct {
	*layout.Layout
	read func(conflict.Entry) (string, error) // the path that is written in a link
}

// graph makes the graph of the records of a tree with these files.
func (a *Analyzer) graph(records []record, program []conflict.Entry, l listing) (*conflict.Graph, error) {
	g := &conflict.Graph{Barrier: program}
	all := !slices.ContainsFunc(records, func(r record) bool { return !r.readsGiven })
	defined := map[string]conflict.Entry{}
	for _, e := range l.Sorted {
		if !matches(a.definitions, e.Path) {
			continue
		}
		if all {
			defined[e.Path] = e
		} else {
			g.Barrier = append(g.Barrier, e)
		}
	}
	for i := range records {
		t, err := l.target(&records[i], defined)
		if err != nil {
			return nil, fmt.Errorf("analysis.command: the target %q: %w", records[i].target, err)
		}
		g.Targets = append(g.Targets, t)
	}
	for path, e := range defined {
		g.Definitions = append(g.Definitions, conflict.Definition{Name: conflict.DefinitionPrefix + path, Digest: digest.Of("file1", e.Mode, e.OID)})
	}
	return g, nil
}

// target makes the node of a record, and adds the files in its reads to
// defined.
func (l *listing) target(r *record, defined map[string]conflict.Entry) (conflict.Target, error) {
	t := conflict.Target{Name: r.target, Kind: r.kind, Alias: r.alias, Internal: r.internal, Deps: r.deps}
	attrs, err := canonical(r.attrs)
	if err != nil {
		return t, err
	}
	t.Attrs = digest.Of("attrs1", attrs)
	for _, path := range r.sources {
		if t.Sources, err = l.add(t.Sources, path); err != nil {
			return t, err
		}
	}
	for _, path := range r.inputs {
		if t.Inputs, err = l.add(t.Inputs, path); err != nil {
			return t, err
		}
	}
	for _, path := range r.reads {
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			t.Reads = append(t.Reads, conflict.ListingOf(dir))
			continue
		}
		if t.Sources, err = l.add(t.Sources, path); err != nil {
			return t, err
		}
		defined[path] = t.Sources[len(t.Sources)-1]
		t.Reads = append(t.Reads, conflict.DefinitionPrefix+path)
	}
	behind, err := l.Behind(slices.Concat(t.Sources, t.Inputs), l.read)
	t.Inputs = append(t.Inputs, behind...)
	return t, err
}

// add adds the files that a path stands for.
func (l *listing) add(list []conflict.Entry, path string) ([]conflict.Entry, error) {
	if e, ok := l.ByPath[path]; ok {
		return append(list, e), nil
	}
	if path == "./" {
		return append(list, l.Sorted...), nil
	}
	if dir, ok := strings.CutSuffix(path, "/"); ok {
		below := l.Under(dir)
		if len(below) == 0 {
			return append(list, conflict.Entry{Path: path, Mode: missingMode}), nil
		}
		return append(list, below...), nil
	}
	if len(l.Under(path)) > 0 {
		return nil, fmt.Errorf("%q is a folder: write %q for all files below it", path, path+"/")
	}
	return append(list, conflict.Entry{Path: path, Mode: missingMode}), nil
}

// canonical returns JSON without spaces and with sorted names.
func canonical(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	out, err := json.Marshal(v)
	return string(out), err
}
