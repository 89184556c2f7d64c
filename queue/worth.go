package queue

// WorthKind says what a build is for.
type WorthKind string

// Purposes of builds.
const (
	WorthMain      WorthKind = "main"      // keys of main itself
	WorthTrain     WorthKind = "train"     // keys on the whole tree of a commit that is about to land
	WorthAlone     WorthKind = "alone"     // a change with no other ahead of it
	WorthLikeliest WorthKind = "likeliest" // a change on its likeliest future
	WorthEarly     WorthKind = "early"     // the same, while the change's own build ends
	WorthTrial     WorthKind = "trial"     // of one that probably fails there, beside the train
	WorthProbe     WorthKind = "probe"     // of one alone, before it boards
	WorthTogether  WorthKind = "together"  // several changes that are to land as one merge
	WorthFlip      WorthKind = "flip"      // on a future in which one outcome is the other one
	WorthLate      WorthKind = "late"      // the same, because the build probably ends before that outcome is known
	WorthSpare     WorthKind = "spare"     // on another future, in a slot that no other build wants
	WorthSample    WorthKind = "sample"    // a change deep in the line, with some of those ahead: to learn which changes are to blame
	WorthTry       WorthKind = "try"       // a change that is only tried, in such a slot
	WorthHunt      WorthKind = "hunt"      // a commit of main's line that may have turned main red
	WorthRevert    WorthKind = "revert"    // a revert of the commit that has turned main red, on main as it is
	WorthControl   WorthKind = "control"   // keys that have failed with a change, on main without it
	WorthWatch     WorthKind = "watch"     // keys of main that were proven long ago, in a slot that no other build wants
	WorthUpgrade   WorthKind = "upgrade"   // keys of main under a newer version of the analyzer, in such a slot
)

// Worth is why a build was started: its purpose, the parts of its value, and the beliefs of the
// plan at that moment. It is data; the sentence for people is made from it. A build that an
// older version asked for has the zero Worth.
type Worth struct {
	Kind    WorthKind `json:"kind,omitempty"`
	Fixed   float64   `json:"fixed,omitempty"`   // of kinds that are not about futures: the whole value
	Needed  float64   `json:"needed,omitempty"`  // mean of the chances that its targets' results decide the change, by share of work, on the likeliest future
	Odds    float64   `json:"odds,omitempty"`    // of its future against the likeliest one; 0: it is that one
	Aging   float64   `json:"aging,omitempty"`   // 1 and the hours that the change has waited, at most MostAging; 1 where waiting does not count
	Lane    float64   `json:"lane,omitempty"`    // benefit of its lane
	Project float64   `json:"project,omitempty"` // benefit of its projects

	Threshold float64 `json:"threshold,omitempty"` // that the value had to reach; 0: none
	Single    float64 `json:"single,omitempty"`    // that a target's chance to be needed had to reach; 0: none
	Rank      int     `json:"rank,omitempty"`      // among the builds that the plan wanted then, by value, from 1
	Rivals    int     `json:"rivals,omitempty"`    // how many these were
	Running   int     `json:"running,omitempty"`   // builds that ran already
	Slots     int     `json:"slots,omitempty"`

	Lands   int          `json:"lands,omitempty"`   // undecided changes that it assumes to land
	Fails   int          `json:"fails,omitempty"`   // and not to
	Assumes []Assumption `json:"assumes,omitempty"` // the least certain of both, at most MostAssumed, the least certain first
	Least   []Need       `json:"least,omitempty"`   // targets that are needed less than others, at most MostNeeds, the least first
	Covers  Coverage     `json:"covers,omitzero"`
	With    []ChangeID   `json:"with,omitempty"` // the changes that it is for, in order, where they are several

	AllGood    float64 `json:"all_good,omitempty"`    // of a rollup: the chance that all of it lands
	PerLanding float64 `json:"per_landing,omitempty"` // builds that it is expected to take for each change that lands, splits counted
	OneByOne   float64 `json:"one_by_one,omitempty"`  // the same where each change is built on its own
}

// Whole reports whether the value has no parts: a build of this kind is not about
// a change's futures.
func (k WorthKind) Whole() bool {
	switch k {
	case WorthMain, WorthTrain, WorthEarly, WorthTrial, WorthProbe, WorthTogether, WorthUpgrade, WorthTry, WorthHunt, WorthRevert, WorthControl, WorthWatch:
		return true
	}
	return false
}

// MostAging is the largest Worth.Aging, so that two hours of waiting count. A queue that is far
// behind would otherwise start builds that are hardly ever needed, only because all of its changes
// have waited for long, and fall back further.
const MostAging = 3

// Bounds of the lists in a Worth.
const (
	MostAssumed = 12
	MostNeeds   = 6
)

// Assumption is one outcome that a build takes for given.
type Assumption struct {
	Change  ChangeID `json:"change"`
	Lands   bool     `json:"lands"`
	Chance  float64  `json:"chance"`            // of this outcome
	Flipped bool     `json:"flipped,omitempty"` // it is not the likelier one
}

// Need is how likely one target's result decides a change.
type Need struct {
	Target string  `json:"target"`
	Chance float64 `json:"chance"`
}

// Coverage counts the targets of a build's commit that its change brings: each
// is in one of the four.
type Coverage struct {
	Asked  int `json:"asked,omitempty"`  // it verifies them
	Shared int `json:"shared,omitempty"` // other builds do
	Passed int `json:"passed,omitempty"` // have passed, at this content
	Left   int `json:"left,omitempty"`   // wait: each is unlikely to be needed
}

// All returns the number of targets.
func (c Coverage) All() int { return c.Asked + c.Shared + c.Passed + c.Left }

// PartName names a factor of a build's value.
type PartName string

// The factors.
const (
	PartFixed   PartName = "fixed"
	PartNeeded  PartName = "needed"
	PartOdds    PartName = "odds"
	PartAging   PartName = "aging"
	PartLane    PartName = "lane"
	PartProject PartName = "project"
)

// Part is one factor of a build's value.
type Part struct {
	Name   PartName
	Factor float64
}

// Parts returns the factors of the value; those that play no role are left out,
// but for needed and aging.
func (w Worth) Parts() []Part {
	switch {
	case w.Kind == "":
		return nil
	case w.Fixed != 0:
		return []Part{{PartFixed, w.Fixed}}
	}
	parts := []Part{{PartNeeded, w.Needed}}
	if w.Odds != 0 {
		parts = append(parts, Part{PartOdds, w.Odds})
	}
	parts = append(parts, Part{PartAging, w.Aging})
	for _, p := range []Part{{PartLane, w.Lane}, {PartProject, w.Project}} {
		if p.Factor != 0 && p.Factor != 1 {
			parts = append(parts, p)
		}
	}
	return parts
}

// Value returns the product of the parts, 0 where there are none.
func (w Worth) Value() float64 {
	parts := w.Parts()
	if len(parts) == 0 {
		return 0
	}
	value := 1.0
	for _, p := range parts {
		value *= p.Factor
	}
	return value
}

// Flips returns the assumptions that are not the likelier ones.
func (w Worth) Flips() []Assumption {
	var out []Assumption
	for _, a := range w.Assumes {
		if a.Flipped {
			out = append(out, a)
		}
	}
	return out
}
