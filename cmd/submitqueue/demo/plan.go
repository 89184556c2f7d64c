package demo

import (
	"maps"
	"slices"
)

// Files are the contents of files by path, with forward slashes.
type Files map[string]string

// Plan is a repository and the pull requests to open on it.
type Plan struct {
	Title   string   // a description for people
	Name    string   // of the repository, without an owner
	Branch  string   // the target branch
	Base    Files    // its first commit; nil where Bare is set
	Bare    string   // path of a bare repository that has it and all head branches
	From    string   // the commit of Branch that it starts from; empty: its first
	Changes []Change // in the order in which they are to be landed
	Check   Check    // how each commit is verified
}

// Change is one pull request.
type Change struct {
	Author string
	Title  string
	Body   string
	Branch string // head branch; names the change in its plan
	Kind   Kind
	Expect Expect
	Pair   string // the same for two changes of which exactly one may land
	Files  Files  // new contents against Base; nil where the branch exists already
}

// name is a change's name for people: in a user's own repository, the branch says more
// than the subject of the last commit. It is hostile text.
func (c Change) name() string {
	if c.Kind == KindOwn {
		return c.Branch + ": " + c.Title
	}
	return c.Title
}

// Kind says what a change is made to show.
type Kind string

// The kinds of changes.
const (
	KindGood      Kind = "good"
	KindOverlap   Kind = "overlap" // good, in a file that others edit too
	KindDocs      Kind = "docs"    // good, with nothing to verify
	KindSlow      Kind = "slow"    // good, large, below everything, with a slow test
	KindCompile   Kind = "compile-error"
	KindFailing   Kind = "failing-test"
	KindRename    Kind = "rename-pair"    // one renames a function, the other adds a caller
	KindBehaviour Kind = "behaviour-pair" // one changes a behaviour, the other adds a test that pins it
	KindMerge     Kind = "merge-pair"     // both edit one line
	KindOwn       Kind = "own"            // from a user's own repository
)

// Expect is the right outcome of a change, whatever the order.
type Expect string

// The right outcomes.
const (
	ExpectLand         Expect = "land"
	ExpectBuildFailure Expect = "reject(build)"
	ExpectOneBuilds    Expect = "one-of(build)" // one of its pair lands, the other is rejected by a failing build
	ExpectOneMerges    Expect = "one-of(merge)" // one of its pair lands, the other is rejected by a merge conflict
	ExpectVerdict      Expect = "verdict"       // any: the right one is not known
)

// expect returns the right outcome of changes of this kind, "" for no kind.
func (k Kind) expect() Expect {
	switch k {
	case KindGood, KindOverlap, KindDocs, KindSlow:
		return ExpectLand
	case KindCompile, KindFailing:
		return ExpectBuildFailure
	case KindRename, KindBehaviour:
		return ExpectOneBuilds
	case KindMerge:
		return ExpectOneMerges
	case KindOwn:
		return ExpectVerdict
	}
	return ""
}

// Slow returns the branches of the slow, large changes.
func (p *Plan) Slow() []string {
	var list []string
	for _, c := range p.Changes {
		if c.Kind == KindSlow {
			list = append(list, c.Branch)
		}
	}
	return list
}

// Authors returns all authors, sorted.
func (p *Plan) Authors() []string {
	seen := map[string]bool{}
	for _, c := range p.Changes {
		seen[c.Author] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
