package api

import (
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// Worth is why a build was started: its value is the product of its parts.
type Worth struct {
	Kind      string       `json:"kind"` // one of queue.WorthKind
	Value     float64      `json:"value"`
	Parts     []Part       `json:"parts"`
	Threshold float64      `json:"threshold,omitempty"`        // the least value for a start
	Single    float64      `json:"target_threshold,omitempty"` // the least chance of a target to be needed
	Rank      int          `json:"rank,omitempty"`             // by value, among the builds that could be started then
	Rivals    int          `json:"rivals,omitempty"`           // how many these were
	Running   int          `json:"running"`                    // builds that ran then
	Slots     int          `json:"slots"`
	Lands     int          `json:"lands"`             // undecided changes that it assumes to land
	Fails     int          `json:"fails"`             // undecided changes that it assumes not to land
	Assumes   []Assumption `json:"assumes,omitempty"` // the least certain of both
	Least     []Need       `json:"least,omitempty"`   // targets that are needed less than others
	Covers    Coverage     `json:"covers"`
	Coverage  string       `json:"coverage,omitempty"` // the same in words
}

// Part is one factor of a build's value.
type Part struct {
	Name   string  `json:"name"` // one of queue.PartName
	Factor float64 `json:"factor"`
	Text   string  `json:"text"` // the meaning, in words
}

// Assumption is one outcome that a build assumes.
type Assumption struct {
	Change  string  `json:"change"`
	Lands   bool    `json:"lands"`
	Chance  float64 `json:"chance"`            // of this outcome
	Flipped bool    `json:"flipped,omitempty"` // it is not the likelier one
}

// Need is the chance that one target's result decides a change.
type Need struct {
	Target string  `json:"target"`
	Chance float64 `json:"chance"`
}

// Coverage counts the targets of a build's change by how they are verified.
type Coverage struct {
	Asked  int `json:"asked"`
	Shared int `json:"shared"`
	Passed int `json:"passed"`
	Left   int `json:"left"`
}

// Next is why no further build of a change is started now.
type Next struct {
	Reason    Reason   `json:"reason"`
	Value     float64  `json:"value,omitempty"`     // of the build that would be started
	Threshold float64  `json:"threshold,omitempty"` // that the value would have to reach
	Target    bool     `json:"target,omitempty"`    // value and threshold are chances of a target to be needed
	Place     int      `json:"place,omitempty"`     // by value, among the builds that could be started
	Rivals    int      `json:"rivals,omitempty"`
	Least     float64  `json:"least_running,omitempty"` // the least value of a running build
	For       []string `json:"for,omitempty"`           // changes
	Builds    []string `json:"builds,omitempty"`        // live builds that verify the same
	Known     string   `json:"known,omitempty"`         // what builds of its likeliest future have shown
	Limit     int      `json:"limit,omitempty"`
	Spent     int      `json:"spent,omitempty"`
}

// Outlook is what the queue predicts of a pending change.
type Outlook struct {
	Chance  float64   `json:"chance"`           // that it lands
	Arrived float64   `json:"predicted_chance"` // the same, as predicted on arrival
	Good    float64   `json:"good"`             // that it is green on its own
	Tested  int       `json:"tested"`           // targets that have passed with it
	Targets int       `json:"targets"`          // that it affects; 0: everything
	Ahead   []Rival   `json:"ahead,omitempty"`  // undecided conflicting changes ahead, the first ones
	Pairs   []Pair    `json:"pairs,omitempty"`  // changes that it may be red together with
	Doubts  []Suspect `json:"doubts,omitempty"` // failures that it may be to blame for
	Trust   Trust     `json:"trust"`
}

// Rival is an undecided conflicting change ahead.
type Rival struct {
	Change string    `json:"change"`
	Chance float64   `json:"chance"`        // that it lands
	Ends   time.Time `json:"ends,omitzero"` // its verdict is expected then
	Red    float64   `json:"red"`           // chance that the two are red together where each is green alone
	Shared int       `json:"shared"`        // targets that both affect
}

// Pair is a change that another may be red together with.
type Pair struct {
	With   string  `json:"with"`
	Chance float64 `json:"chance"`
	Landed bool    `json:"landed,omitempty"`
}

// Suspect is a failure that a change may be to blame for.
type Suspect struct {
	Pair   string   `json:"pair,omitempty"` // together with this one
	Chance float64  `json:"chance"`
	Others []string `json:"others,omitempty"` // changes that may be to blame instead
}

// Trust is how often predictions have come true lately, and the thresholds
// that follow from it.
type Trust struct {
	Accuracy  float64 `json:"accuracy"`
	Threshold float64 `json:"threshold"`
	Single    float64 `json:"target_threshold"`
}

func (s *Handlers) worthOf(x queue.Worth, value float64) *Worth {
	if x.Kind == "" {
		return nil
	}
	out := &Worth{
		Kind: string(x.Kind), Value: value, Threshold: x.Threshold, Single: x.Single, Rank: x.Rank, Rivals: x.Rivals,
		Running: x.Running, Slots: x.Slots, Lands: x.Lands, Fails: x.Fails, Covers: Coverage(x.Covers), Coverage: s.o.Words.Covers(x.Covers),
	}
	for _, p := range x.Parts() {
		out.Parts = append(out.Parts, Part{Name: string(p.Name), Factor: p.Factor, Text: s.o.Words.Part(x, p.Name)})
	}
	for _, a := range x.Assumes {
		out.Assumes = append(out.Assumes, Assumption{Change: string(a.Change), Lands: a.Lands, Chance: a.Chance, Flipped: a.Flipped})
	}
	for _, n := range x.Least {
		out.Least = append(out.Least, Need(n))
	}
	return out
}

func (s *Handlers) nextOf(c queue.Change, n queue.Next) *Next {
	if n.Code == "" {
		return nil
	}
	return &Next{
		Reason: *s.reasonOf(c, n.Reason()), Value: n.Value, Threshold: n.Threshold, Target: n.Target, Place: n.Place, Rivals: n.Rivals,
		Least: n.Least, For: texts.Strings(n.For), Builds: texts.Strings(n.Builds), Known: n.Known, Limit: n.Limit, Spent: n.Spent,
	}
}

// outlookOf returns nil for a change in a list.
func outlookOf(o queue.Outlook) *Outlook {
	if o.Good == 0 {
		return nil
	}
	out := &Outlook{Chance: o.Chance, Arrived: o.Arrived, Good: o.Good, Tested: o.Tested, Targets: o.Targets, Trust: Trust(o.Trust)}
	for _, r := range o.Ahead {
		out.Ahead = append(out.Ahead, Rival{Change: string(r.Change), Chance: r.Chance, Ends: moment(r.Ends), Red: r.Red, Shared: r.Shared})
	}
	for _, p := range o.Pairs {
		out.Pairs = append(out.Pairs, Pair{With: string(p.With), Chance: p.Chance, Landed: p.Landed})
	}
	for _, d := range o.Doubts {
		out.Doubts = append(out.Doubts, Suspect{Pair: string(d.Pair), Chance: d.Chance, Others: texts.Strings(d.Others)})
	}
	return out
}
