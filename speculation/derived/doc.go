// Package derived holds the facts that follow from a queue's state. None of them is
// stored, and New makes all of them from the state at any time. Between turns they are
// kept up to date, so that the cost of an event depends on what it touches and not on the
// length of the queue.
//
// # What there is
//
// Facts has parts, and each answers one kind of question:
//
//	Ledger     has this key passed, or decisively failed? does a failed set weigh against a link?
//	Links      what is known of a merge (State), and of the chain that it stands on?
//	Builds     what runs, for which keys, and when does it end?
//	Order      which changes are before, in conflict with, or on top of which?
//	Futures    what is known of a target on a future that is not merged yet?
//	Beliefs    how likely is a change good, how likely do two break together, which changes are to blame, how long does a target take?
//	Quotas     which builds wait for a quota?
//	TreeSteps  what is known of steps on the whole tree?
//
// # How they are kept up to date
//
// Step writes the state and then calls Changed with the reference of the record. It must not
// forget that call. Core.touch makes it, and also has the record stored. So a record that the
// facts are not told of is not stored either, and tests of recovery find the mistake. Changes of
// links, builds, footprints and entries of the ledger are taken in by the method named after them
// (IndexLink, IndexBuild, NewFootprint, Learned), each beside the one place that makes such a
// record. Counters that say whether something is fresh are this package's own; others see them
// through Freshness, Decisions and Seating.
//
// All facts about a key are one record, Fact, that links and builds point at. A change in
// a Fact reaches the assumption keys that rest on it. They stir the pending changes that
// have them as targets (Node). A planner reads the stirred nodes and resets the marks; it
// keeps its own memory of a node behind Memory, which this package cannot read.
//
// # An example
//
// Change a edits target x, and b edits x too. a is merged on main (link M+a) and a build
// of key (unit, x) runs on it.
//
//   - The build passes. The ledger's entry gets a time, and Learned hands it to the Fact of
//     the key. Links.State(M+a) is Verified from then on, without a look at any other link.
//   - Fact.behind names the assumption key "x on main with a". Its Known becomes Verified,
//     and Futures stirs the nodes that have x: b's future on a is looked at by the next plan.
//   - a lands. Futures.Advance moves a's mark onto the line: "x on main with a" is the same
//     key as before, so its result stays known, though main is another commit.
//
// # The rules
//
// Facts decide nothing. Verdicts are given by package speculation from Links and Ledger;
// assumption keys and beliefs choose what is built and never suffice for a verdict.
// Reading fills caches, so a core has one reader, the loop that makes its turns. Between two
// turns it makes an immutable view (Core.Queue, Core.View) and publishes it. Pages and API
// read the view, never a core (app/view.go). The actions of the same owner take the loop's
// lock.
package derived
