package queue

import "strings"

// RedMain says what becomes of what has turned main red.
type RedMain struct {
	// Revert is what becomes of the revert of the commit that turned the branch red: off (nothing is made), prepare (it is made on the branch as it is and built, and what came of it is shown), propose (besides, where it passes, a pull request with it is opened) or land (besides, the queue lands that by itself, as it lands any change). Default prepare.
	Revert RevertPolicy `json:"revert,omitempty" yaml:"revert,omitempty" jsonschema:"enum=off,enum=prepare,enum=propose,enum=land,default=prepare"`
}

// RevertPolicy is how far the queue goes by itself with the revert of a culprit.
type RevertPolicy string

// The policies.
const (
	RevertOff     RevertPolicy = "off"     // none is made
	RevertPrepare RevertPolicy = "prepare" // it is made and built
	RevertPropose RevertPolicy = "propose" // and proposed, once it is proven
	RevertLand    RevertPolicy = "land"    // and asked to be landed
)

// Prepares reports whether reverts are made and built.
func (p RevertPolicy) Prepares() bool { return p == RevertPrepare || p.Proposes() }

// Proposes reports whether a proven revert is proposed.
func (p RevertPolicy) Proposes() bool { return p == RevertPropose || p == RevertLand }

// OwnRequests is how the ids of requests begin that main's configuration asks for:
// nobody else's id begins so.
const OwnRequests = "own/"

// IsOwn reports whether a request is the queue's own: to land what main's
// configuration has it land.
func IsOwn(request string) bool { return strings.HasPrefix(request, OwnRequests) }

// Propose makes the revert of a culprit, which Pick describes, on the commit On of
// main, puts it on a branch of our own, and opens a pull request of that. The branch
// is named after the culprit; where a pull request of it is open, that is the one, so
// that a second one is never opened. Result: Proposed.
type Propose struct {
	Hunt   string   `json:"hunt"`
	Commit CommitID `json:"commit"` // the culprit
	On     CommitID `json:"on"`
	Head   CommitID `json:"head"` // what is proposed
	Pick   Pick     `json:"pick"`
}

// Name implements Task.
func (t Propose) Name() (string, string) {
	return "propose", t.Hunt + "/" + string(t.Commit)
}

// Proposed is the pull request that proposes a revert. Without a number there is
// none, and Refused says why.
type Proposed struct {
	Action  string   `json:"action"`
	Hunt    string   `json:"hunt"`
	Commit  CommitID `json:"commit"` // the culprit
	Number  int      `json:"number,omitempty"`
	URL     string   `json:"url,omitempty"`
	Head    CommitID `json:"head,omitempty"`    // of the pull request
	Refused string   `json:"refused,omitempty"` // hostile text
}

func (Proposed) event() {}

// Tell makes the check of a commit of main say what the state says of main: that it
// is red and what has turned it so, or that it is proven. The check has an external
// id. Result: Done.
type Tell struct {
	Commit CommitID `json:"commit"`
	Want   Digest   `json:"want"` // digest of the facts that are to be shown
	Red    bool     `json:"red,omitempty"`
}

// Name implements Task.
func (t Tell) Name() (string, string) {
	return "tell", string(t.Commit) + "-" + string(t.Want[:min(12, len(t.Want))])
}

// Told is what the check of a commit of main says.
type Told struct {
	Commit CommitID `json:"commit,omitempty"`
	Want   Digest   `json:"want,omitempty"`
	Red    bool     `json:"red,omitempty"`
}
