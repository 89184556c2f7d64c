package plan

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Proposal is one thing that a plan can ask for. There is no proposal for landing,
// rejecting, or writing that something has passed. A change that has used up its builds
// is parked by apply, and a rollup is a wish that the train need not follow. So no
// plan, however wrong, gives a verdict.
type Proposal interface{ proposal() }

// Start is a build that is worth its slot.
type Start struct {
	Link      queue.LinkID
	Also      []queue.ChangeID // further changes of the build, besides those of the link
	Keys      []queue.Key
	Value     float64
	Worth     queue.Worth
	Predicted time.Duration
	Shares    map[queue.ChangeID]float64 // for each change of the build: the part of its work that is built
	Build     *queue.Build               // set by apply: the build that was started
}

// Stop ends a build that can no longer tell anything, or that gives its slot to a build worth
// more.
type Stop struct{ Build queue.BuildID }

// Merge is a chain of merges that has to be made before something can be built.
type Merge struct{ derived.Want }

// Together joins changes into a rollup, in the place of the first.
type Together struct{ Members []queue.ChangeID }

// Part gives up the rollup of a change. Unsettled says that the order is to be looked
// at again.
type Part struct {
	Rollup    queue.ChangeID
	Unsettled bool
}

// Divide parts a rollup that has failed: the first of its members are tried, as a rollup
// if they are several, and the rest wait for the result. Rest is empty when the rest of a
// rollup is a single change and has its turn.
type Divide struct{ First, Rest []queue.ChangeID }

// Free lets changes join rollups again: the failure with them is known to be the fault
// of others (By), or tells nothing any more.
type Free struct{ Members, By []queue.ChangeID }

// Probe asks for the link by which a commit of main's line is built for a hunt.
type Probe struct {
	Hunt   string
	Commit int // of its line
}

// Pause begins the wait before the red keys of a root link are built again.
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
