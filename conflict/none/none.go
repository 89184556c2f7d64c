// Package none is the analysis without an analyzer: the tree is one target, so
// every change conflicts with every other and the queue is strictly ordered.
// It asks nothing of a repository.
package none

import (
	"context"

	"github.com/submitqueue/submitqueue/conflict"
)

// Name is the analyzer's name in the configuration.
const Name = "none"

// Analyzer gives no graph.
type Analyzer struct{}

var _ conflict.Analyzer = Analyzer{}

// ID returns "none/1".
func (Analyzer) ID() string { return "none/1" }

// Graph returns neither graph nor error: the tree is one target by design.
func (Analyzer) Graph(context.Context, conflict.Tree) (*conflict.Graph, error) { return nil, nil }
