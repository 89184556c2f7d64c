package queue

// Aim names a thing of main that is run again: a step, by its name, on a target.
// An empty Target stands for any one that the step has.
type Aim struct {
	Step   string `json:"step"`
	Target string `json:"target,omitempty"`
}

// ID names the aim among those of a queue.
func (a Aim) ID() string { return a.Step + "\x00" + a.Target }

// Aimed is an aim with the key that main has for it.
type Aimed struct {
	Aim
	Key Key `json:"key"`
}

// Control is the result of main itself where changes have failed: of the same step
// on the same target, without any of them. It is kept as long as a rejection rests
// on it, and is about one stretch of main's line (Line.Epoch).
type Control struct {
	Aim
	Commit  CommitID `json:"commit,omitempty"`   // of main's line; the other fields are about it. Empty: not asked yet
	Asked   CommitID `json:"asked,omitempty"`    // of main's line, where it was asked for last; empty once a change has landed since that may have brought a key
	Key     Key      `json:"key,omitzero"`       // main's, at Commit
	TipOnly bool     `json:"tip_only,omitempty"` // an older commit of main's line has no such key: it is asked for on the tip only
	Missing bool     `json:"missing,omitempty"`  // main has no such step or target at Commit: it cannot be to blame
	Good    Instant  `json:"good,omitempty"`     // when Key was last seen to pass, wherever
	Began   Instant  `json:"began,omitempty"`    // when the latest run began that has passed it on a commit of main's line; 0: none has
	Build   BuildID  `json:"build,omitempty"`    // that run
	Seq     int      `json:"seq,omitempty"`      // where on main's line that run stands (Line.Seq)
	Since   Instant  `json:"since,omitempty"`    // only a run that began then, or later, is enough; 0: none is needed
	Runs    int      `json:"runs,omitempty"`     // builds started for it
	Retry   Instant  `json:"retry,omitempty"`    // no other is started before
}

// Drift is a key of main that had passed and fails now, though nothing that its hash
// covers has changed: something outside the repository has.
type Drift struct {
	Aim
	Key   KeyID   `json:"key"`
	Good  Instant `json:"good,omitempty"`  // when it was last seen to pass; 0: not known
	Bad   Instant `json:"bad"`             // when it was first seen to fail after that
	Build BuildID `json:"build,omitempty"` // that shows the failure
}
