package queue

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue/config"
)

// TargetHash is one target of a tree and its hash there.
type TargetHash struct {
	Target string `json:"target"`
	Hash   Digest `json:"hash"`
}

// AddedEdge is a dependency that a change introduces: From starts to depend on
// To. Up are From and all targets that depend on it, in the change's own graph.
// Conflicts are evaluated with the added edges of all pending changes
// (conflict/index), because changes that are independent on main may not be so
// beside other changes.
type AddedEdge struct {
	To string   `json:"to"`
	Up []string `json:"up"`
}

// Footprint is what an analysis says of one change on one main: which targets
// it can influence and on which it newly depends. It is used for order, paths
// and planning only; a wrong footprint costs time, never safety.
type Footprint struct {
	Main     CommitID    `json:"main"`               // the commit of main it was computed on
	Analyzer string      `json:"analyzer"`           // id and version of the analyzer
	Write    []string    `json:"write,omitempty"`    // A: targets with another hash, added and removed ones and definition nodes ("def:...") included; sorted
	Read     []string    `json:"read,omitempty"`     // D: heads of added edges, newly read definition inputs; sorted
	Edges    []AddedEdge `json:"edges,omitempty"`    // the added edges behind Read
	Affected []string    `json:"affected,omitempty"` // targets of Write that exist in the change's tree, sorted: builds must verify these
	Added    int         `json:"added,omitempty"`    // of Affected, targets that main does not have
	Gone     int         `json:"gone,omitempty"`     // targets of main that the change does not have
	All      bool        `json:"all,omitempty"`      // touches everything: a barrier file, or unknown
	Unknown  string      `json:"unknown,omitempty"`  // why the analysis failed; then All is set
	Unread   string      `json:"unread,omitempty"`   // why a part that it affects is one target; hostile text
	Again    bool        `json:"again,omitempty"`    // the trouble of Unknown or Unread may pass: it is analyzed again, after a while
	At       Instant     `json:"at,omitempty"`       // when it was taken in, where Again is set

	// Paths that the change touches, as plain text. Two changes with a path in
	// common may fail to merge, even if no target reads it.
	Paths   []string   `json:"paths,omitempty"` // touched files and directories that are gone, sorted; folders stand for all below them (conflict.TouchedPaths)
	Files   int        `json:"files,omitempty"` // touched files
	Dirs    int        `json:"dirs,omitempty"`  // directories that these are in
	Extent  Extent     `json:"extent,omitzero"`
	Merges  []ChangeID `json:"merges,omitempty"`  // changes with common paths that it was seen to merge with
	Clashes []ChangeID `json:"clashes,omitempty"` // those that it does not merge with, or of which nobody could tell
}

// Touches sums a footprint up, for models and for people (conflict.TouchesOf).
type Touches struct {
	Targets  int     `json:"targets,omitempty"` // that it affects
	Graph    bool    `json:"graph,omitempty"`   // it adds edges to the graph, or changes what shapes it
	Added    int     `json:"added,omitempty"`   // of these, new ones
	Gone     int     `json:"gone,omitempty"`    // that it takes away
	Files    int     `json:"files,omitempty"`   // that it touches
	Dirs     int     `json:"dirs,omitempty"`    // that these are in
	All      bool    `json:"all,omitempty"`     // it touches what everything depends on, or is unknown
	Unknown  string  `json:"unknown,omitempty"` // why it could not be analyzed; hostile text
	Unread   string  `json:"unread,omitempty"`  // why a part that it affects is one target; hostile text
	Again    bool    `json:"again,omitempty"`   // it is analyzed again, after a while
	Extent   Extent  `json:"extent,omitzero"`
	FailRate float64 `json:"fail_rate,omitempty"` // the highest share of failures that its targets have shown lately; 0: none, or nothing is known
}

// Extent is how much a change does, as text. It is for models.
type Extent struct {
	Counted  bool `json:"counted,omitempty"`  // Lines, Dropped, Hunks and Binaries are known: they are not counted for very large changes
	Lines    int  `json:"lines,omitempty"`    // added
	Dropped  int  `json:"dropped,omitempty"`  // lines removed
	Hunks    int  `json:"hunks,omitempty"`    // places at which lines differ
	Binaries int  `json:"binaries,omitempty"` // files that are no text
	Builds   int  `json:"builds,omitempty"`   // files that say how things are built
	Tests    int  `json:"tests,omitempty"`    // files that are of tests, by their names
	Placed   bool `json:"placed,omitempty"`   // Commits and Behind are known
	Commits  int  `json:"commits,omitempty"`  // that its head has and the target branch does not
	Behind   int  `json:"behind,omitempty"`   // commits of the target branch's line that its head does not have
}

// ConflictKind says why two changes may influence each other.
type ConflictKind string

// The kinds of conflict, from the most to the least specific.
const (
	ConflictClash      ConflictKind = "clash"      // they do not merge with each other
	ConflictTarget     ConflictKind = "target"     // both change a target
	ConflictReadWrite  ConflictKind = "read-write" // one starts to depend on what the other changes
	ConflictDefinition ConflictKind = "definition" // both change what shapes the same part of the graph
	ConflictTextual    ConflictKind = "textual"    // both touch a path, and were not seen to merge
	ConflictGlobal     ConflictKind = "global"     // one changes a barrier file
	ConflictUnknown    ConflictKind = "unknown"    // one could not be analyzed
)

// Conflict is one pair of changes that may influence each other, with up to
// five names as witnesses, to tell people why.
type Conflict struct {
	With      ChangeID     `json:"with"`
	Kind      ConflictKind `json:"kind"`
	Witnesses []string     `json:"witnesses,omitempty"`
}

// In reports whether a change with this footprint is one of a project. One that
// touches everything is one of each.
func (f *Footprint) In(p config.Project) bool {
	return f != nil && (f.All || slices.ContainsFunc(f.Write, p.Has))
}
