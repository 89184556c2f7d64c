package derived

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Facts are all facts derived of one queue's state. They are not safe for concurrent
// use: reading them fills their caches.
type Facts struct {
	s *queue.State

	Ledger    *Ledger
	Links     *Links
	Builds    *Builds
	Order     *Order
	Futures   *Futures
	Beliefs   *Beliefs
	Quotas    *Quotas
	TreeSteps *TreeSteps

	Now       queue.Instant                                 // of the turn under way
	Open      map[queue.ChangeID]*queue.Change              // those without a verdict
	trying    map[queue.ChangeID]*queue.Change              // of these, those that are tried and in no order
	asked     map[string]string                             // "kind/subject" of a task → its action's key
	version   int                                           // of the ledger, and of the landed changes
	news      int                                           // counts touched records that plans and comments may rest on
	decisions int                                           // how often a change has been decided or put on its way
	stepSets  map[queue.Digest]map[queue.Digest]config.Step // step set → its steps by digest
}

// Ledger holds the facts about keys.
type Ledger struct {
	*Facts
	Keys        map[queue.Digest]*Fact          // by key id
	Failing     map[*Fact]queue.Instant         // facts with failures that count, and when the oldest failure of each fades
	FailingSets map[queue.Digest]queue.Instant  // failed sets, and when the oldest failure of each fades
	Sets        map[queue.Digest][]queue.Digest // key id → ids of the failed sets that hold it
	spare       map[queue.Digest]queue.Instant  // entries that no link has, and all sets: until when each is known to be kept
	red         Reds                            // the red keys of main
}

// Links holds the facts about merges.
type Links struct {
	*Facts
	Infos     map[*queue.Link]*LinkInfo
	LinksOf   map[queue.ChangeID]map[*queue.Link]bool // by change
	AssumedBy map[queue.ChangeID]int                  // live builds and links that assume a change to land
	serial    int                                     // of the last link that was taken in
	walked    trail                                   // the last path
	untidy    map[queue.ChangeID]bool                 // changes that may have links of no use
	left      bool                                    // a record that links were kept for has left the state
	guarded   []string                                // the globs that guard names
	guard     queue.Digest
}

// Builds holds the facts about live builds.
type Builds struct {
	*Facts
	Live     map[*queue.Build]*LiveBuild
	Building []*LiveBuild           // the same, by id
	BuildsOf map[queue.ChangeID]int // live builds of each change
}

// Order says which changes come before which.
type Order struct {
	*Facts
	Index       *index.Index
	Conflicting map[queue.ChangeID]map[queue.ChangeID]bool // cache of Index
	AheadOf     map[queue.ChangeID]AheadList               // cache of FirstAhead, while order and conflicts stay
	sorted      bool                                       // IDs, Pending and Rank are up to date
	IDs         []queue.ChangeID                           // the pending changes, in order
	Pending     []*queue.Change                            // the same
	Rank        map[queue.ChangeID]int                     // places in it
	moved       []*queue.Change                            // changes that may have come into the order or left it since
	seating     int                                        // how often members, or their places, have changed
	Stacked     map[queue.ChangeID]*queue.Change           // changes without a verdict that are on top of another
	rollups     map[queue.ChangeID][]queue.ChangeID        // members of each rollup, in order
	Passing     map[queue.ChangeID]bool                    // the pending changes that land through the freeze of this turn; nil: no freeze holds any
}

// Futures holds the assumption keys of targets on futures of main, and the results
// known of them.
type Futures struct {
	*Facts
	Assumed  Assumptions
	Verified map[queue.ChangeID]bool  // each target of the change has passed on some path, except keys on the whole tree
	Nodes    map[queue.ChangeID]*Node // pending changes as the plan sees them
	anew     int                      // how often all assumptions have been made anew
	nodesAt  [][]Place                // by target: the nodes that it concerns
	scratch  []Mark
	back     Assumptions // memory of Assume, empty between its calls
	opens    [][]Mark    // memory of openAt
	open     []Mark      // memory of passesAt
	costs    []float64   // cache of TargetCost
}

// Beliefs says how likely changes are good, and how long their builds take.
type Beliefs struct {
	*Facts
	Model    predict.Model                // the source of predictions
	blames   map[string]*blame            // by target with a failure: which changes are to blame
	aloneIn  map[queue.ChangeID]shares    // of them: factors of the chance that a change is good
	pairsIn  map[[2]queue.ChangeID]shares // of them: chances that two changes break together
	accusing map[string]bool              // targets with a failure; nil: not looked for yet
	unheard  map[string]bool              // targets that there are new results of
	blamedBy average                      // what blames rest on
	blamedAt Freshness                    // when they were worked out
	scratch  []accused
}

// Quotas says which changes wait for a quota.
type Quotas struct {
	*Facts
	rations  *Rations // the places that are taken; nil: not counted yet
	projects Projects // which changes are of which projects
}

// TreeSteps holds the facts about steps on the whole tree.
type TreeSteps struct {
	*Facts
	tree odds // the chances of breaking them
}

// New returns the facts of a state as of a moment.
func New(s *queue.State, now queue.Instant, model predict.Model) *Facts {
	fs := blank(s, model)
	fs.Now = now
	for id := range s.Changes {
		fs.Order.changed(id)
	}
	for _, id := range Sorted(s.Changes) {
		if f := s.Footprints[id]; f != nil && InOrder(s.Changes[id]) {
			fs.Order.Enroll(id, f)
		}
	}
	for id, e := range s.Ledger {
		fs.Ledger.IndexSet(id, e)
		fs.Ledger.spare[id] = 0
		fs.Ledger.WeighSet(id, e)
	}
	for _, id := range Sorted(s.Builds) {
		fs.Builds.IndexBuild(s.Builds[id])
	}
	fs.Futures.Reassume()
	fs.Beliefs.Blame()
	return fs
}

// blank returns facts that have taken in nothing of the state yet.
func blank(s *queue.State, model predict.Model) *Facts {
	fs := &Facts{s: s, version: 1, news: 1, decisions: 1,
		Open: map[queue.ChangeID]*queue.Change{}, trying: map[queue.ChangeID]*queue.Change{}, asked: map[string]string{},
		stepSets: map[queue.Digest]map[queue.Digest]config.Step{}}
	fs.Ledger = &Ledger{Facts: fs, Keys: map[queue.Digest]*Fact{}, Failing: map[*Fact]queue.Instant{},
		FailingSets: map[queue.Digest]queue.Instant{}, Sets: map[queue.Digest][]queue.Digest{}, spare: map[queue.Digest]queue.Instant{}}
	fs.Links = &Links{Facts: fs, Infos: map[*queue.Link]*LinkInfo{}, LinksOf: map[queue.ChangeID]map[*queue.Link]bool{},
		AssumedBy: map[queue.ChangeID]int{}, untidy: map[queue.ChangeID]bool{}}
	fs.Builds = &Builds{Facts: fs, Live: map[*queue.Build]*LiveBuild{}, BuildsOf: map[queue.ChangeID]int{}}
	fs.Order = &Order{Facts: fs, Index: index.New(), Conflicting: map[queue.ChangeID]map[queue.ChangeID]bool{},
		AheadOf: map[queue.ChangeID]AheadList{}, Stacked: map[queue.ChangeID]*queue.Change{}, rollups: map[queue.ChangeID][]queue.ChangeID{}}
	fs.Futures = &Futures{Facts: fs, Assumed: NewAssumptions(), Verified: map[queue.ChangeID]bool{}, Nodes: map[queue.ChangeID]*Node{}}
	fs.Beliefs = &Beliefs{Facts: fs, Model: model, blames: map[string]*blame{}, aloneIn: map[queue.ChangeID]shares{}, pairsIn: map[[2]queue.ChangeID]shares{}, unheard: map[string]bool{}}
	fs.Quotas = &Quotas{Facts: fs}
	fs.TreeSteps = &TreeSteps{Facts: fs}
	return fs
}

// Rules returns the rules in force, not to be changed. Without a configuration there
// are no rules to land by, and callers check that first.
func (fs *Facts) Rules() *config.Rules {
	if fs.s.Main.Config == nil {
		return &config.Rules{}
	}
	return &fs.s.Main.Config.Queue
}

// Without reports whether an ingredient of the planner is left out.
func (fs *Facts) Without(i config.Ingredient) bool {
	return fs.s.Main.Config != nil && slices.Contains(fs.s.Main.Config.Queue.Off, i)
}

// Sorted returns the keys of a map in order.
func Sorted[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// SortedIf returns, in order, the keys of those entries of a map that meet a condition. It asks
// for all entries, in no order, before it returns.
func SortedIf[K cmp.Ordered, V any](m map[K]V, meets func(K, V) bool) []K {
	var keys []K
	for k, v := range m {
		if meets(k, v) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
