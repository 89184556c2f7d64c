package plan

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Proposal is what a plan can ask for: the words that it has. There is none for landing,
// rejecting, or writing that something has passed; a change whose builds are used up is
// parked by apply, and a rollup is a wish that the train need not follow. So no plan,
// however wrong, gives a verdict.
type Proposal interface{ proposal() }

// Start is a build that is worth its slot.
type Start struct {
	Link      queue.LinkID
	Also      []queue.ChangeID // built by it, too, besides those of the link
	Keys      []queue.Key
	Value     float64
	Worth     queue.Worth
	Predicted time.Duration
	Shares    map[queue.ChangeID]float64 // of each change that it is for: the part of what that affects which is built
	Build     *queue.Build               // by apply: the one that was started
}

// Stop ends a build that can tell nothing any more, or that gives its slot to one worth more.
type Stop struct{ Build queue.BuildID }

// Merge is a chain of merges that has to be made before something can be built.
type Merge struct{ derived.Want }

// Together joins changes into a rollup, in the place of the first.
type Together struct{ Members []queue.ChangeID }

// Part gives up the rollup of a change. unsettled: the order is to be looked at again.
type Part struct {
	Rollup    queue.ChangeID
	Unsettled bool
}

// Divide parts a rollup that has failed: the first of its members are tried, as a rollup
// if they are several, and the rest wait for the result. Rest is empty when a rest of one
// change has its turn.
type Divide struct{ First, Rest []queue.ChangeID }

// Free lets changes join rollups again: the failure with them is known to be the fault
// of others (By), or tells nothing any more.
type Free struct{ Members, By []queue.ChangeID }

// Probe asks for the link by which a commit of main's line is built for a hunt.
type Probe struct {
	Hunt   string
	Commit int // of its line
}

// Pause begins the wait before what is red in a root link is built again.
type Pause struct{ Root queue.LinkID }

// HourOver forgets builds that were started more than an hour ago.
type HourOver struct{}

// UsedUp says that a change has had all builds that it may have.
type UsedUp struct{ Change queue.ChangeID }

func (*Start) proposal() {}

func (Stop) proposal() {}

func (Merge) proposal() {}

func (Together) proposal() {}

func (Part) proposal() {}

func (Divide) proposal() {}

func (Free) proposal() {}

func (Probe) proposal() {}

func (Pause) proposal() {}

func (HourOver) proposal() {}

func (UsedUp) proposal() {}

// members returns the changes that a build is for.
func (x *Start) members(l *queue.Link) []queue.ChangeID {
	b := queue.Build{Change: l.Change, Also: l.With}
	if len(b.Also) == 0 {
		b.Also = x.Also
	}
	return b.For()
}
