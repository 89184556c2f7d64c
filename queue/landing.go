package queue

// Push is a chain of commits on its way to main. The turn that writes it is
// the point of no return: what the gate let pass then is pushed, or the race
// is lost; later cancels are too late.
type Push struct {
	ID       string     `json:"id"`
	Expected CommitID   `json:"expected"` // main must be here
	Commits  []CommitID `json:"commits"`  // first-parent chain on Expected; the last becomes main
	Changes  []ChangeID `json:"changes"`  // one per commit
	At       Instant    `json:"at"`
	Unsure   bool       `json:"unsure,omitempty"` // what came of it is not known: main is being read
}

// Tip returns the commit that main is to become.
func (p *Push) Tip() CommitID { return p.Commits[len(p.Commits)-1] }

// Main is what the queue knows of its target branch.
type Main struct {
	Branch    string       `json:"branch"`
	Tip       CommitID     `json:"tip,omitempty"`
	Line      Line         `json:"line,omitzero"` // where Tip is
	Protected bool         `json:"protected,omitempty"`
	Surveyed  CommitID     `json:"surveyed,omitempty"`  // the commit whose keys were compared with the ledger
	Root      LinkID       `json:"root,omitempty"`      // root link of the keys of main that were not proven at Surveyed
	Suspects  []LineCommit `json:"suspects,omitempty"`  // commits we did not make since main was last proven, oldest first
	Config    *Config      `json:"config,omitempty"`    // the last good one of the target branch
	ConfigAt  CommitID     `json:"config_at,omitempty"` // where Config was first seen
	Broken    string       `json:"broken,omitempty"`    // why the present one is not used, with line and column
	Paused    *Pause       `json:"paused,omitempty"`
	Again     bool         `json:"again,omitempty"`   // something has happened since the reading under way began: read once more
	Retry     Instant      `json:"retry,omitempty"`   // red keys are run again then
	Backoff   int          `json:"backoff,omitempty"` // how often they were
}

// Pause stops landings until a maintainer resumes.
type Pause struct {
	By     string     `json:"by"` // user, or "submitqueue"
	Reason string     `json:"reason"`
	At     Instant    `json:"at"`
	Code   ReasonCode `json:"code,omitempty"` // set when the queue paused itself
}

// LineCommit is a commit on main's first-parent line.
type LineCommit struct {
	Commit  CommitID   `json:"commit"`
	Change  ChangeID   `json:"change,omitempty"`  // from the Change: trailer, where we made it
	Head    CommitID   `json:"head,omitempty"`    // from the Head: trailer
	Merged  []CommitID `json:"merged,omitempty"`  // its parents beyond the first: what a trailer says of Head must be among them
	Subject string     `json:"subject,omitempty"` // hostile text
}
