package queue

import "time"

// View is what is shown of one change: facts, no words. Texts and pages are
// rendered from it.
type View struct {
	Change    Change
	Lane      string      // the change's, where that is not the default one
	Position  int         // in the order, from 1; 0 when it is not in it
	Total     int         // changes in the order
	Waits     []Reason    // the reasons why it waits, the most telling first
	Ahead     []ChangeID  // undecided conflicting changes ahead of it
	Rollup    []ChangeID  // the changes with which it is to land in one merge
	Conflicts []Conflict  // the changes in conflict with it, and the witnesses
	Unknown   []Unknown   // which of those, itself included, could not be analyzed
	Builds    []BuildView // its live builds
	Forecast  Forecast    // of its verdict
	Outlook   Outlook     // of a pending change; in a queue's list only its Next
	Notice    Reason      // answer to the latest command that was not followed
	NoticeTo  string
	Answered  Instant // when a command on its pull request last had its answer
	Previous  *Change // the pull request's change before this one, when this one has no verdict
}

// Unknown is a change that could not be analyzed, so that it conflicts with
// every other.
type Unknown struct {
	Change ChangeID
	Why    string // hostile text
}

// Forecast is when something should be over, going by the durations seen so
// far: between Early and Late. The zero Forecast: nobody knows. Once Late has
// passed it takes longer than it ever should, and there is no better guess.
type Forecast struct {
	Early Instant
	Late  Instant
	Usual time.Duration // usual time of the build under way that it waits for; 0: there is none
}

// BuildView is one live build as people see it.
type BuildView struct {
	Build    Build
	Expected Instant       // when it should end, which may have passed; 0 when unknown
	Usual    time.Duration // usual time of such a build; 0 when unknown
	Done     int           // steps with all their results
}

// Steps is how many steps the build runs.
func (v BuildView) Steps() int {
	_, all := v.Build.Steps()
	return all
}

// QueueView is what is shown of a whole queue.
type QueueView struct {
	Key        string   // in the store; it never changes
	Name       string   // by now, for people
	Version    int64    // of the shown data except Waits and Trouble: changes whenever these data may; 0: not said
	Waits      string   // why the forge is not asked at the moment, and until when; "" where it is
	Trouble    []string // actions that keep failing, the longest first, and when each is tried again
	Default    string   // that the default branch is another one by now, and what to do; "" where it is not
	Web        string   // address of the repository's pages at its forge; "": it has none
	Mark       string   // the sign that its forge writes before the number of a change; "": "#"
	Away       string   // why this server does not show the present state, e.g. that it starts; "" where it does
	Main       Main
	Slots      int
	Trust      Trust
	Order      []View     // changes without a verdict, in order; parked ones last
	Recent     []Change   // verdicts, newest first
	Unproven   int        // keys of main that no build has passed
	Red        []string   // targets of main with a decisive failure
	Failing    []Evidence // the failures that make them red, at most 5
	Unrun      []Evidence // steps that verify main and that no runner can run, because a command is not there; at most 5
	MainBuilds []BuildView
	Blame      Reason     // the commits that have turned main red (ReasonBlame)
	Hunts      []Hunt     // the hunts on main that are under way, then those that ended lately
	Hosts      []HostView // on which its builds run, as far as they are known, by name
	Models     ModelsView
	Upgrade    *UpgradeView // nil: no newer version of the analyzer is being proven
}

// Running returns how many builds there are: of the branch itself, and of the changes in
// the order. A build for several changes is shown with each of them, and is one.
func (v QueueView) Running() int {
	seen := map[BuildID]bool{}
	for _, b := range v.MainBuilds {
		seen[b.Build.ID] = true
	}
	for _, c := range v.Order {
		for _, b := range c.Builds {
			seen[b.Build.ID] = true
		}
	}
	return len(seen)
}
