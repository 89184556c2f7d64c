package several_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// toy is an analyzer of a made-up build system. A folder with a file "deps",
// the names of other folders, is a target, internal if its name begins with
// "_"; it reads its own listing and the definition "def:" of its name. "lock" is
// a barrier file, the content of "version" the salt, "broken" an error. Every
// target's attributes hold the tree's id where there is a file "vague".
type toy struct{ id string }

func (a toy) ID() string { return "toy/1 " + a.id }

func (a toy) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	return a.graph(ctx, files, t)
}

func (a toy) graph(ctx context.Context, files []conflict.Entry, t conflict.Tree) (*conflict.Graph, error) {
	g := &conflict.Graph{Memo: files}
	vague := slices.ContainsFunc(files, func(e conflict.Entry) bool { return e.Path == "vague" })
	for _, e := range files {
		text, err := t.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		dir, name, _ := strings.Cut(e.Path, "/")
		switch {
		case e.Path == "broken":
			return nil, errors.New(string(text))
		case e.Path == "lock":
			g.Barrier = append(g.Barrier, e)
		case e.Path == "version":
			g.Salt = append(g.Salt, string(text))
		case name == "deps":
			n := conflict.Target{Name: dir, Kind: "toy", Internal: strings.HasPrefix(dir, "_"), Deps: strings.Fields(string(text)),
				Reads: []string{conflict.ListingOf(dir), conflict.DefinitionPrefix + dir}}
			if vague {
				n.Attrs = queue.Digest(t.ID())
			}
			for _, f := range files {
				if strings.HasPrefix(f.Path, dir+"/") {
					n.Sources = append(n.Sources, f)
				}
			}
			g.Targets = append(g.Targets, n)
			g.Definitions = append(g.Definitions, conflict.Definition{Name: conflict.DefinitionPrefix + dir, Digest: digest.Of(string(text))})
		}
	}
	return g, nil
}

// following is a toy that can follow, in its own slow way.
type following struct{ toy }

func (a following) Follow(ctx context.Context, memo any, changes []conflict.FileChange, t conflict.Tree) (*conflict.Patch, error) {
	old := memo.([]conflict.Entry)
	now := map[string]conflict.Entry{}
	for _, e := range old {
		now[e.Path] = e
	}
	for _, c := range changes {
		if now[c.Path] != c.From {
			return nil, errors.New("told of a change of " + c.Path + " that is none")
		}
		if c.Path == "lock" || c.Path == "version" || c.Path == "broken" {
			return nil, nil
		}
		if c.To.Path == "" {
			delete(now, c.Path)
		} else {
			now[c.Path] = c.To
		}
	}
	files := slices.SortedFunc(maps.Values(now), func(x, y conflict.Entry) int { return strings.Compare(x.Path, y.Path) })
	before, err := a.graph(ctx, old, blind{t})
	if err != nil {
		return nil, nil // content that the new tree does not have
	}
	after, err := a.graph(ctx, files, t)
	if err != nil {
		return nil, err
	}
	p := &conflict.Patch{Memo: files, Targets: after.Targets, Definitions: after.Definitions}
	for _, n := range before.Targets {
		if !slices.ContainsFunc(after.Targets, func(m conflict.Target) bool { return m.Name == n.Name }) {
			p.Gone = append(p.Gone, n.Name)
			p.GoneDefinitions = append(p.GoneDefinitions, conflict.DefinitionPrefix+n.Name)
		}
	}
	return p, nil
}

// blind is a tree of whose files only the names matter.
type blind struct{ conflict.Tree }

func (blind) Blob(context.Context, string) ([]byte, error) { return nil, nil }

// running is a toy that runs programs.
type running struct {
	toy
	trusted conflict.Tree
	ran     *[]string // the files of each tree that was trusted when it ran
}

func (a running) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	if a.trusted == nil {
		return nil, conflict.ErrProvisional
	}
	*a.ran = append(*a.ran, strings.Join(pathsOf(ctx, a.trusted), " "))
	return a.toy.Graph(ctx, t)
}

func (a running) Trusting(target conflict.Tree) conflict.Analyzer {
	a.trusted = target
	return a
}

func pathsOf(ctx context.Context, t conflict.Tree) (paths []string) {
	files, err := t.Files(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range files {
		paths = append(paths, e.Path)
	}
	return paths
}

func mustAnalyze(t testing.TB, a conflict.Analyzer, s config.Analysis, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	snap, err := conflict.Analyze(t.Context(), a, s, tree)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// folder returns a folder of a tree as a tree of its own.
func folder(t *conflicttest.Tree, under string) *conflicttest.Tree {
	if under == "" {
		return t
	}
	files := map[string]string{}
	for _, p := range t.Paths() {
		if rest, ok := strings.CutPrefix(p, under+"/"); ok {
			files[rest] = t.Content(p)
		}
	}
	return conflicttest.New(files)
}

// changesOf returns how two trees differ.
func changesOf(t testing.TB, from, to *conflicttest.Tree) (out []conflict.FileChange) {
	t.Helper()
	byPath := map[string]*conflict.FileChange{}
	at := func(path string) *conflict.FileChange {
		if byPath[path] == nil {
			byPath[path] = &conflict.FileChange{Path: path}
		}
		return byPath[path]
	}
	before, _ := from.Files(t.Context())
	after, _ := to.Files(t.Context())
	for _, e := range before {
		at(e.Path).From = e
	}
	for _, e := range after {
		at(e.Path).To = e
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		if c := byPath[path]; !reflect.DeepEqual(c.From, c.To) {
			out = append(out, *c)
		}
	}
	return out
}
