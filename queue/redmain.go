package queue

import "strings"

// OwnRequests begins the ids of requests that main's configuration makes. No id of
// another request begins so.
const OwnRequests = "own/"

// IsOwn reports whether a request is the queue's own: to land what main's
// configuration has it land.
func IsOwn(request string) bool { return strings.HasPrefix(request, OwnRequests) }

// Propose makes the revert of a culprit, which Pick describes, on the commit On of
// main, puts it on a branch of our own, which is named after the culprit, and opens a
// pull request for it, unless one is open. Result: Proposed.
type Propose struct {
	Hunt   string   `json:"hunt"`
	Commit CommitID `json:"commit"` // the culprit
	On     CommitID `json:"on"`
	Head   CommitID `json:"head"` // the commit that is proposed
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

// Weigh reads main's line behind a culprit, up to Tip, and finds the commits that its
// revert concerns: they touch a target that it touches, or the revert does not merge
// since they came. Result: Weighed.
type Weigh struct {
	Hunt     string   `json:"hunt"`
	Commit   CommitID `json:"commit"` // the culprit
	Tip      CommitID `json:"tip"`
	Analyzer string   `json:"analyzer,omitempty"` // version to judge the line by
}

// Name implements Task.
func (t Weigh) Name() (string, string) {
	return "weigh", t.Hunt + "/" + string(t.Commit) + "@" + string(t.Tip)
}

// Weighed names the commits of main's line that a culprit's revert concerns.
type Weighed struct {
	Action string   `json:"action"`
	Hunt   string   `json:"hunt"`
	Commit CommitID `json:"commit"`
	Tip    CommitID `json:"tip"`
	Later  []Later  `json:"later,omitempty"` // oldest first
}

func (Weighed) event() {}

// Tell makes the check of a commit of main say what the state says of main: that it
// is red and what has turned it so, or that it is proven. Result: Done.
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
