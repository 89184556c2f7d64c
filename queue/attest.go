package queue

import (
	"github.com/submitqueue/submitqueue/queue/config"
)

// Attest asks which checks the forge's own CI has passed on the head of a change, after a
// push of its author and not of the queue, and which keys that Main has not they prove.
// Result: Attested.
type Attest struct {
	Change   ChangeID `json:"change"`
	Head     CommitID `json:"head"`
	HeadRef  string   `json:"head_ref"`
	Main     CommitID `json:"main"`
	Analyzer string   `json:"analyzer,omitempty"` // version to judge both by
}

// Name implements Task.
func (t Attest) Name() (string, string) { return "attest", string(t.Change) }

// Attested is what has passed on the head of a change, and what there counts for
// nothing and why.
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
// with the keys that this commit has by that step and the commit of the task has not.
// Began and Ended are by the clock of the server: when the first of its checks began, and
// the last ended.
type HeadPass struct {
	Step  Digest   `json:"step"`
	On    CommitID `json:"on,omitempty"` // the merge of the head that it ran on; empty: the head itself
	Keys  []Key    `json:"keys"`         // of that commit
	Began Instant  `json:"began"`
	Ended Instant  `json:"ended"`
}

// ProvenOn reports whether a pass of a step on a commit, of which nothing was asked,
// shows all that the step has there: it covers the tree, or there is nothing but the
// tree.
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

// HeadDoubt is why what was reported on a head counts for nothing in a step.
type HeadDoubt struct {
	Step string `json:"step,omitempty"` // its name; empty: in any
	Why  string `json:"why"`            // hostile text
}

// OwnCI is what the runs of the forge's CI on a change's own head have come to, when
// they were looked at last.
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
