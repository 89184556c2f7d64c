package speculation

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// The parts of a Core, each with the rules of one matter. All of them read the facts and
// write the state; no part keeps memory of another.
type (
	// benching keeps builds away from hosts that fail keys that other hosts pass.
	benching struct{ *Core }
	// judging takes in the results of builds: the ledger, and what a failure proves.
	judging struct{ *Core }
	// hunting looks for the commit that has turned main red, and takes it back.
	hunting struct{ *Core }
	// landing forms the train, asks the gate, and pushes.
	landing struct {
		*Core
		aboard   map[queue.ChangeID]bool // members of the train that are merged there
		boarding map[queue.ChangeID]bool // members with a merge wanted or being verified there, and changes that are tried beside it
		wants    []derived.Want          // merges that this turn would like to see made
	}
	// mainline follows main: its tip, its keys, the version of the analyzer in force.
	mainline struct {
		*Core
		watching  int           // readings of main's keys under way (queue.Watch)
		observing string        // key of the action that reads main, or ""
		seen      bool          // main has been read, and nothing has happened to it since
		seenAt    queue.Instant // the latest moment for which an inspection's answer holds
	}
	// entering takes in commands, and lets changes in.
	entering struct {
		*Core
		commands queue.CommandTable
		follows  map[queue.Verb]follower
		hidden   *queue.FreezeWindow // open in this turn, behind a pause because the branch takes no pushes; nil: none (schedule)
	}
	// guarding holds back changes that the forge, or a protected path, does not let pass yet.
	guarding struct{ *Core }
	// settling gives the verdicts that follow from facts, and parks and returns changes.
	settling struct {
		*Core
		asking  map[queue.ChangeID]bool // git is being asked about their pairs
		unasked map[queue.ChangeID]bool // they may have pairs without an answer
		onTip   tipLinks
	}
	// blaming makes beliefs from passes and failures.
	blaming struct{ *Core }
	// telling says what people are shown, and when their comments are written anew.
	telling struct {
		*Core
		publishing   map[int]queue.Digest // pull requests with a comment being written, and the digest of its facts
		told         map[int]told         // the facts of each pull request's comment
		toldAll      bool                 // told is up to date except for pending changes and changed records
		toldBroken   string
		toldLane     string                            // the default lane, which is not shown
		toldAt       derived.Freshness                 // when glances were looked at
		toldChanging bool                              // whether landings waited for a newer version then
		toldOf       []*queue.Change                   // the changes that were pending then, in order
		glances      []glance                          // of the changes in toldOf, as people were last told
		spareGlances []glance                          // memory of glance
		forecasts    map[queue.ChangeID]queue.Forecast // of the state as it is between turns; nil: not made yet
	}
	// upkeep asks for actions, and forgets what no future needs.
	upkeep struct {
		*Core
		turned  []queue.ChangeID // turned down in this turn: merges made on them are of no use
		tidyAll bool             // any change may have links of no use
		dated   queue.Instant    // the next of what is kept for a time is due no earlier
	}
)
