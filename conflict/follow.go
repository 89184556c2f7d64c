package conflict

import "context"

// FileChange is a path at which two trees differ. An Entry without a path says
// that there is no file.
type FileChange struct {
	Path     string
	From, To Entry
}

// Follower is an Analyzer that can say how a tree's graph differs from the
// graph of a similar tree, at the cost of the difference.
type Follower interface {
	Analyzer
	// Follow returns how the graph of t differs from the graph that memo, the
	// Memo of a Graph or Patch of this analyzer, stands for. The files in which
	// the two trees differ are given, sorted by path; t.Files is not asked for.
	// Nil without an error says that only Graph can tell: a file in every hash
	// has changed, or too many others have. Otherwise the graph with the patch
	// applied is what Graph returns for t, and an error is one that Graph would
	// return. A Patch leaves Graph.Unread as it was.
	Follow(ctx context.Context, memo any, files []FileChange, t Tree) (*Patch, error)
}

// Patch is how one graph differs from another. It may name targets and definitions that are
// as they were.
type Patch struct {
	Targets         []Target     // new, or with another record than before
	Gone            []string     // names of targets that are no more
	Definitions     []Definition // new, or with another digest than before
	GoneDefinitions []string     // names of definitions that are no more
	Memo            any          // as Graph.Memo, for the next Follow
}
