package several

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Part is one of the analyzers.
type Part struct {
	Name     string // without ":" and "/", unique
	Under    string // folder, "" for the whole tree
	Needs    []string
	Barrier  []string // globs from the root of the whole tree
	Analyzer conflict.Analyzer
}

// Analyzer is several analyzers as one.
type Analyzer struct {
	parts  []Part
	needed map[string]bool // by part
	id     string
}

var _ conflict.Follower = (*Analyzer)(nil)

// New returns the analyzer of the given parts; it is a conflict.Guarded if one
// of them is, else a conflict.Follower. An error says which part is wrong.
func New(parts []Part) (conflict.Analyzer, error) {
	a := &Analyzer{parts: parts, needed: map[string]bool{}}
	names := map[string]bool{}
	for _, p := range parts {
		switch {
		case p.Name == "" || strings.ContainsAny(p.Name, ":/"), slices.Contains([]string{config.TargetTree, config.TargetUnowned, "def", "list"}, p.Name):
			return nil, fmt.Errorf("%q cannot be the name of an analyzer", p.Name)
		case names[p.Name]:
			return nil, fmt.Errorf("two analyzers are named %q", p.Name)
		case p.Under != "" && (!fs.ValidPath(p.Under) || p.Under == "."):
			return nil, fmt.Errorf("analyzer %s: %q is no folder of a tree", p.Name, p.Under)
		case p.Analyzer == nil:
			return nil, fmt.Errorf("analyzer %s has no targets: take it out", p.Name)
		}
		for _, g := range p.Barrier {
			if !doublestar.ValidatePattern(g) {
				return nil, fmt.Errorf("analyzer %s: barrier %q is not a valid glob", p.Name, g)
			}
		}
		names[p.Name] = true
	}
	guards := false
	fields := []string{"several1"}
	for _, p := range parts {
		for _, n := range p.Needs {
			if !names[n] {
				return nil, fmt.Errorf("analyzer %s needs %q, and there is no such analyzer", p.Name, n)
			}
			a.needed[n] = true
		}
		_, guarded := p.Analyzer.(conflict.Guarded)
		guards = guards || guarded
		fields = append(fields, p.Name, p.Analyzer.ID(), p.Under, string(digest.Of(p.Needs...)), string(digest.Of(p.Barrier...)))
	}
	a.id = a.label() + " " + string(digest.Of(fields...))
	if guards {
		return guarded{a}, nil
	}
	return a, nil
}

// label names the parts for people, by the first word of each one's id.
func (a *Analyzer) label() string {
	words := make([]string, len(a.parts))
	for i, p := range a.parts {
		id, _, _ := strings.Cut(p.Analyzer.ID(), " ")
		words[i] = p.Name + "=" + id
	}
	return "several/1 " + strings.Join(words, " ")
}

// ID returns the name and version with the ids of the parts, and a digest of
// all their settings.
func (a *Analyzer) ID() string { return a.id }

// Graph returns the graphs of all parts as one.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	out := &conflict.Graph{}
	m := &memo{parts: make([]partMemo, len(a.parts))}
	var failures []error
	for i, p := range a.parts {
		seen := viewOf(ctx, t, p.Under, files)
		g, err := p.graph(ctx, seen)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		unread := err != nil
		if unread {
			err = p.failed(err)
			failures = append(failures, err)
			out.Unread = append(out.Unread, p.unread(err))
			if g, err = p.whole(ctx, seen); err != nil {
				return nil, err
			}
		}
		links, err := linksOf(ctx, t, p.Under, files)
		if err != nil {
			return nil, err
		}
		if links.goals, err = p.behind(ctx, t, g, links.goals, files); err != nil {
			return nil, err
		}
		m.parts[i] = partMemo{memo: g.Memo, links: links, unread: unread}
		p.add(out, g, p.base(g, t, links, files))
		if a.needed[p.Name] {
			m.parts[i].targets = verifiable(g.Targets)
			out.Targets = append(out.Targets, p.all(m.parts[i].targets))
		}
	}
	if len(failures) == len(a.parts) {
		return nil, joined(failures)
	}
	out.Memo = m
	return out, nil
}

// joined is several reasons in one line.
func joined(errs []error) error {
	all := errs[0]
	for _, err := range errs[1:] {
		all = fmt.Errorf("%w; %w", all, err)
	}
	return all
}

// graph returns the graph of the part's analyzer for the tree that the part sees.
func (p Part) graph(ctx context.Context, seen conflict.Tree) (*conflict.Graph, error) {
	g, err := p.Analyzer.Graph(ctx, seen)
	switch {
	case err != nil:
		return nil, err
	case g == nil:
		return nil, fmt.Errorf("it has no targets")
	}
	return g, p.check(g)
}

// failed says which part has no graph, and where the names in its reason begin.
func (p Part) failed(err error) error {
	if p.Under != "" {
		return fmt.Errorf("analyzer %s in %s/: %w", p.Name, p.Under, err)
	}
	return fmt.Errorf("analyzer %s: %w", p.Name, err)
}

// behind adds to some goals of links those of the files that move all of the part: where
// such a file is a link, the file that it leads to is read, no matter which target owns
// that. A link to a folder brings nothing, as for files that are in every hash of one
// analyzer.
func (p Part) behind(ctx context.Context, t conflict.Tree, g *conflict.Graph, goals []string, files []conflict.Entry) ([]string, error) {
	var l *layout.Layout
	read := func(e conflict.Entry) (string, error) {
		text, err := t.Blob(ctx, e.OID)
		return string(text), err
	}
	follow := func(e conflict.Entry) error {
		if e.Mode != conflict.ModeLink {
			return nil
		}
		if l == nil {
			l = layout.New(files)
		}
		goal, via, ok, err := l.Resolve(e.Path, read)
		if err != nil {
			return err
		}
		for _, link := range via {
			goals = append(goals, link.Path)
		}
		if ok && len(l.Under(goal)) == 0 {
			goals = append(goals, goal)
		}
		return nil
	}
	for _, e := range g.Barrier {
		if err := follow(p.entry(e)); err != nil {
			return nil, err
		}
	}
	for _, e := range files {
		if matches(p.Barrier, e.Path) {
			if err := follow(e); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(goals)
	return slices.Compact(goals), nil
}

// base is the node below all others of the part.
func (p Part) base(g *conflict.Graph, t conflict.Tree, links links, files []conflict.Entry) conflict.Target {
	n := conflict.Target{Name: p.Name, Kind: "analyzer", Internal: true}
	salt := []string{"several1", p.Under}
	if links.lost {
		salt = append(salt, string(t.ID()))
	}
	n.Attrs = digest.Of(append(salt, g.Salt...)...)
	for _, e := range g.Barrier {
		n.Sources = append(n.Sources, p.entry(e))
	}
	for _, e := range files {
		if matches(p.Barrier, e.Path) {
			n.Sources = append(n.Sources, e)
		}
	}
	n.Inputs = links.entries(files)
	for _, need := range p.Needs {
		n.Deps = append(n.Deps, allOf(need))
	}
	return n
}

// allOf names the node above all targets of a part. No other node has this
// name: names of parts have no "/", and other names begin with the name of a
// part and ":".
func allOf(part string) string { return part + "/*" }

func (p Part) all(targets map[string]bool) conflict.Target {
	n := conflict.Target{Name: allOf(p.Name), Kind: "all of an analyzer", Internal: true, Deps: []string{p.Name}}
	for t := range targets {
		n.Deps = append(n.Deps, p.name(t))
	}
	slices.Sort(n.Deps)
	return n
}

func verifiable(targets []conflict.Target) map[string]bool {
	names := map[string]bool{}
	for i := range targets {
		if !targets[i].Internal {
			names[targets[i].Name] = true
		}
	}
	return names
}

// check refuses names in a part's graph that would have another meaning under
// the part's name than without it.
func (p Part) check(g *conflict.Graph) error {
	for i := range g.Targets {
		switch n := g.Targets[i].Name; {
		case n == "", n == config.TargetTree, n == config.TargetUnowned,
			strings.HasPrefix(n, conflict.DefinitionPrefix), strings.HasPrefix(n, conflict.ListingPrefix):
			return fmt.Errorf("the target name %q is reserved", n)
		}
	}
	for _, d := range g.Definitions {
		if !strings.HasPrefix(d.Name, conflict.DefinitionPrefix) {
			return fmt.Errorf("the definition node %q does not begin with %q", d.Name, conflict.DefinitionPrefix)
		}
	}
	return nil
}

func matches(globs []string, file string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return doublestar.MatchUnvalidated(g, file) })
}
