package queue

import "github.com/submitqueue/submitqueue/queue/config"

// Push is a chain of commits on its way to main. The turn that writes it is
// the point of no return: the changes that the gate let pass then are pushed,
// or the race is lost; later cancels are too late.
type Push struct {
	ID       string     `json:"id"`
	Expected CommitID   `json:"expected"`        // main must be here
	Commits  []CommitID `json:"commits"`         // first-parent chain on Expected; the last becomes main
	Changes  []ChangeID `json:"changes"`         // one per commit, but for rollups; in order
	Sizes    []int      `json:"sizes,omitempty"` // changes of each commit, where some have several
	At       Instant    `json:"at"`
	Unsure   bool       `json:"unsure,omitempty"` // its result is not known: main is being read
	Heads    []HeadMove `json:"heads,omitempty"`  // branches of its pull requests that move before main; those that did, once that is known
	Stage    PushStage  `json:"stage,omitempty"`
	ByForge  bool       `json:"by_forge,omitempty"` // the forge is asked to merge the one pull request itself, in place of moving main
	Until    Instant    `json:"until,omitempty"`    // before PushingMain: main moves then at the latest
}

// Add puts a link at the end of the push.
func (p *Push) Add(l *Link) {
	all := l.Changes()
	if p.Sizes == nil && len(all) > 1 {
		for range p.Commits {
			p.Sizes = append(p.Sizes, 1)
		}
	}
	if p.Sizes != nil || len(all) > 1 {
		p.Sizes = append(p.Sizes, len(all))
	}
	p.Commits, p.Changes = append(p.Commits, l.Commit), append(p.Changes, all...)
}

// Of returns the changes of the push's i-th commit, in order.
func (p *Push) Of(i int) []ChangeID {
	if p.Sizes == nil {
		return p.Changes[i : i+1]
	}
	from := 0
	for _, n := range p.Sizes[:i] {
		from += n
	}
	return p.Changes[from : from+p.Sizes[i]]
}

// Tip returns the commit that main is to become.
func (p *Push) Tip() CommitID { return p.Commits[len(p.Commits)-1] }

// Main is what the queue knows of its target branch.
type Main struct {
	Branch     string         `json:"branch"`
	Tip        CommitID       `json:"tip,omitempty"`
	Line       Line           `json:"line,omitzero"` // where Tip is
	Protected  bool           `json:"protected,omitempty"`
	Repository int64          `json:"repository,omitempty"` // the forge's id of the repository, which outlives its name; 0: not known
	Away       string         `json:"away,omitempty"`       // why the repository is out of reach, and what to do; empty: it is not
	Renamed    string         `json:"renamed,omitempty"`    // the present name of Branch, if the queue does not follow it on its own
	Formerly   string         `json:"formerly,omitempty"`   // the name by which the server knows Branch, where the queue has followed a renaming
	Default    string         `json:"default,omitempty"`    // the default branch, where that is another one and nobody has chosen ours; hostile text
	Under      string         `json:"under,omitempty"`      // this record is no queue: the key of the queue that is kept for this branch
	Surveyed   CommitID       `json:"surveyed,omitempty"`   // the commit of the keys that were compared with the ledger
	Root       LinkID         `json:"root,omitempty"`       // root link of the keys of main that were not proven at Surveyed
	Suspects   []LineCommit   `json:"suspects,omitempty"`   // the latest of the commits we did not make since main was last proven, oldest first
	Config     *config.Config `json:"config,omitempty"`     // the last good one of the target branch
	ConfigAt   CommitID       `json:"config_at,omitempty"`  // where Config was first seen
	Lapsed     Instant        `json:"lapsed,omitempty"`     // until when entries of quarantine that have ended were taken in
	Unread     bool           `json:"unread,omitempty"`     // Tip has another quarantine than Config, which has not been read yet: nothing is in quarantine
	Broken     string         `json:"broken,omitempty"`     // why the present configuration is not used, with line and column
	Paused     *Pause         `json:"paused,omitempty"`
	Resumed    Instant        `json:"resumed,omitempty"` // when somebody last resumed landings: windows of freezes that were open then are over
	Ruled      Word           `json:"ruled,omitzero"`    // the latest command, of those that were followed, that holds all landings or ends that
	Nows       []Emergency    `json:"nows,omitempty"`    // of the last day, the oldest first
	Pushes     []HeadMoved    `json:"pushes,omitempty"`  // the latest pushes with a known time to pull requests that the queue has no record of, MostPushes at most
	Took       Instant        `json:"took,omitempty"`    // when the branch last took a push of ours
	Unfit      Instant        `json:"unfit,omitempty"`   // when a build of the branch itself ended, as the latest, since no runner could run it; 0: the latest did not
	Sought     Instant        `json:"sought,omitempty"`  // since when main stays where it is for a verdict that waits for a reading of it; 0: none does
	Split      []ChangeID     `json:"split,omitempty"`   // changes of pushes that were refused with several changes: they are pushed in parts
	Part       int            `json:"part,omitempty"`    // how many of Split may be pushed together; 0: half of them
	Again      bool           `json:"again,omitempty"`   // something has happened since the reading under way began: read once more
	Retry      Instant        `json:"retry,omitempty"`   // red keys are run again then
	Backoff    int            `json:"backoff,omitempty"` // how often they were

	Analyzers

	Upkeep
}

// MostPushes bounds Main.Pushes.
const MostPushes = 32

// Analyzers are the versions of the analyzer that the branch is, was and may be
// judged by. The fields are a Main's own, in Go and as it is stored.
type Analyzers struct {
	Analyzer string   `json:"analyzer,omitempty"` // version of the analyzer that Tip is judged by; empty: not known yet
	Former   string   `json:"former,omitempty"`   // the version before Analyzer, as long as passes under it are looked for
	FormerTo Instant  `json:"former_to,omitempty"`
	Next     *Upgrade `json:"next,omitempty"` // the proof under a newer version, or nil
}

// Upkeep is about proofs of the branch that were taken back, or that are run
// again. The fields are a Main's own, in Go and as it is stored.
type Upkeep struct {
	Forgotten []Forgotten `json:"forgotten,omitempty"` // passes that were taken back
	Control   LinkID      `json:"control,omitempty"`   // root link of the keys that Controls have run again
	Watch     LinkID      `json:"watch,omitempty"`     // root link of keys that were proven long ago and are run again (verify_main)
	Watched   Instant     `json:"watched,omitempty"`   // when keys that were proven long ago are looked for again
	Drift     []Drift     `json:"drift,omitempty"`     // keys of the present tip that fail by now, the earliest first
	Told      Told        `json:"told,omitzero"`       // the check of a commit of main, if main was red lately
}

// Pause stops landings until a maintainer resumes.
type Pause struct {
	By     string     `json:"by"` // user, or "submitqueue"
	Reason string     `json:"reason"`
	At     Instant    `json:"at"`
	Code   ReasonCode `json:"code,omitempty"` // set when the queue paused itself

	Until  Instant       `json:"until,omitempty"`  // it is a freeze: ends then, and lets emergencies pass
	Window *FreezeWindow `json:"window,omitempty"` // it is a freeze of the configuration, or several at a time; nil: a person's pause
	Probe  Instant       `json:"probe,omitempty"`  // ReasonProtected: one change is pushed then, to see whether the branch takes it; 0: only somebody ends it
	Tries  int           `json:"tries,omitempty"`  // and how often the branch has refused since
}

// Why returns the pause as a reason to wait. It names the author of the pause; a freeze of
// the configuration has none.
func (p *Pause) Why() Reason {
	r := Reason{Code: ReasonPaused, Detail: p.Reason, Until: p.Until}
	if p.Window == nil {
		r.Names = []string{p.By}
	}
	return r
}

// FreezeWindow is the data that only a freeze by the configuration has, not one by a command.
type FreezeWindow struct {
	Except []config.FreezeExcept `json:"except,omitempty"` // a change lands nevertheless if each of these lets it
}

// Emergency is a change that somebody has put before all others.
type Emergency struct {
	By     string   `json:"by"`
	Reason string   `json:"reason"` // hostile text
	At     Instant  `json:"at"`
	Change ChangeID `json:"change,omitempty"`
}

// LineCommit is a commit on main's first-parent line.
type LineCommit struct {
	Commit  CommitID   `json:"commit"`
	Change  ChangeID   `json:"change,omitempty"`  // from the Change: trailer, where we made it
	Head    CommitID   `json:"head,omitempty"`    // from the Head: trailer
	Also    []Carried  `json:"also,omitempty"`    // of a rollup: the changes of its further pairs of trailers
	Merged  []CommitID `json:"merged,omitempty"`  // its parents beyond the first: the Head of a trailer must be among them
	Holds   bool       `json:"holds,omitempty"`   // or, where it is no merge: it is byte for byte what landing Change at Head on its parent makes
	As      CommitID   `json:"as,omitempty"`      // or, by squash: it has the tree of the commit that this makes, which is this one
	Subject string     `json:"subject,omitempty"` // hostile text
}

// Carried is a change at a head, as a pair of trailers names it.
type Carried struct {
	Change ChangeID `json:"change"`
	Head   CommitID `json:"head"`
}

// Carries returns all changes that the commit's trailers name, in order.
func (l LineCommit) Carries() []Carried {
	return append([]Carried{{Change: l.Change, Head: l.Head}}, l.Also...)
}
