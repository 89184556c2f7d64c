package speculation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Core is one queue's state with the indexes derived from it. The state alone
// is stored; New rebuilds the rest. A Core is not safe for concurrent use.
type Core struct {
	s       *queue.State
	facts   *derived.Facts
	planner *plan.Planner

	benching benching
	judging  judging
	hunting  hunting
	landing  landing
	mainline mainline
	entering entering
	guarding guarding
	settling settling
	blaming  blaming
	telling  telling
	upkeep   upkeep
	learning learning

	// Derived, valid between turns.
	analyzing map[queue.ChangeID]int  // analyses under way of each change
	returning map[queue.ChangeID]bool // changes with pull requests that are being put back as they were

	// Of the turn under way.
	wake    queue.Instant
	turn    Turn
	rewound []queue.Ref // changed by Resume, and not stored yet
	inTime  bool        // no action was asked for at a time that has not come
	again   bool        // the plan took a change out of the order: there may be more to settle
	dirty   map[queue.Ref]bool
}

// Turn is what one Step changes.
type Turn struct {
	Now     queue.Instant
	Changed []queue.Ref    // records to be written or, where the state no longer holds them, deleted; sorted
	Archive []queue.Entry  // keys that have passed, for the ledger's archive
	Notes   []queue.Note   // history
	Rows    []queue.Row    // for the event archive
	Actions []queue.Action // to be carried out once the turn is stored, in this order
	Ended   []string       // keys of actions that are finished or no longer wanted
	Wake    queue.Instant  // Step asks to be called then, if nothing happens before; 0: no need
}

// New returns the core of a loaded state and takes the state over.
func New(s *queue.State) *Core { return NewWith(s, predict.Default) }

// NewWith returns the core of a loaded state with the given model.
func NewWith(s *queue.State, model predict.Model) *Core {
	facts := derived.New(s, latest(s), model)
	c := &Core{s: s, facts: facts, planner: plan.New(s, facts), analyzing: map[queue.ChangeID]int{}, returning: map[queue.ChangeID]bool{}, dirty: map[queue.Ref]bool{}}
	c.benching, c.judging, c.hunting, c.entering, c.guarding, c.blaming = benching{c}, judging{c}, hunting{c}, entering{Core: c, commands: queue.Commands(), follows: followers()}, guarding{c}, blaming{c}
	c.landing.Core, c.mainline.Core, c.upkeep.Core = c, c, c
	c.learning = learning{c, model}
	c.learning.use()
	c.settling = settling{Core: c, asking: map[queue.ChangeID]bool{}, unasked: map[queue.ChangeID]bool{}}
	c.telling = telling{Core: c, publishing: map[int]queue.Digest{}, told: map[int]told{}}
	for _, id := range derived.Sorted(s.Changes) {
		if f := s.Footprints[id]; f != nil && derived.InOrder(s.Changes[id]) {
			c.landing.joined(id, f)
		}
	}
	for _, key := range derived.Sorted(s.Actions) {
		c.upkeep.began(s.Actions[key])
	}
	return c
}

// latest returns the latest moment that a state speaks of, so that time does
// not go back for a core that is made from it.
func latest(s *queue.State) queue.Instant {
	var at queue.Instant
	for _, a := range s.Actions {
		at = max(at, a.At)
	}
	for _, ch := range s.Changes {
		at = max(at, ch.Arrival, ch.Decided)
	}
	for _, b := range s.Builds {
		at = max(at, b.At, b.Started)
	}
	for _, f := range s.Main.Forgotten {
		at = max(at, f.At+1) // later requests come after it
	}
	for _, m := range s.Models {
		at = max(at, m.At)
	}
	at = max(at, s.Model.Tried.At, s.Main.Lapsed)
	for _, h := range s.Hunts {
		at = max(at, h.Began, h.Red, h.Over)
	}
	for _, e := range s.Ledger {
		at = max(at, e.Passed)
		for _, f := range e.Failures {
			at = max(at, f.At)
		}
	}
	return at
}

// State returns the state as of the last turn. The caller does not modify it.
func (c *Core) State() *queue.State { return c.s }

// Step folds events into the state, settles what is now proven, plans what to
// build, and returns what changed. It is deterministic: the same state and
// events give the same turn, byte for byte. The events' own times are its only
// clock; an event that is repeated, late or out of order changes nothing.
//
// The caller stores the turn in one write and only then carries out its
// actions. If the write fails, the Core must be dropped and made again from
// the stored state.
func Step(c *Core, events []queue.Event) Turn {
	c.beforePlan(events)
	c.plan()
	return c.afterPlan()
}

func (c *Core) beforePlan(events []queue.Event) {
	c.begin(events)
	c.facts.Beliefs.Blame()
	c.rewind()
	for _, e := range events {
		c.fold(e)
	}
	c.facts.Links.Rewalk()
	c.upkeep.expire()
	c.mainline.upgrade()
	c.benching.bench()
	c.entering.looks()
	c.judging.endQuarantine()
	c.upkeep.attend()
	c.learning.due()
	c.facts.Futures.Refresh()
	c.wakeAt(c.facts.Ledger.Fade())
	c.entering.thaw()
	c.entering.schedule()
	c.settling.unparkDue()
	c.settling.restack()
	c.settling.askPairs()
	c.settling.settle()
	c.settling.settleTries()
	c.judging.keepControls()
	c.judging.watch()
	c.hunting.hunts()
	c.hunting.reverts()
	c.landing.land()
}

func (c *Core) afterPlan() Turn {
	c.landing.resolve()
	c.hunting.tellMain()
	c.upkeep.tidy()
	c.telling.publish()
	c.telling.promise()
	return c.end()
}

func (c *Core) begin(events []queue.Event) {
	for _, e := range events {
		c.facts.SetNow(max(c.facts.Now, e.At))
	}
	c.wake, c.landing.wants, c.again, c.mainline.seen = 0, nil, false, false
	c.upkeep.tidyAll, c.upkeep.turned = false, nil
	c.facts.Links.Tidied()
	c.turn = Turn{Now: c.facts.Now}
	c.telling.forecasts = nil
	c.facts.Quotas.Recount()
	c.dirty = map[queue.Ref]bool{}
}

func (c *Core) end() Turn {
	for r := range c.dirty {
		c.turn.Changed = append(c.turn.Changed, r)
	}
	slices.SortFunc(c.turn.Changed, func(a, b queue.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	if c.again {
		c.wakeAt(c.facts.Now + 1)
	}
	c.turn.Wake = c.wake
	return c.turn
}

// touch takes in that a record has changed: it is stored with the turn, and the facts
// are told.
func (c *Core) touch(kind queue.Kind, id string) {
	r := queue.Ref{Kind: kind, ID: id}
	c.dirty[r] = true
	c.facts.Changed(r)
}

func (c *Core) touchMain() { c.touch(queue.KindMeta, queue.MetaMain) }

func (c *Core) touchChange(ch *queue.Change) { c.touch(queue.KindChange, string(ch.ID)) }

func (c *Core) touchLinks(links []*queue.Link) {
	for _, l := range links {
		c.touch(queue.KindLink, string(l.ID))
	}
}

func (c *Core) touchPull(p *queue.Pull) { c.touch(queue.KindPull, strconv.Itoa(p.Number)) }

// wakeAt asks for a turn at a moment, unless it has passed.
func (c *Core) wakeAt(at queue.Instant) {
	if at > c.facts.Now {
		c.wake = queue.Earliest(c.wake, at)
	}
}

func (c *Core) note(n queue.Note) {
	n.At = c.facts.Now
	c.turn.Notes = append(c.turn.Notes, n)
}
