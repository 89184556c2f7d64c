package queue

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// LinkID names a link: its parent commit and its changes.
type LinkID string

// LinkOf returns the id of the link that puts a change on a commit, or several
// in one merge (a rollup), in this order. The root link of a commit has no
// change.
func LinkOf(parent CommitID, changes ...ChangeID) LinkID {
	id := string(parent)
	for i, c := range changes {
		if i == 0 {
			id += "+"
		} else {
			id += "&"
		}
		id += string(c)
	}
	return LinkID(id)
}

// ProtectedMost bounds the protected paths that are named.
const ProtectedMost = 10

// LinkOutcome is what came of merging a change onto its parent.
type LinkOutcome string

// The outcomes of a trial merge.
const (
	Merged       LinkOutcome = "merged"
	MergeFailed  LinkOutcome = "conflict" // git cannot merge the two
	MergeNothing LinkOutcome = "empty"    // the merge's tree is its parent's
)

// Link is one resolved step of a path: a change merged onto a parent commit,
// with the keys that the new commit has and its parent has not. A path
// (c, S) on main is the chain of links main → S in order → c; paths with a
// common beginning share its links, and so do the paths of a main that has
// moved along them, because the same parent and head always make the same
// commit. A link is a fact and never changes.
type Link struct {
	ID        LinkID      `json:"id"`
	Parent    CommitID    `json:"parent"`
	Change    ChangeID    `json:"change,omitempty"` // empty: a root link, which asks for keys of Parent itself
	With      []ChangeID  `json:"with,omitempty"`   // of a rollup: the changes that the same commit merges before Change, in order
	Outcome   LinkOutcome `json:"outcome"`
	Commit    CommitID    `json:"commit,omitempty"`
	Tree      TreeID      `json:"tree,omitempty"`
	Steps     Digest      `json:"steps,omitempty"`     // of the commit's own tree (StepSet)
	Keys      []Key       `json:"keys,omitempty"`      // keys that the parent does not have
	Gone      []string    `json:"gone,omitempty"`      // targets that the parent has and the commit has not
	Conflicts []string    `json:"conflicts,omitempty"` // paths, where Outcome is MergeFailed
	Refused   string      `json:"refused,omitempty"`   // why there is no merge by the change's method, where that is no conflict; hostile text
	Attempts  int         `json:"attempts,omitempty"`  // builds started on it
	At        Instant     `json:"at"`
	Analyzer  string      `json:"analyzer,omitempty"` // version that Commit is judged by; Keys are without those of Parent under Before
	Before    string      `json:"before,omitempty"`   // version that Parent is judged by
	Since     Line        `json:"since,omitzero"`     // where on main's line the chain of this link begins
	Chain     []ChangeID  `json:"chain,omitempty"`    // the changes between there and Parent, in order

	Guard     Digest   `json:"guard,omitempty"`     // of the globs that Protected was found by (Resolve.Guard)
	Protected []string `json:"protected,omitempty"` // protected paths that Commit changes on Parent, or one of Between on the one before it; at most ProtectedMost
	Taken     []string `json:"taken,omitempty"`     // of these, at most as many: those with a content there that no head has there; an approval of the heads does not cover it

	Between []CommitID `json:"between,omitempty"` // where the change lands as several commits: those from Parent to Commit, in order
	Parts   []Halfway  `json:"parts,omitempty"`   // the last of Keys, which one of these commits adds to the one before it and Commit does not add to Parent
}

// Halfway says on which commit some of a link's keys are verified, other than those
// that Commit adds to Parent.
type Halfway struct {
	Commit CommitID `json:"commit"`
	Steps  Digest   `json:"steps"` // of that commit's own tree
	Keys   int      `json:"keys"`  // so many of the link's, behind those of the part before
}

// OwnKeys returns the keys that the link's commit adds to its parent.
func (l *Link) OwnKeys() []Key {
	n := len(l.Keys)
	for _, p := range l.Parts {
		n -= p.Keys
	}
	return l.Keys[:max(n, 0)]
}

// PartOf returns the part that a key is of; nil: it is one of OwnKeys.
func (l *Link) PartOf(k Key) *Halfway {
	if len(l.Parts) == 0 {
		return nil
	}
	at := len(l.OwnKeys())
	for i := range l.Parts {
		p := &l.Parts[i]
		if to := min(at+p.Keys, len(l.Keys)); slices.Contains(l.Keys[at:to], k) {
			return p
		}
		at += p.Keys
	}
	return nil
}

// Changes returns the changes that the link puts on its parent, in order; none
// for a root link.
func (l *Link) Changes() []ChangeID {
	if l.Change == "" {
		return nil
	}
	if len(l.With) == 0 {
		return []ChangeID{l.Change}
	}
	return append(append(make([]ChangeID, 0, len(l.With)+1), l.With...), l.Change)
}

// Line is a place on main's first-parent line, as far as the queue made it: how
// many changes had landed there since the last commit that it did not make.
// Within one epoch two places differ by landed changes only.
type Line struct {
	Epoch int `json:"epoch,omitempty"` // commits of others seen so far
	Seq   int `json:"seq,omitempty"`   // landings since
}

// StepSet is the steps of a tree under their digest, stored once for all links
// that have them.
type StepSet struct {
	ID    Digest        `json:"id"`
	Steps []config.Step `json:"steps"`
}

// NewStepSet returns the set of the given steps.
func NewStepSet(steps []config.Step) StepSet {
	fields := []string{"steps1"}
	for _, s := range steps {
		fields = append(fields, string(s.Digest()))
	}
	return StepSet{ID: digest.Of(fields...), Steps: steps}
}

// Step returns the step with a digest.
func (s StepSet) Step(d Digest) (config.Step, bool) {
	for _, st := range s.Steps {
		if st.Digest() == d {
			return st, true
		}
	}
	return config.Step{}, false
}
