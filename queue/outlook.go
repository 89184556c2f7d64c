package queue

import "strconv"

// Outlook is what the queue believes of a pending change, and the last answer
// of its plan. It decides nothing.
type Outlook struct {
	Next    Next
	Chance  float64   // that it lands, as the plan has it; 0: nothing has been planned yet
	Arrived float64   // the same as predicted on its arrival; 0: it was not
	Good    float64   // that it is green on its own
	Tested  int       // targets that have passed with it since they last failed
	Targets int       // that it affects
	Ahead   []Rival   // undecided conflicting changes ahead, in order, at most MostRivals
	Pairs   []Pair    // pending or landed changes that it may be red together with, the likeliest first, at most MostPairs
	Doubts  []Suspect // failures that it may be to blame for, the latest last
	Trust   Trust
}

// Bounds of the lists in an Outlook.
const (
	MostRivals = 20
	MostPairs  = 10
)

// Next is the plan's last answer to why no further build of a change is started
// now. The zero Next: there has been no plan since this process began.
type Next struct {
	Code      ReasonCode // one of the ReasonWaits...
	Value     float64    // of the build it would be
	Threshold float64    // that Value had to reach and does not
	Target    bool       // Value is the chance that its likeliest target is needed, Threshold the one of targets
	Place     int        // among the builds that the plan wanted, by value, from 1
	Rivals    int        // how many these were
	Least     float64    // the least value of a running build
	Until     Instant    // the answer may be another then, and the plan looks again; 0: when something happens
	For       []ChangeID // the changes with the verdicts or builds that it waits for
	Builds    []BuildID  // that verify what it would
	Known     string     // ReasonWaitsKnown: one of the Known..., on the likeliest future
	Limit     int        // the cap or the window that is reached
	Spent     int        // of a cap
}

// Reason returns the answer as a reason to wait, with the details of its code.
func (n Next) Reason() Reason {
	r := Reason{Code: n.Code, Until: n.Until}
	switch n.Code {
	case ReasonWaitsWindow, ReasonWaitsHour:
		r.Names = []string{strconv.Itoa(n.Limit)}
	case ReasonWaitsCap:
		r.Names = []string{strconv.Itoa(n.Spent), strconv.Itoa(n.Limit)}
	case ReasonWaitsUnlikely:
		r.Names = []string{decimal(n.Value), decimal(n.Threshold)}
	case ReasonWaitsTime, ReasonWaitsShared, ReasonWaitsSplit:
		for _, id := range n.For {
			r.Names = append(r.Names, string(id))
		}
	case ReasonWaitsKnown:
		r.Names = []string{n.Known}
	case ReasonWaitsBuild:
		for _, id := range n.Builds {
			r.Names = append(r.Names, string(id))
		}
	case ReasonWaitsSlot:
		if n.Place > 0 {
			r.Names = []string{strconv.Itoa(n.Place), strconv.Itoa(n.Rivals)}
		}
	}
	return r
}

// decimal writes a value to two digits: a text does not change with each second
// that passes.
func decimal(q float64) string {
	switch {
	case q > 0 && q < 0.001:
		return "<0.001"
	case q >= 100:
		return strconv.FormatFloat(q, 'f', 0, 64)
	}
	return strconv.FormatFloat(q, 'g', 2, 64)
}

// Results that a future may have shown.
const (
	KnownPassed   = "passed"
	KnownFailed   = "failed"
	KnownConflict = "does-not-merge"
	KnownEmpty    = "empty"
)

// Rival is an undecided conflicting change ahead.
type Rival struct {
	Change ChangeID
	Chance float64 // that it lands
	Ends   Instant // when its verdict is expected; 0: it is not known
	Red    float64 // chance that the two are red together where each is green alone
	Shared int     // targets that both affect
}

// Pair is a change that another may be red together with.
type Pair struct {
	With   ChangeID
	Chance float64
	Landed bool
}

// Suspect is a failure that a change may be to blame for.
type Suspect struct {
	Pair   ChangeID // together with this one; empty: alone
	Chance float64
	Others []ChangeID // the changes that may be to blame instead
}

// Trust is how often the predictions on arrival have come true lately, and the
// thresholds that follow from that.
type Trust struct {
	Accuracy  float64
	Threshold float64 // of a build's value
	Single    float64 // of a target's chance to be needed, in a build that is not a change's first
}
