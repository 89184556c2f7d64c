package queue

import "slices"

// If a change lands as another commit than its head, a forge does not see on its branch
// that it has landed. So the branch of its pull request is moved to that commit, and main
// after that: a forge that has taken note of the first move before the second shows the
// pull request as merged. Until main has moved, the head is where nobody has asked it to
// be; where main does not move, it is put back.

// HeadMove is the branch of a pull request on its way to the commit that its change lands
// as.
type HeadMove struct {
	Change ChangeID `json:"change"`
	Number int      `json:"number"`
	Branch string   `json:"branch"` // hostile text
	From   CommitID `json:"from"`   // the change's head
	To     CommitID `json:"to"`
	Seen   bool     `json:"seen,omitempty"` // the forge shows the pull request with To
}

// MostMoved bounds the commits of Pull.Moved: an event that names an older one is very
// late.
const MostMoved = 16

// WasMoved reports whether a push of ours has moved the pull request's branch to a commit.
func (p *Pull) WasMoved(to CommitID) bool { return slices.Contains(p.Moved, to) }

// PushStage is how far a Push is.
type PushStage string

// The stages of a push, in order. A push without Heads begins with the last.
const (
	PushingHeads PushStage = "heads" // Heads are being moved
	AwaitingSeen PushStage = "seen"  // Heads have moved: the forge is to take note of that, until Push.Until
	PushingMain  PushStage = ""      // main is being moved; also each push that an older version has written
)

// AllSeen reports whether the forge has taken note of all heads that the push has moved.
func (p *Push) AllSeen() bool {
	for _, h := range p.Heads {
		if !h.Seen {
			return false
		}
	}
	return true
}

// MoveHeads moves the Heads of the state's Push. Result: HeadsMoved.
type MoveHeads struct {
	Push string `json:"push"`
}

// SeeHeads reads which Heads of the state's Push the forge has taken note of. Result:
// HeadsSeen.
type SeeHeads struct {
	Push string `json:"push"`
}

// ReturnHeads undoes a push that has not moved main: the moves of branches that it has
// made, or may have made, and the bases under which it has made the forge show pull
// requests. Result: HeadsReturned.
type ReturnHeads struct {
	Push  string     `json:"push"`
	Heads []HeadMove `json:"heads,omitempty"`
	Based []ChangeID `json:"based,omitempty"` // those that ask for another branch than the queue's
}

// Name implements Task.
func (t MoveHeads) Name() (string, string) { return "heads", t.Push }

// Name implements Task.
func (t SeeHeads) Name() (string, string) { return "see", t.Push }

// Name implements Task.
func (t ReturnHeads) Name() (string, string) { return "return", t.Push }

// HeadsMoved is what came of MoveHeads. The branches of changes that it does not name are
// where they were.
type HeadsMoved struct {
	Action string     `json:"action"`
	Push   string     `json:"push"`
	Moved  []ChangeID `json:"moved,omitempty"`
}

// HeadsSeen is what came of SeeHeads: the changes with pull requests that show the new head.
type HeadsSeen struct {
	Action string     `json:"action"`
	Push   string     `json:"push"`
	Seen   []ChangeID `json:"seen,omitempty"`
}

// HeadsReturned is what came of ReturnHeads: the changes with a branch that the forge does
// not let us put back. One with a branch that somebody else has moved since is not among
// them.
type HeadsReturned struct {
	Action string     `json:"action"`
	Left   []ChangeID `json:"left,omitempty"`
}

func (HeadsMoved) event()    {}
func (HeadsSeen) event()     {}
func (HeadsReturned) event() {}
