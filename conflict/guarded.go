package conflict

import "errors"

// ErrProvisional is in an analyzer's error with a reason outside of
// the tree: a program that the target branch does not have yet, a tool or a
// disk that is missing. The same tree may have a graph another day.
var ErrProvisional = errors.New("no graph for now")

// Guarded is an analyzer that runs programs of the tree on this machine.
//
// The author of any pull request writes a tree. If the analyzer ran its
// programs, any code could run beside the server's secrets. So a guarded
// analyzer runs the programs of the target branch, and has no graph, with
// ErrProvisional, for a tree that holds other programs in their place. At first
// it runs nothing: Graph fails until Trusting has named the target branch.
type Guarded interface {
	Analyzer
	// Trusting returns the analyzer that runs the programs of target, the tree
	// of the target branch's tip. A nil target trusts nothing.
	Trusting(target Tree) Analyzer
}
