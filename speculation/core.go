package speculation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Core is one queue's state with the indexes derived from it. The state alone
// is stored; New rebuilds the rest. A Core is not safe for concurrent use.
type Core struct {
	s *queue.State

	// Derived, valid between turns.
	index        *index.Index
	conflicting  map[queue.ChangeID]map[queue.ChangeID]bool    // cache of index.Conflicts
	aheadOf      map[queue.ChangeID]aheadList                  // cache of firstAhead, while order and conflicts stay
	outstanding  map[string]string                             // "kind/subject" of a task → its action's key
	facts        map[queue.Digest]*fact                        // by key id
	failing      map[*fact]bool                                // those whose failures decide
	failingSets  map[queue.Digest]queue.Instant                // failed sets, and when the oldest failure of each fades
	red          reds                                          // of main
	links        map[*queue.Link]*linkInfo                     // what is derived of links
	linksOf      map[queue.ChangeID]map[*queue.Link]bool       // by change
	live         map[*queue.Build]*liveBuild                   // what is derived of builds
	building     []*liveBuild                                  // the same, by id
	assumedBy    map[queue.ChangeID]int                        // live builds and links that assume a change to land
	sets         map[queue.Digest][]queue.Digest               // key id → ids of the failed sets that hold it
	spare        map[queue.Digest]bool                         // entries of the ledger that no link has, and all sets
	verified     map[queue.ChangeID]bool                       // each target of the change has passed on some path, but for keys on the whole tree
	version      int                                           // of the ledger
	serial       int                                           // of the last link that was taken in
	decisions    int                                           // how often a change has been decided or put on its way
	publishing   map[int]queue.Digest                          // pull requests whose comment is being written, and of what
	analyzing    map[queue.ChangeID]int                        // analyses under way of each change
	meeting      map[queue.ChangeID]bool                       // it is being tried whether they merge with others
	untried      map[queue.ChangeID]bool                       // there may be pairs of them that nobody has asked about
	stepSets     map[queue.Digest]map[queue.Digest]config.Step // step set → its steps by digest
	toldAll      bool                                          // told is up to date but for what is in the queue or has changed
	toldBroken   string
	toldAt       freshness                           // when glances were looked at
	toldChanging bool                                // landings waited for a newer version then
	glances      []glance                            // of the changes in toldOf, as they were last told of
	spareGlances []glance                            // memory of glance
	toldOf       []*queue.Change                     // that were pending then, in order
	buildsOf     map[queue.ChangeID]int              // live builds of each change
	open         map[queue.ChangeID]*queue.Change    // those without a verdict
	stacked      map[queue.ChangeID]*queue.Change    // of these, those on top of another
	told         map[int]told                        // what each pull request's comment is to say
	watching     int                                 // readings of main's keys under way (queue.Watch)
	observing    string                              // key of the action that reads main, or ""
	model        predict.Model                       // of changes that nothing is known of yet
	assumed      assumptions                         // what targets would be like on futures of main
	nodes        map[queue.ChangeID]*node            // pending changes as the plan sees them
	nodesAt      [][]place                           // by target: whom it concerns
	projects     projects                            // which changes are of which projects
	rollups      map[queue.ChangeID][]queue.ChangeID // members of each rollup, in order

	planner planner

	// Of the turn under way.
	now       queue.Instant
	wake      queue.Instant
	ordered   bool // order and rank are up to date
	order     []queue.ChangeID
	pending   []*queue.Change // of order
	moved     []*queue.Change // may have come into the order or left it since
	seating   int             // how often it has changed who is in the order, and where
	anew      int             // how often all assumptions have been made anew
	news      int             // how often something has been touched that plans and glances may rest on
	onTip     tipLinks
	rank      map[queue.ChangeID]int
	wants     []want
	scratch   []mark
	opens     [][]mark  // memory of regardless
	costs     []float64 // cache of targetCost
	trail     trail
	rations   *rations                          // places taken of each quota; nil: not counted yet
	forecasts map[queue.ChangeID]queue.Forecast // of the state as it is between turns; nil: not made yet
	turn      Turn
	sweep     bool                    // something has left the state that others may have been kept for
	untidy    map[queue.ChangeID]bool // of which there may be links that nobody needs
	tidyAll   bool                    // nobody knows of which
	turned    []queue.ChangeID        // turned down: what was made on them tells nothing
	seen      bool                    // main has been read, and nothing has happened to it since
	seenAt    queue.Instant           // when what an inspection shows was still so, at the latest
	rewound   []queue.Ref             // changed by Resume, and not stored yet
	again     bool                    // the plan took a change out of the order: there may be more to settle
	dirty     map[queue.Ref]bool
	aboard    map[queue.ChangeID]bool // members of the train whose merge there is made
	boarding  map[queue.ChangeID]bool // members whose merge there is wanted or being verified, and those that are tried beside it
	tree      odds                    // of breaking the steps on the whole tree
}

// Turn is what one Step changes.
type Turn struct {
	Now     queue.Instant
	Changed []queue.Ref    // records to be written or, where the state no longer holds them, deleted; sorted
	Archive []queue.Entry  // keys that have passed, for the ledger's archive
	Notes   []queue.Note   // history
	Actions []queue.Action // to be carried out once the turn is stored, in this order
	Ended   []string       // keys of actions that are finished or no longer wanted
	Wake    queue.Instant  // Step asks to be called then, if nothing happens before; 0: no need
}

// New returns the core of a loaded state and takes the state over.
func New(s *queue.State) *Core { return NewWith(s, predict.Default) }

// NewWith returns the core of a loaded state with a model of its own.
func NewWith(s *queue.State, model predict.Model) *Core {
	c := &Core{
		s:           s,
		model:       model,
		nodes:       map[queue.ChangeID]*node{},
		index:       index.New(),
		conflicting: map[queue.ChangeID]map[queue.ChangeID]bool{},
		aheadOf:     map[queue.ChangeID]aheadList{},
		outstanding: map[string]string{},
		facts:       map[queue.Digest]*fact{},
		failing:     map[*fact]bool{},
		failingSets: map[queue.Digest]queue.Instant{},
		links:       map[*queue.Link]*linkInfo{},
		linksOf:     map[queue.ChangeID]map[*queue.Link]bool{},
		live:        map[*queue.Build]*liveBuild{},
		assumedBy:   map[queue.ChangeID]int{},
		spare:       map[queue.Digest]bool{},
		untidy:      map[queue.ChangeID]bool{},
		decisions:   1,
		version:     1,
		news:        1,
		sets:        map[queue.Digest][]queue.Digest{},
		verified:    map[queue.ChangeID]bool{},
		publishing:  map[int]queue.Digest{},
		told:        map[int]told{},
		buildsOf:    map[queue.ChangeID]int{},
		open:        map[queue.ChangeID]*queue.Change{},
		stacked:     map[queue.ChangeID]*queue.Change{},
		stepSets:    map[queue.Digest]map[queue.Digest]config.Step{},
		analyzing:   map[queue.ChangeID]int{},
		meeting:     map[queue.ChangeID]bool{},
		untried:     map[queue.ChangeID]bool{},
		rollups:     map[queue.ChangeID][]queue.ChangeID{},
		now:         latest(s),
	}
	c.assumed = newAssumptions()
	for id, ch := range s.Changes {
		if !ch.Phase.Final() {
			c.open[id] = ch
			c.moved = append(c.moved, ch)
			if ch.Parent != 0 {
				c.stacked[id] = ch
			}
		}
	}
	for _, id := range sorted(s.Changes) {
		if f := s.Footprints[id]; f != nil && inOrder(s.Changes[id]) {
			c.join(id, f)
		}
	}
	for id, e := range s.Ledger {
		c.indexSet(id, e)
		c.spare[id] = true
		c.weighSet(id, e)
	}
	for _, id := range sorted(s.Builds) {
		c.indexBuild(s.Builds[id])
	}
	for _, key := range sorted(s.Actions) {
		c.began(s.Actions[key])
	}
	c.reassume()
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
		at = max(at, f.At+1) // what is asked for is asked for after it
	}
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
	c.rewind()
	for _, e := range events {
		c.fold(e)
	}
	c.trail = trail{}
	c.expire()
	c.upgrade()
	c.bench()
	c.attend()
	if c.assumed.stale {
		c.reassume()
		c.news++
	}
	c.wakeAt(c.fade())
	c.thaw()
	c.unpark()
	c.restack()
	c.meetings()
	c.settle()
	c.settleTries()
	c.controls()
	c.watch()
	c.hunts()
	c.reverts()
	c.land()
}

func (c *Core) afterPlan() Turn {
	c.resolve()
	c.tellMain()
	c.tidy()
	c.publish()
	return c.end()
}

func (c *Core) begin(events []queue.Event) {
	for _, e := range events {
		c.now = max(c.now, e.At)
	}
	c.wake, c.wants, c.sweep, c.again, c.seen = 0, nil, false, false, false
	c.tidyAll, c.turned = false, nil
	clear(c.untidy)
	c.turn = Turn{Now: c.now}
	c.forecasts, c.rations = nil, nil
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
		c.wakeAt(c.now + 1)
	}
	c.turn.Wake = c.wake
	return c.turn
}

// touch takes in that a record has changed. Requests, pull requests and actions
// are nothing to plans and glances.
func (c *Core) touch(kind queue.Kind, id string) {
	c.dirty[queue.Ref{Kind: kind, ID: id}] = true
	switch kind {
	case queue.KindRequest, queue.KindPull, queue.KindAction:
	default:
		c.news++
	}
}

// freshness tells apart states of the records and of what is known of keys that
// plans and glances may see differently, between two turns of one core.
type freshness struct{ news, version int }

func (c *Core) freshness() freshness { return freshness{c.news, c.version} }

func (c *Core) touchMain() { c.touch(queue.KindMeta, queue.MetaMain) }

func (c *Core) touchChange(ch *queue.Change) {
	if _, was := c.rank[ch.ID]; was || ch.Phase != queue.Analyzing {
		c.touch(queue.KindChange, string(ch.ID))
	} else {
		c.dirty[queue.Ref{Kind: queue.KindChange, ID: string(ch.ID)}] = true // nobody plans for it yet
	}
	c.ordered = false
	c.moved = append(c.moved, ch)
	if ch.Phase.Final() {
		delete(c.open, ch.ID)
	} else {
		c.open[ch.ID] = ch
	}
	if ch.Phase.Final() || ch.Parent == 0 {
		delete(c.stacked, ch.ID)
	} else {
		c.stacked[ch.ID] = ch
	}
}

func (c *Core) touchLinks(links []*queue.Link) {
	for _, l := range links {
		c.touch(queue.KindLink, string(l.ID))
	}
}

func (c *Core) touchPull(p *queue.Pull) { c.touch(queue.KindPull, strconv.Itoa(p.Number)) }

// wakeAt asks for a turn at a moment, unless it has passed.
func (c *Core) wakeAt(at queue.Instant) {
	if at > c.now {
		c.wake = queue.Earliest(c.wake, at)
	}
}

func (c *Core) note(n queue.Note) {
	n.At = c.now
	c.turn.Notes = append(c.turn.Notes, n)
}

// rules returns the rules in force, not to be changed; with no configuration
// there are none to land by, and callers check that first.
func (c *Core) rules() *config.Rules {
	if c.s.Main.Config == nil {
		return &config.Rules{}
	}
	return &c.s.Main.Config.Queue
}

// without reports whether an ingredient of the planner is left out.
func (c *Core) without(i config.Ingredient) bool {
	return c.s.Main.Config != nil && slices.Contains(c.s.Main.Config.Queue.Off, i)
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
