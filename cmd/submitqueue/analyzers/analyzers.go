// Package analyzers makes the analyzer that settings name. It is the one place that
// knows which build systems there are: to add one is a package below conflict, an
// import and a row here.
package analyzers

import (
	"fmt"

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

// Of makes the analyzer that settings name. Here is the one place that
// knows which build systems there are.
func Of(s config.Analysis) (conflict.Analyzer, error) {
	if len(s.Analyzers) > 0 {
		return severalAnalyzers(s, Of)
	}
	switch s.Analyzer {
	case "", "none":
		return nil, nil
	case cargo.Name:
		return cargo.New(), nil
	case golang.Name:
		return golang.New(golang.Options{}), nil
	case node.Name:
		return node.New(), nil
	case paths.Name:
		return paths.New(s.Areas)
	case command.Name:
		return command.New(s, nil) // without checkouts, to see whether the settings are right
	case gn.Name:
		return gn.New(s.Timeout, nil), nil
	case bazel.Name:
		return bazel.New(s.Timeout, nil), nil
	}
	return nil, fmt.Errorf("analyzer %q is not known to this version", s.Analyzer)
}

// With is analyzers with a place for those that run tools.
func With(pool *checkout.Pool) app.Analyzers {
	var one app.Analyzers
	one = func(s config.Analysis) (conflict.Analyzer, error) {
		if len(s.Analyzers) > 0 {
			return severalAnalyzers(s, one)
		}
		switch s.Analyzer {
		case command.Name:
			return command.New(s, pool)
		case gn.Name:
			return gn.New(s.Timeout, pool), nil
		case bazel.Name:
			return bazel.New(s.Timeout, pool), nil
		}
		return Of(s)
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
