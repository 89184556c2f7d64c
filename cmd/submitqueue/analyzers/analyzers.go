// Package analyzers is the table of the known build systems: it makes their analyzers,
// and recognises them in a repository. Server, validate, init and inspect take their
// analyzers from here.
//
// # How do I add an analyzer?
//
// One package below conflict (its doc says what an analyzer must do), and one row of All
// here. Its name is a constant of package queue/config and a word in the tags of
// Analysis.Analyzer and SubAnalysis.Analyzer; a test here checks that the file may name
// the analyzers of the table, and no others. For example
//
//	{Name: maven.Name, New: plain(func(config.Analysis) (conflict.Analyzer, error) { return maven.New(), nil }),
//		Markers: []string{"pom.xml"}, Find: func(t Tree) []Found {
//			return t.workspaces(Found{Run: "mvn -pl $(echo {targets} | tr ' ' ,) verify"}, "pom.xml")
//		}}
//
// An analyzer that runs a tool gets a pool of checkouts to run it in. The pool is nil
// where the tool is not run (validate only checks the settings).
package analyzers

import (
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/bazel"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/command"
	"github.com/submitqueue/submitqueue/conflict/gn"
	"github.com/submitqueue/submitqueue/conflict/golang"
	"github.com/submitqueue/submitqueue/conflict/node"
	"github.com/submitqueue/submitqueue/conflict/paths"
	"github.com/submitqueue/submitqueue/conflict/several"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Row is one analyzer.
type Row struct {
	Name string // in the configuration
	// New makes it with its settings; pool is nil where it will not be run.
	New func(s config.Analysis, pool *checkout.Pool) (conflict.Analyzer, error)
	// Markers are files at the root of a folder that show that it can analyze the folder.
	Markers []string
	// Find returns where in a repository it can run, outermost folders only, and the step
	// that verifies its targets; the caller fills in the rest of Found. nil: files do not
	// show it.
	Find func(Tree) []Found
	// Whole says that it builds everything within a workspace of it.
	Whole bool
}

// Table is the table of the known analyzers.
type Table []Row

// All returns the analyzers of this program.
func All() Table {
	return Table{
		{Name: config.AnalyzerNone, New: plain(func(config.Analysis) (conflict.Analyzer, error) { return nil, nil })},
		{Name: paths.Name, New: plain(func(s config.Analysis) (conflict.Analyzer, error) { return paths.New(s.Areas) })},
		{Name: golang.Name, New: plain(func(config.Analysis) (conflict.Analyzer, error) { return golang.New(golang.Options{}), nil }),
			Markers: []string{"go.mod", "go.work"}, Find: Tree.golang},
		{Name: cargo.Name, New: plain(func(config.Analysis) (conflict.Analyzer, error) { return cargo.New(), nil }),
			Markers: []string{"Cargo.toml"}, Find: Tree.cargo},
		{Name: node.Name, New: plain(func(config.Analysis) (conflict.Analyzer, error) { return node.New(), nil }),
			Markers: []string{"package.json"}, Find: Tree.node},
		{Name: bazel.Name, New: func(s config.Analysis, pool *checkout.Pool) (conflict.Analyzer, error) {
			return bazel.New(s.Timeout, pool), nil
		},
			Markers: []string{"MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"}, Find: Tree.bazel, Whole: true},
		{Name: gn.Name, New: func(s config.Analysis, pool *checkout.Pool) (conflict.Analyzer, error) {
			return gn.New(s.Timeout, pool), nil
		},
			Markers: []string{".gn"}, Find: Tree.gn, Whole: true},
		{Name: command.Name, New: func(s config.Analysis, pool *checkout.Pool) (conflict.Analyzer, error) { return command.New(s, pool) }},
	}
}

// plain makes the New of an analyzer that runs no tool.
func plain(made func(config.Analysis) (conflict.Analyzer, error)) func(config.Analysis, *checkout.Pool) (conflict.Analyzer, error) {
	return func(s config.Analysis, _ *checkout.Pool) (conflict.Analyzer, error) { return made(s) }
}

// Of makes the analyzer that settings name, to check the settings; nil for none.
func (t Table) Of(s config.Analysis) (conflict.Analyzer, error) { return t.With(nil)(s) }

// With makes analyzers, with a pool of checkouts for those that run tools.
func (t Table) With(pool *checkout.Pool) app.Analyzers {
	var one app.Analyzers
	one = func(s config.Analysis) (conflict.Analyzer, error) {
		if len(s.Analyzers) > 0 {
			return severalAnalyzers(s, one)
		}
		if s.Analyzer == "" {
			return nil, nil
		}
		i := slices.IndexFunc(t, func(r Row) bool { return r.Name == s.Analyzer })
		if i < 0 {
			return nil, fmt.Errorf("analyzer %q is not known to this version", s.Analyzer)
		}
		return t[i].New(s, pool)
	}
	return one
}

// severalAnalyzers makes the analyzers of a list into one.
func severalAnalyzers(s config.Analysis, one app.Analyzers) (conflict.Analyzer, error) {
	parts := make([]several.Part, len(s.Analyzers))
	for i, p := range s.Analyzers {
		a, err := one(p.Analysis())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		parts[i] = several.Part{Name: p.Name, Under: p.Under, Needs: p.Needs, Barrier: p.Barrier, Analyzer: a}
	}
	return several.New(parts)
}
