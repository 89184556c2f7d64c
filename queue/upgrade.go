package queue

// Upgrade is the proof of main under a newer version of its analyzer than the
// one in force. It takes part in no landing and no verdict: the version in
// force decides until all of main has passed under the newer one.
type Upgrade struct {
	Analyzer string   `json:"analyzer"`           // the newer version
	Surveyed CommitID `json:"surveyed,omitempty"` // the commit of the keys under it that were compared with the ledger
	Root     LinkID   `json:"root,omitempty"`     // root link of those that were not proven; empty: all were
	Total    int      `json:"total,omitempty"`    // keys that the commit has under it
	Unknown  string   `json:"unknown,omitempty"`  // why it cannot tell the commit's targets; hostile text
	Near     bool     `json:"near,omitempty"`     // the latest survey has left nothing to be proven
	Due      Instant  `json:"due,omitempty"`      // main is not surveyed again before
	Retry    Instant  `json:"retry,omitempty"`    // when failed proofs are tried again
	Backoff  int      `json:"backoff,omitempty"`  // how often they were

	Begun  Instant `json:"begun,omitempty"`  // when the proof began
	Chased int     `json:"chased,omitempty"` // how often main had moved on by the time that all of it had passed, since landings last waited
	Waits  int     `json:"waits,omitempty"`  // how often landings have waited for unproven keys
	Hold   Instant `json:"hold,omitempty"`   // until when they do, at the latest
}

// UpgradeView is an Upgrade as people see it.
type UpgradeView struct {
	From    string   // the version in force
	To      string   // the newer one
	Proven  int      // keys of main that have passed under the newer one
	Total   int      // of so many; 0: they are not counted yet
	Red     []string // targets that have failed under it, sorted
	Unknown string   // why it cannot tell main's targets; hostile text
	Hold    Instant  // until when landings wait for the rest, at the latest; 0: they do not
}
