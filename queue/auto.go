package queue

import (
	"slices"
	"strings"
)

// Offered says that a pull request is open, with the facts that a webhook or a list
// shows for nothing. Other facts that rules of `auto` need are asked of the forge
// (Inspect, by CommandAuto), and only if the facts here do not exclude it.
type Offered struct {
	Number int      `json:"number"`
	Head   CommitID `json:"head"`
	Base   string   `json:"base"`
	Author string   `json:"author"` // the account that has opened it, and not what its commits say
	Draft  bool     `json:"draft,omitempty"`
	Labels []string `json:"labels,omitempty"` // hostile text

	// At is when the pull request was last changed, by the forge's clock, which tells
	// seconds: webhooks and lists arrive in any order. 0: not known.
	At Instant `json:"changed,omitempty"`
}

func (Offered) event() {}

// AutoRequests follows OwnRequests in the ids of the queue's own requests that are about
// rules of `auto`.
const AutoRequests = "auto/"

// IsAuto reports whether a request is the queue's own to enter a pull request by a rule.
func IsAuto(request string) bool { return strings.HasPrefix(request, OwnRequests+AutoRequests) }

// Auto is what the queue remembers of a pull request to enter it by a rule. It is made
// only while there are rules.
type Auto struct {
	Offered Offered  `json:"offered"`         // as last shown; without a number: it is not open
	Under   Digest   `json:"under,omitempty"` // the rules by which it was last looked at
	Due     Instant  `json:"due,omitempty"`   // when it is looked at; 0: when something happens
	Last    Instant  `json:"last,omitempty"`  // when it was last looked at
	Looks   int      `json:"looks,omitempty"` // how often, at this head
	Out     CommitID `json:"out,omitempty"`   // the head at which somebody has taken it out, or has kept it out
	Spent   CommitID `json:"spent,omitempty"` // the head that has had its turn in the queue
}

// Ruling is what a rule of `auto` says of a pull request.
type Ruling struct {
	Rule  string `json:"rule"`
	Lacks []Lack `json:"lacks,omitempty"` // the parts that do not hold; none: the rule holds
}

// LackKind names what a rule of `auto` asks for.
type LackKind string

// Conditions that a pull request may lack. Names holds the text of each.
const (
	LackBase      LackKind = "base"      // it asks for another branch; Names: that one
	LackReady     LackKind = "draft"     // it is a draft
	LackLabels    LackKind = "labels"    // Names: labels that are not set
	LackAuthor    LackKind = "author"    // Names: its author
	LackApprovals LackKind = "approvals" // Names: how many of its head count, how many it takes
	LackChecks    LackKind = "checks"    // Names: the patterns that do not hold
	LackPaths     LackKind = "paths"     // it changes paths that it may not, or none of those that it must
	LackWriter    LackKind = "writer"    // nobody with write access stands for this head
	LackUnjudged  LackKind = "unjudged"  // the forge does not let us ask; Names: its answer
	LackTurn      LackKind = "turn"      // this head was taken out, or has had its turn
)

// Lack is one condition of a rule that does not hold.
type Lack struct {
	Kind  LackKind `json:"kind"`
	Names []string `json:"names,omitempty"` // hostile text
}

// With returns an offer with the facts of another of the same second, of which nobody knows
// which is the newer: with the labels of both, and no draft if one of them is none. A look
// at the pull request tells more.
func (o Offered) With(p Offered) Offered {
	for _, l := range p.Labels {
		if !slices.Contains(o.Labels, l) {
			o.Labels = append(slices.Clip(o.Labels), l)
		}
	}
	o.Draft = o.Draft && p.Draft
	return o
}

// Offers reports whether an offer says the same as another.
func (o Offered) Offers(p Offered) bool {
	return slices.Equal(o.Labels, p.Labels) && o.Number == p.Number && o.Head == p.Head && o.Base == p.Base && o.Author == p.Author && o.Draft == p.Draft
}
