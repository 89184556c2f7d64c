package main

import (
	"fmt"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/golang"
	"github.com/submitqueue/submitqueue/conflict/node"
	"github.com/submitqueue/submitqueue/conflict/paths"
	"github.com/submitqueue/submitqueue/queue"
)

// analyzers makes the analyzer that settings name. Here is the one place that
// knows which build systems there are.
func analyzers(s queue.Analysis) (conflict.Analyzer, error) {
	switch s.Analyzer {
	case "", "none":
		return nil, nil
	case golang.Name:
		return golang.New(golang.Options{}), nil
	case node.Name:
		return node.New(), nil
	case paths.Name:
		return paths.New(s.Areas)
	}
	return nil, fmt.Errorf("analyzer %q is not known to this version", s.Analyzer)
}
