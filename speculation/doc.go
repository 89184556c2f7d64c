// Package speculation decides: what may land, what is rejected, what is built.
//
// # One turn
//
// Everything that happens is an event. Step folds events into the state, asks
// for the answers that its records wait for (attend), gives the
// verdicts that follow from facts (settle), forms the train and pushes what the
// gate lets pass (land), chooses builds (plan), asks for merges (resolve),
// removes what no future needs (tidy), and has people told (publish). It returns
// what changed and what is to be done outside. It reads no clock, has no
// randomness, does no I/O, and makes the same turn from the same state and
// events, byte for byte: the server, the simulator and the tests drive the same
// Step.
//
// Three packages keep facts, proposals and verdicts apart:
//
//	speculation/derived   facts: what follows from the state. They decide nothing.
//	speculation/plan      proposals: which builds are worth running. It has no word for
//	                      landing or rejecting, and writes no record.
//	speculation           Step: verdicts, by the gate and the ledger; it applies proposals
//	                      and tells the facts what has changed.
//
// Imports go from the last to the first, and tests in cmd/submitqueue check what
// imports cannot ensure: a plan writes nothing but its own memory
// (TestPlansWriteNothing), and Step writes no fact behind the facts' back
// (TestStepWritesNoFacts). So no prediction, footprint or plan, however wrong, can
// change a verdict.
//
// # An example
//
// Main is at M. Change a edits package x, b edits x too, c edits y.
//
//   - Each is analyzed on M: its footprint names the targets it can influence.
//     a and b conflict, c is independent. In the order, by expected finish, they
//     are a, b, c: ahead(b) is {a}, and no change is ahead of a and c.
//   - Path and link. A path is one assumption (lands, does not) for each change
//     ahead. b has two: on M, and on M+a. A path is a chain of links; a link is
//     a change merged onto a parent commit, with the keys (step, target, hash)
//     that the new commit has and its parent has not. M+a is one link of a's
//     path and of b's: facts are shared.
//   - Assumptions. Before anything is merged, a target on a future is named by
//     the changes there that affect it (its assumption key): x on M+a+b and on
//     M+c+a+b is the same, because c does not touch it. The results of a merged
//     link are known on every future with the same assumption key, and stay
//     known when main moves along it.
//   - Plan. a on M and c on M are always worth a build; b is built on its
//     likeliest path, M+a+b, and with slots to spare on M+b. A result is written
//     into the ledger under its key, and serves every change that has the key.
//   - Settle. Say that x fails on M+a: no change is ahead of a, so it is rejected,
//     on the real main of this moment. b's path through M+a is no path any more;
//     M+b has passed already.
//   - Train and gate. b and c are proven. They are merged in order, M -> b -> c,
//     as the commits that will land. c's commit is new, but its only new key,
//     (unit, y, hash), has passed on M+c. The gate asks for each link whether
//     every key that its commit has and its parent has not has passed; it says
//     yes, the push is written into the state, and both land in one push. Keys
//     on the whole tree are verified on these very commits, last.
//   - Bypass. Had a been slow instead, and both M+a+b and M+b passed, b would
//     have landed before it: b may land with a and without it.
//
// # What a turn costs
//
// A turn costs work for what its events touch, and one short look at each pending
// change. Step calls Facts.Changed with each record that it has written. A change in a key
// reaches the assumption keys that rest on it, and they stir the pending changes that have them
// as targets (package derived has an example). The plan makes the stirred parts again. Of the
// other changes it reads only the values that depend on time: when those ahead are expected to be
// decided, and how much waiting has added to the worth of a build. All facts can be made again
// from the state, and the tests demand that a core made anew makes the same turn as one that has
// run for long.
//
// # Which file decides what
//
// Verdicts and landing:
//
//	gate.go      what may land: Gate, and nothing else says yes
//	train.go     which changes land next, in which order, and the point of no return (push)
//	line.go      steps on the whole tree: what probably breaks them is tried beside the train
//	early.go     which changes board the train while their own build ends
//	settle.go    rejected, nothing to land, cancelled, parked and back
//	phase.go     the table of moves between phases, and the one function that makes one
//	rollup.go    which changes land as one merge
//	refused.go   pushes that the forge refuses: pushed in parts, parked alone; when the branch itself is to blame
//	method.go    merge, squash, rebase, fast-forward: of the queue, and of one change
//
// Changes, and what they need:
//
//	follow.go    what each command does; enter.go: which changes may enter; permit.go, delegate.go: which people may command what
//	require.go   what the forge asks of a pull request; guard.go: protected paths
//	base.go      what a pull request asks for: the queue's branch, or that of the one below it
//	stack.go     changes on top of another: behind it, and only with it
//	lane.go      lanes, and what a build is worth for a change; emergency.go: before all others, and freezes
//	order.go     which change is ahead of which; margin.go: it is not overtaken for little;
//	             giveway.go: what goes behind a proven change after all
//	meet.go      which changes may not merge, though they share no target
//	again.go     analyses that take too long or cannot be made, and when they are tried again
//	tryout.go    /land try: built, and never landed; wouldbe.go: /land explain
//
// Results, and what they say of changes:
//
//	result.go    the ledger: what a result proves, and of which keys; ran.go: when it was run
//	quarantine.go  which failures do not count, by the configuration of main and that of the commit
//	attest.go    what has passed on a change's own head, and why that counts
//	forget.go    passes that are taken back
//	control.go   runs of main that a rejection waits for
//	belief.go    how likely changes, and pairs of them, are good
//	acquit.go    what a pass makes of that: by target, for each change in the build
//	outcome.go   the results of each target, from which follows which changes are to blame (package culprit)
//	blame.go     the same where targets are not known: which changes may have caused a failure
//	doubt.go     such failures that are not explained yet; how blame is passed on
//	benched.go   hosts that fail what others pass get no builds; host.go: hosts that a build had better avoid
//
// Main:
//
//	tip.go       its truth about landings, proven or red, pushes that went wrong
//	access.go    the forge is away, or the branch has another name
//	upgrade.go   two versions of an analyzer: which one decides, and how the newer one takes over
//	watch.go     what was proven long ago is run again; drift.go: what of it fails at an unchanged hash
//	hunt.go      main is red: which commit has turned it so; probe.go: builds of main's line that tell
//	revert.go    what has turned main red, taken back: tried, proposed, landed as any change; redmain.go: the check on main
//
// The turn itself:
//
//	core.go      Step; parts.go: the parts of a core, one for each matter above
//	fold.go      which event goes where
//	plan.go      has the next plan made; proposal.go: applies what it proposes
//	path.go      which merges are asked for
//	action.go    actions: attempts, deadlines, giving up; that nothing is forgotten
//	clock.go     a clock that ran ahead does not stop the queue's time
//	tidy.go      what is forgotten, and what must not be yet
//	publish.go   when people are told; view.go, why.go, forecast.go: what they are shown
//	promise.go   forecasts are written down, and held against verdicts: so they learn how far off they are
//
// # An hour in which main is broken, here and elsewhere
//
// LUCI CV runs whole builders, and retries a failed one from a quota that weighs
// time-outs, failures and transient ones (luci-go, cv/internal/tryjob/execute/retry.go;
// results reused from another run cost none of it). It does not ask whether main fails
// as well: Chromium's own recipes do that inside the builder, by running the failing
// suites again "(without patch)". For the rest a tree is closed, by people or by a
// watcher: verified changes wait until it is open (cv/internal/tree/tree.go). bors tests
// one merge at a time on the latest main (rust-lang/bors, docs/design.md). So while main
// is broken each change in turn fails, and must be retried by hand; maintainers close
// the tree for changes below a priority. Mergify splits a failed batch and removes the
// last suspect, which "is never retested: it already failed with the others"
// (docs.mergify.com/merge-queue/batches/failures); a broken base looks like a broken
// change, and people pause the queue.
//
// Here a key is wrong, not a tree. A failure that main shares parks a change, which comes
// back on its own; it rejects no change. A failure that names no target counts only when
// main, run in the same step without the change, passes after it: one such run, a control,
// serves all changes that wait for it (control.go). On another commit than its own it
// counts only while all is there that the run may have failed of (derived/beside.go). A key
// of main that fails at an unchanged hash is drift, is found by separate runs of main
// (watch.go), and holds the rejections that it may explain (drift.go). Under external: trust, changes that do not
// touch the red keys land meanwhile; under external: hold, changes that repair main go
// first. The commit that broke it is hunted by builds of main's own line (hunt.go). This
// costs builds of main. CV pays them inside each builder and for each change, the others
// not at all. It also costs some patience: a failure is given as a verdict only when main
// is known.
//
// # Questions
//
// After a comment says /land: fold.go makes it a request and has the forge asked;
// enter.go makes it a change; Analyzed puts it into the order (order.go); plan.go
// has it built; train.go lands it.
//
// The process dies after a turn was stored and before its actions were carried
// out: they are in the state, New finds them, the owner carries them out again.
// Doing one twice is doing it once (queue/action.go says why for each).
//
// Why does a change wait? View.Waits (view.go), made from the state and from what
// the last plan has said of it (plan/answer.go, why.go); a change that is not in the
// order carries its Reason. Why was a build started? Build.Worth.
//
// How are steps on the whole tree treated (scope: repository, or no analyzer)? They are
// true of one commit only, so they run on the very commits of the train, all at
// once. A change that breaks one has those behind it built again. So a change
// that will probably do so, by its prediction and by what the step has shown of
// it, is tried on the train's last commit, aside, while the others follow on that
// commit (try, in line.go). Where many would be built again, changes are checked alone
// while their first builds run. A hundred independent changes of ten minutes at 500 per
// hour with a step of three: 95 % are decided within 13 minutes; with one in twenty
// breaking the step within 16, and 23 without trials (speculation/sim/trees_test.go).
//
// Which lines decide that a change lands? Gate, called by push (train.go).
//
// Which of two conflicting changes goes first? The one that is to be finished
// first, counting from its arrival less its lane's head start: fixed when it is
// analyzed, changed only by another lane (/land priority=LANE). A change stays behind
// (margin.go) if it would gain less than it takes to build the common targets of the
// two again. Say that a ends at 12:00 and b, which came later, would end at 11:55, and
// building their common targets again takes 8 minutes: b goes second. A change that
// came later and is ahead because it is shorter may still go behind the other. It does
// so when the other has been proven on main as it is and the later one is not being
// built, and has not just failed there (giveway.go). It would gain nothing, and the proven
// one would be built again. A
// lane holds up the next one by at most that one's max_wait, so no change waits for
// ever behind urgent changes. Lanes and projects change the value of builds, too; a
// quota lets builds wait and nothing else.
//
// Which change is to blame for a failure? A change of the build that affects the failed
// target, or two of them together, or one with a change that had landed. All results of the
// target with sets of changes that are pending are kept (outcome.go), and the chance of each to
// be to blame follows from all of them at once (package culprit): what has passed clears, and a
// change that explains one failure is likelier to explain the next. So a build of b on a that
// fails makes both doubtful; when a passes alone, b is to blame, and no change is built on it
// any more. Deep in the line of a hot target, first builds are of different sets on purpose
// (plan/sample.go), so that one round of builds tells of many changes. Where the targets of a
// change are not known, each failure is divided among the changes of its build instead, and the
// doubt stays until one of them is turned down or cleared (doubt.go).
//
// Why is a build not run? In this order (package plan): its change is out of the
// window, its keys are known or being built, its targets are unlikely to be needed, it
// is early, it is worth too little, its quota is used up, there is no slot. Rules.Off
// leaves ingredients out; submitqueue simulate says what each is worth.
//
// What happens when an upgrade of the server changes all hashes? The version of the
// analyzer in force goes on to decide. Main is proven under the newer one beside
// that: by passes on commits where both versions see the same, and by builds in free
// slots. Then it takes over in one turn (upgrade.go).
//
// How are stacks treated? Say that b's pull request asks for a's branch. Then b is on
// top of a (Change.Parent): behind it in the order, in any lane and at any duration,
// and in conflict with it, even without a common target. Of b's two paths the
// one without a is void; a path of another change that takes b takes a. So b is
// built on M+a at once, boards a train behind a only, and is judged on main when a
// has landed. When a leaves the order otherwise, b is parked until it is back
// (stack.go).
//
// How are reviews and checks that the forge asks for treated? Say that c needs an
// approval. /land parks it with the reason; after Stirred, and from time to time, the
// forge is asked again, and c enters on its own. Right before it lands the forge is
// asked once more, while it keeps its place in the train (require.go).
//
// When will a change have its verdict? forecast.go adds up distributions: what is left of
// its builds given that they have run for so long, the slots before that, those ahead, and
// one more build if one of these does not land. The queue measures its own forecasts. From
// time to time they are written down (promise.go), and from verdicts it learns how the time
// left follows from that sum, the place in the order and the time waited so far, and between
// which errors four of five verdicts lie (predict.Foresight). No decision rests on that.
//
// How do I add a predictor? A row of predict.Models. A command? A row of queue.Commands,
// and one of followers (follow.go). A requirement needs nothing here: the core knows no
// list of kinds.
package speculation
