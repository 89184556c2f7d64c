package queue

// Event is something that happened. Events are folded into the state by
// speculation.Step; a repeated, late or reordered event is a no-op there.
type Event struct {
	ID   string  `json:"id"` // the same when the event is delivered again
	At   Instant `json:"at"` // when the server took it in; Step has no other clock
	Body Body    `json:"-"`
}

// Body is the content of an event: one of the types that bodies lists
// (codec.go).
type Body interface{ event() }

// Commented is a comment on a pull request. Its commands are parsed by
// ParseCommands when the event is folded, not before.
type Commented struct {
	Number  int    `json:"number"`  // 0: a command about the queue, given on no pull request
	Comment string `json:"comment"` // the forge's id of the comment; empty: a button was pressed
	Author  string `json:"author"`
	Body    string `json:"body"`          // hostile text
	Bot     bool   `json:"bot,omitempty"` // the author is an App

	Head CommitID `json:"head,omitempty"` // the head that the button is for

	Made Instant `json:"made,omitempty"` // when, by the forge's clock; 0: not told
	Late bool    `json:"late,omitempty"` // it was found later (forge.Forge.Missed): what came after it may not have been heard either
}

// Labeled says that a label was set on or taken off a pull request, or that the queue's
// account was assigned to it, or is no longer.
type Labeled struct {
	Number int    `json:"number"`
	Label  string `json:"label"`
	Actor  string `json:"actor"`
	On     bool   `json:"on"`
	Bot    bool   `json:"bot,omitempty"` // the actor is an App

	Assigned bool `json:"assigned,omitempty"` // it is about the account, and there is no label

	Made Instant `json:"made,omitempty"` // as in Commented
	Late bool    `json:"late,omitempty"` // as in Commented
}

// Edited says that somebody else than us has edited the comment of a queue on a pull
// request. It has a command, like those of Commented, where the edit toggles the box and
// does nothing else.
type Edited struct {
	Number  int    `json:"number"`
	Author  string `json:"author"`            // of the edit
	Bot     bool   `json:"bot,omitempty"`     // the author is an App
	Before  Said   `json:"before"`            // the comment as it was before
	Command string `json:"command,omitempty"` // empty: it is no toggle

	Made Instant `json:"made,omitempty"` // as in Commented
}

// HeadMoved says that a pull request has another head commit than before.
type HeadMoved struct {
	Number int      `json:"number"`
	Head   CommitID `json:"head"`
	By     string   `json:"by,omitempty"`   // the pusher, if the forge says so
	Made   Instant  `json:"made,omitempty"` // of the push, as in Commented
}

// Closed says that a pull request was closed, merged or not.
type Closed struct {
	Number int  `json:"number"`
	Merged bool `json:"merged"`
}

// Retargeted says that a pull request now asks for another base branch, or has become a draft
// or ready: the last inspection no longer holds.
type Retargeted struct {
	Number int `json:"number"`
}

// MainMoved says that a branch was pushed to, by us or by somebody else. The queue reads its
// new commit from git, not from the event.
type MainMoved struct {
	Branch string `json:"branch"`
}

func (Commented) event()  {}
func (Labeled) event()    {}
func (Edited) event()     {}
func (HeadMoved) event()  {}
func (Closed) event()     {}
func (Retargeted) event() {}
func (MainMoved) event()  {}
