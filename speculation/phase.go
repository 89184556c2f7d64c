package speculation

import (
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// unborn is the phase of a change that is being made.
const unborn queue.Phase = ""

// moves is the table of the moves of a change: from each phase, the phases that may
// follow, and when they do. move refuses all others.
//
//	tryOut, tryRevert                 enter
//	       |                            |
//	     Trying        .----------> Analyzing <-----------.
//	     |    |        |                | pend            | unparkNow
//	  Tried  Cancelled |                v     park        |
//	                   '------------ Pending ---------> Parked
//	                                  |   ^               |
//	                             push |   | unland        | decide
//	                                  v   |               v
//	                                 Landing          Cancelled
//	                                    |
//	                                  Landed
//
// Main is the truth about landings, so any change may turn out to have landed: a change
// that already had another verdict becomes pending for that moment.
var moves = map[queue.Phase]map[queue.Phase]string{
	unborn: {
		queue.Analyzing: "a pull request enters the queue",
		queue.Trying:    "it is to be tried, or explained, and is in no order",
	},
	queue.Analyzing: {
		queue.Pending:   "its footprint is known, and what it is on top of is in the order",
		queue.Parked:    "it waits for something outside the order",
		queue.Landed:    "main shows it",
		queue.Cancelled: "somebody has taken it back, or its pull request is another by now",
	},
	queue.Pending: {
		queue.Analyzing:     "what it is on top of has left the order",
		queue.Landing:       "the gate has let it pass, and the push is written",
		queue.Parked:        "it waits for something outside the order",
		queue.Landed:        "main shows it",
		queue.Rejected:      "it cannot land on main as it is",
		queue.NothingToLand: "main has all of it",
		queue.Cancelled:     "somebody has taken it back, or its pull request is another by now",
	},
	queue.Landing: {
		queue.Landed:  "main shows it",
		queue.Pending: "its push has not moved main",
	},
	queue.Parked: {
		queue.Analyzing: "it returns",
		queue.Landed:    "main shows it",
		queue.Cancelled: "somebody has taken it back, or it was parked for too long",
	},
	queue.Trying: {
		queue.Tried:     "what came of it is known",
		queue.Cancelled: "somebody has taken it back, or its pull request is another by now",
	},
	queue.Rejected:      {queue.Pending: "main shows it all the same"},
	queue.NothingToLand: {queue.Pending: "main shows it all the same"},
	queue.Cancelled:     {queue.Pending: "main shows it all the same"},
	queue.Tried:         {queue.Pending: "main shows it all the same"},
}

// move is the one place where the phase of a change is written, with the reason for it.
// The caller writes all else that belongs to the new phase, and has the record stored.
// A move that the table does not have is a fault of this package, and panics.
func (c *Core) move(ch *queue.Change, to queue.Phase, why queue.Reason) {
	if moves[ch.Phase][to] == "" {
		panic(fmt.Sprintf("speculation: change %s cannot go from %q to %q", ch.ID, ch.Phase, to))
	}
	ch.Phase, ch.Reason = to, why
}
