package queue

import (
	"github.com/submitqueue/submitqueue/queue/config"
)

// Attest asks which checks the forge's own CI has passed on the head of a change, after a
// push by its author and not by the queue. It also asks which keys these checks prove
// that Main does not have. Result: Attested.
type Attest struct {
	Change   ChangeID `json:"change"`
	Head     CommitID `json:"head"`
	HeadRef  string   `json:"head_ref"`
	Main     CommitID `json:"main"`
	Analyzer string   `json:"analyzer,omitempty"` // version to judge both by
}

// Name implements Task.
func (t Attest) Name() (string, string) { return "attest", string(t.Change) }

// Attested has the steps that have passed on the head of a change, and the
// reports there that count for nothing, and why.
type Attested struct {
	Action string      `json:"action"`
	Change ChangeID    `json:"change"`
	Head   CommitID    `json:"head"`
	Steps  StepSet     `json:"steps"` // of the head's own tree
	Passed []HeadPass  `json:"passed,omitempty"`
	Doubts []HeadDoubt `json:"doubts,omitempty"`
	Open   bool        `json:"open,omitempty"` // something runs there still
}

func (Attested) event() {}

// HeadPass is a step that has passed on a head, or on a merge of it that the forge made,
// with the keys of that step that this commit has and Attest.Main has not. Began is when
// the first of its checks began, and Ended when the last one ended, both by the clock of
// the server.
type HeadPass struct {
	Step  Digest   `json:"step"`
	On    CommitID `json:"on,omitempty"` // the merge of the head that it ran on; empty: the head itself
	Keys  []Key    `json:"keys"`         // of that commit
	Began Instant  `json:"began"`
	Ended Instant  `json:"ended"`
}

// ProvenOn reports whether a pass of a step on a commit proves all keys that the
// step has there, though the run was asked for none of them: the pass counts for the
// whole tree, or the tree is the only target.
func ProvenOn(s config.Step, keys []Key) bool {
	if s.Counts == config.CountsTree || s.Scope == config.ScopeRepository {
		return true
	}
	for _, k := range keys {
		if k.Target != config.TargetTree {
			return false
		}
	}
	return len(keys) > 0
}

// HeadDoubt is why a report on a head counts for nothing in a step.
type HeadDoubt struct {
	Step string `json:"step,omitempty"` // its name; empty: in any
	Why  string `json:"why"`            // hostile text
}

// OwnCI is the result of the runs of the forge's CI on a change's own head, as of
// the last look.
type OwnCI struct {
	At     Instant     `json:"at"`
	Keys   int         `json:"keys,omitempty"`   // that were proven by them
	Doubts []HeadDoubt `json:"doubts,omitempty"` // why others were not
	Open   bool        `json:"open,omitempty"`   // something ran there still: looked at again when it ends
}

// HeadChecked says that the forge's CI has ended something on a commit that may be the
// head of a change.
type HeadChecked struct {
	Head CommitID `json:"head"`
}

func (HeadChecked) event() {}
