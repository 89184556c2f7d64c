package conflict

import (
	"context"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Analyzer turns a tree into a target graph. It is a pure function of the
// tree: the same tree gives the same graph on every machine. It is safe for
// concurrent use.
type Analyzer interface {
	// ID is the analyzer's name, version and options, e.g. "go/1". It is part
	// of every hash: another result of Graph needs another version.
	ID() string
	// Graph returns the target graph of a tree. An error says that the graph of
	// this tree cannot be computed. No graph and no error say that the tree is
	// one target by design.
	Graph(ctx context.Context, t Tree) (*Graph, error)
}

// Graph is what an analyzer says of a tree. The order of its lists has no
// meaning, and repeated entries count once.
type Graph struct {
	Targets     []Target
	Definitions []Definition
	Barrier     []Entry  // files that every target depends on, beside the built-in and configured ones
	Salt        []string // further facts that every target depends on; here order counts
	Unread      []Unread // parts that could not be read, while other parts could
	Memo        any      // the memo that a Follower gets in Follow; it never changes once it is returned
}

// Unread is a part of a tree for which no graph can be computed. One target of
// the Graph stands for all targets that the part may have.
type Unread struct {
	Target      string
	Why         string // the analyzer, the folder, and the analyzer's error; hostile text
	Provisional bool   // Why rests on more than the tree: ErrProvisional
}

// Target is one node of the graph.
type Target struct {
	Name     string       // unique in the graph; a step's command gets it
	Kind     string       // of the rule, for hashes and people
	Internal bool         // takes part in hashes and conflicts, but cannot be verified on its own
	Alias    string       // another name, under which reports speak of it; empty if none
	Attrs    queue.Digest // of everything in its definition that is not a file
	Sources  []Entry      // files that it owns: they are not unowned
	Inputs   []Entry      // further files that its result depends on without owning them
	Deps     []string     // targets; may name some that do not exist
	Reads    []string     // definition inputs: names of Definitions, or ListingOf a directory
}

// Definition is an input of the graph itself, such as a build file: when two
// changes write it, or one writes and the other newly reads it, the graph of
// both together may have nodes or edges that neither graph has.
type Definition struct {
	Name   string // begins with DefinitionPrefix
	Digest queue.Digest
}

// Prefixes of names that stand in footprints beside targets.
const (
	// DefinitionPrefix begins the name of a definition node.
	DefinitionPrefix = "def:"
	// ListingPrefix begins the name of a directory's listing. Two changes that
	// write one listing do not conflict: each sees its own additions.
	ListingPrefix = "list:"
)

// ListingOf returns the name of the listing of a directory ("" or "." is the
// root): the names that it holds, whatever their content.
func ListingOf(dir string) string {
	if dir == "" || dir == "." {
		return ListingPrefix + "."
	}
	return ListingPrefix + "./" + dir
}

// definitional reports whether a name of a footprint is not a target's.
func definitional(name string) bool {
	return strings.HasPrefix(name, DefinitionPrefix) || strings.HasPrefix(name, ListingPrefix)
}

// reserved reports whether an analyzer may not give this name to a target.
func reserved(name string) bool {
	return name == "" || name == config.TargetTree || name == config.TargetUnowned || definitional(name) || isInputs(name)
}

// check refuses a graph that breaks the rules of Graph.
func (g *Graph) check() error {
	seen := make(map[string]bool, len(g.Targets))
	for i := range g.Targets {
		name := g.Targets[i].Name
		switch {
		case reserved(name):
			return fmt.Errorf("the target name %q is reserved", name)
		case seen[name]:
			return fmt.Errorf("two targets are named %q", name)
		}
		for _, d := range g.Targets[i].Deps {
			if definitional(d) {
				return fmt.Errorf("the target %q depends on %q, which is no name of a target", name, d)
			}
		}
		seen[name] = true
	}
	for _, d := range g.Definitions {
		if !strings.HasPrefix(d.Name, DefinitionPrefix) {
			return fmt.Errorf("the definition node %q does not begin with %q", d.Name, DefinitionPrefix)
		}
		if seen[d.Name] {
			return fmt.Errorf("two definition nodes are named %q", d.Name)
		}
		seen[d.Name] = true
	}
	return nil
}
