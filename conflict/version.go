package conflict

// Versioned is an analyzer of which this program has elder versions, too.
//
// A new version gives other hashes, so a pass under the version before proves
// nothing under the new one. A queue therefore goes on under the version in
// force until its target branch has passed under the new one, and for that long
// this program must know both. To change an analyzer's graphs, or the hashes of
// its targets, give it a new version in its ID, leave the code of the former
// version in place (say, behind a field of the analyzer's options), and return
// the former version from Elder. A later release takes it out again. The format
// of the hashes (the tags in hash.go, merkle.go, analyze.go and settings.go) is
// part of every version: to change it, give all analyzers new ones, and keep the
// former tags for their elders.
type Versioned interface {
	Analyzer
	// Elder returns the versions before this one, the newest first. Their IDs differ.
	Elder() []Analyzer
}

// Versions returns an analyzer and its elder versions, the newest first. Without
// an analyzer (nil) that is the one version there is.
func Versions(a Analyzer) []Analyzer {
	out := []Analyzer{a}
	if v, ok := a.(Versioned); ok {
		out = append(out, v.Elder()...)
	}
	return out
}

// VersionOf names the version of an analyzer, which may be nil: snapshots made
// with it have that in Analyzer.
func VersionOf(a Analyzer) string {
	if a == nil {
		return none
	}
	return a.ID()
}
