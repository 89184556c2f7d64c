package queue

import "time"

// Request is a command that waits for the forge's facts about its author and the pull request.
type Request struct {
	ID      string  `json:"id"`
	Number  int     `json:"number"` // 0: it is about the queue, and given on no pull request
	User    string  `json:"user"`
	Comment string  `json:"comment,omitempty"` // to react to; empty for labels
	Command Command `json:"command"`
	At      Instant `json:"at"`
	Bot     bool    `json:"bot,omitempty"` // the user is an App

	Boarding bool     `json:"boarding,omitempty"` // the queue's own, right before a change lands: meanwhile it stays where it is
	Again    bool     `json:"again,omitempty"`    // something has happened since the forge was asked: it is asked once more
	Twice    bool     `json:"twice,omitempty"`    // it was seen to ask for another branch: it is looked at once more
	Held     bool     `json:"held,omitempty"`     // it waits for the end of the push of its change
	Head     CommitID `json:"head,omitempty"`     // it is about this commit and no other
	Late     bool     `json:"late,omitempty"`     // it was not heard when it was given: the head may have moved since
	Made     Instant  `json:"made,omitempty"`     // when it was given, by the forge's clock; 0: not told
	Box      bool     `json:"box,omitempty"`      // it was given by the box of our comment, which is to show what became of it
	Rule     string   `json:"rule,omitempty"`     // with Own: the rule of `auto` that it is by
	Own      bool     `json:"own,omitempty"`      // main's configuration asks for it: nobody's permission is needed, and it is nobody's approval
}

// Word is when a command was given. The two clocks may differ, and a webhook takes its time.
type Word struct {
	At   Instant `json:"at,omitempty"`   // when the server heard of it
	Made Instant `json:"made,omitempty"` // by the forge's clock, of whole seconds on GitHub; 0: not told
}

// Before reports whether a command is known to have been given before another one: both by the
// forge's clock, or both as they were heard. One that was found later, at an unknown time after it
// was given, is before another one by the other clock only where there is no doubt.
func (r *Request) Before(o Word) bool {
	switch {
	case r.Made != 0 && o.Made != 0:
		return r.Made < o.Made
	case r.Late:
		return r.Made != 0 && r.Made.Add(ClocksDiffer) < o.At
	}
	return r.At < o.At
}

// Word returns when the command was given.
func (r *Request) Word() Word { return Word{At: r.At, Made: r.Made} }

// touchedWithin is how long after a command the forge may show its pull request as changed
// by that very command.
const touchedWithin = time.Second

// Doubtful reports whether a command was heard late and its pull request has changed since
// it was given: the head may be another one. changed is by the forge's clock; 0: not told.
func (r *Request) Doubtful(changed Instant) bool {
	return r.Late && (r.Head == "" || r.Held) && changed > r.Made.Add(touchedWithin)
}

// Earlier reports whether a command was given before another one, as far as can be told: one
// of two that wait must be the first, so it is a guess where the clocks differ. Before is certain.
func (r *Request) Earlier(o *Request) bool {
	if (r.Late || o.Late) && r.Made != 0 && o.Made != 0 {
		return r.Made < o.Made || r.Made == o.Made && r.At < o.At
	}
	return r.Given() < o.Given()
}

// Given returns when the command was given: those that were found later were found in any order.
func (r *Request) Given() Instant {
	if r.Late && r.Made != 0 {
		return min(r.At, r.Made)
	}
	return r.At
}

// ClocksDiffer is by how much the clocks of a server and of its forge may differ, with the time
// that a webhook takes. A command that is heard later than that was heard late.
const ClocksDiffer = 5 * time.Minute
