package several

import (
	"path"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/config"
)

// add puts a part's graph into the graph of all.
func (p Part) add(out *conflict.Graph, g *conflict.Graph, base conflict.Target) {
	out.Targets = append(out.Targets, base)
	for i := range g.Targets {
		out.Targets = append(out.Targets, p.target(g.Targets[i]))
	}
	out.Definitions = append(out.Definitions, p.definitions(g.Definitions)...)
}

// name returns the name of a target of the part among the targets of all parts.
func (p Part) name(target string) string { return config.TargetOf(p.Name, target) }

// target is a target of the part among those of all. Reports know it by the
// part's own name for it.
func (p Part) target(t conflict.Target) conflict.Target {
	if t.Alias == "" && !t.Internal {
		t.Alias = t.Name
	}
	t.Name = p.name(t.Name)
	deps := make([]string, 0, len(t.Deps)+1)
	deps = append(deps, p.Name)
	for _, d := range t.Deps {
		deps = append(deps, p.name(d))
	}
	t.Deps = deps
	if len(t.Reads) > 0 {
		reads := make([]string, len(t.Reads))
		for i, r := range t.Reads {
			reads[i] = p.read(r)
		}
		t.Reads = reads
	}
	t.Sources, t.Inputs = p.entries(t.Sources), p.entries(t.Inputs)
	return t
}

// read returns the name of a definition input of the part among those of all
// parts. Listings are of folders of the whole tree, whichever part reads them.
func (p Part) read(name string) string {
	if rest, ok := strings.CutPrefix(name, conflict.DefinitionPrefix); ok {
		return conflict.DefinitionPrefix + p.name(rest)
	}
	if rest, ok := strings.CutPrefix(name, conflict.ListingPrefix); ok && p.Under != "" {
		return conflict.ListingOf(path.Join(p.Under, rest))
	}
	return name
}

func (p Part) definitions(list []conflict.Definition) []conflict.Definition {
	out := make([]conflict.Definition, len(list))
	for i, d := range list {
		out[i] = conflict.Definition{Name: p.read(d.Name), Digest: d.Digest}
	}
	return out
}

// entry is a file of the part's tree in the whole one.
func (p Part) entry(e conflict.Entry) conflict.Entry {
	if p.Under != "" {
		e.Path = p.Under + "/" + e.Path
	}
	return e
}

func (p Part) entries(list []conflict.Entry) []conflict.Entry {
	if p.Under == "" || len(list) == 0 {
		return list
	}
	out := make([]conflict.Entry, len(list))
	for i, e := range list {
		out[i] = p.entry(e)
	}
	return out
}
