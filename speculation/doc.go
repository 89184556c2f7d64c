// Package speculation decides: what may land, what is rejected, what is built.
//
// # One turn
//
// Everything that happens is an event. Step folds events into the state, takes
// care that whatever waits has asked for its answer (attend), gives the
// verdicts that follow from facts (settle), forms the train and pushes what the
// gate lets pass (land), chooses builds (plan), asks for merges (resolve),
// removes what no future needs (tidy), and has people told (publish). It returns
// what changed and what is to be done outside. It reads no clock, has no
// randomness, does no I/O, and makes the same turn from the same state and
// events, byte for byte: the server, the simulator and the tests drive the same
// Step.
//
// Facts and proposals are apart. Verdicts follow from resolved commits, the
// ledger, the gate and the order; plan.go has no word for landing or rejecting,
// and no prediction, footprint or plan, however wrong, can change a verdict.
//
// # An example
//
// Main is at M. Change a edits package x, b edits x too, c edits y.
//
//   - Each is analyzed on M: its footprint names the targets it can influence.
//     a and b conflict, c is independent. In the order, by expected finish, they
//     are a, b, c: ahead(b) is {a}, and nobody is ahead of a and c.
//   - Path and link. A path is one assumption (lands, does not) for each change
//     ahead. b has two: on M, and on M+a. A path is a chain of links; a link is
//     a change merged onto a parent commit, with the keys (step, target, hash)
//     that the new commit has and its parent has not. M+a is one link of a's
//     path and of b's: facts are shared.
//   - Assumptions. Before anything is merged, a target on a future is named by
//     the changes there that affect it (its assumption key): x on M+a+b and on
//     M+c+a+b is the same, because c does not touch it. What a merged link tells
//     of its targets is known on every future with the same assumption key, and
//     stays known when main moves along it.
//   - Plan. a on M and c on M are always worth a build; b is built on its
//     likeliest path, M+a+b, and with slots to spare on M+b. A result is written
//     into the ledger under its key, whoever asked for it.
//   - Settle. Say that x fails on M+a: nobody is ahead of a, so it is rejected,
//     on the real main of this moment. b's path through M+a is no path any more;
//     M+b has passed already.
//   - Train and gate. b and c are proven. They are merged in order, M -> b -> c,
//     as the commits that will land. c's commit is new, but its only new key,
//     (unit, y, hash), has passed on M+c. The gate asks for each link whether
//     every key that its commit has and its parent has not has passed; it says
//     yes, the push is written into the state, and both land in one push. Keys
//     on the whole tree are verified on these very commits, last.
//   - Bypass. Had a been slow instead, and both M+a+b and M+b passed, b would
//     have landed before it: whatever becomes of a, b may land.
//
// # What a turn costs
//
// What an event touches, and one short look at each pending change. All facts
// about a key are one record that links and builds point at (fact.go). A change
// in it reaches the assumption keys that rest on it, and they stir the pending
// changes whose targets they are (node.go); a change that lands, leaves, joins
// or is believed otherwise marks those who share a target with it. The plan makes
// again what is marked, and of the others reads only what depends on time: who
// is expected to be decided when, and what waiting has made a build worth.
// Everything derived can be made again from the state, and the tests demand that
// a core made anew makes the same turn as one that has run for long.
//
// # Which file decides what
//
//	gate.go      what may land: Gate, and passed. Nothing else says yes.
//	upgrade.go   two versions of an analyzer: which one decides, and how the newer one takes over
//	train.go     who lands next, in which order, and the point of no return (push)
//	line.go      steps on the whole tree: what probably breaks them is tried beside the train
//	early.go     who boards the train while its own build ends
//	settle.go    rejected, nothing to land, cancelled, parked and back
//	meet.go      who may not merge with whom, though they share no target
//	again.go     analyses that take too long or cannot be made, and when they are tried again
//	path.go      what is known of a link (judge); which merges are asked for
//	order.go     who is ahead of whom; margin.go: who does not overtake for little;
//	             giveway.go: who goes behind a proven change after all
//	stack.go     changes on top of another: behind it, and only with it
//	base.go      what a pull request asks for: our branch, or that of what it is on top of
//	lane.go      lanes, and what a build is worth for a change
//	tip.go       main: its truth about landings, proven or red, pushes that went wrong
//	hunt.go      main is red: which commit has turned it so; probe.go: builds of main's line that tell
//	revert.go    what has turned main red, taken back: tried, proposed, landed as any change; redmain.go: the check on main
//	refused.go   pushes that the forge refuses: pushed in parts, parked alone; when the branch itself is to blame
//	clock.go     a clock that ran ahead does not stop the queue's time
//	benched.go   hosts that fail what others pass get no builds; host.go: where a build had better not run
//	result.go    the ledger: what a result proves, and of which keys; ran.go: when it was run
//	enter.go     commands; who may enter
//	fact.go      what is derived of keys, links and builds: by pointer, kept up to date by whoever changes it
//	assume.go    assumption keys: names for targets on futures nobody has merged
//	known.go     what links tell of them, and what is forgotten when somebody is turned down
//	node.go      pending changes as the plan sees them; futures
//	belief.go    how likely changes, and pairs of them, are good
//	acquit.go    what a pass makes of that: by target, for each change in the build
//	blame.go     what a failure makes of it: who may have caused it, and how likely
//	doubt.go     failures that are not explained yet; how blame is passed on
//	outlook.go   the likeliest future, how likely a target's result is needed, when it is
//	plan.go      which builds are worth running
//	offer.go     a future as a candidate: which of its targets, and not before they are due
//	slots.go     which of them run: caps, slots, pre-emption, what is stopped
//	batch.go     which first builds of several changes are one build
//	rollup.go    which changes land as one merge
//	quota.go     which of them wait for a quota, and who has a slot that is left
//	worth.go     why a build was started: the parts of its value, what it assumes
//	answer.go    why none is: what the plan says of each change; why.go: the same with names
//	bypass.go    regardless of whom a change lands; what free slots are used for while nothing is known of changes
//	action.go    actions: attempts, deadlines, giving up; that nothing is forgotten
//	fold.go      which event goes where
//	tidy.go      what is forgotten, and what must not be yet
//	publish.go   when people are told; view.go: what they are shown
//
// # An hour in which main is broken, here and elsewhere
//
// LUCI CV runs whole builders, and retries a failed one from a quota that weighs
// time-outs, failures and transient ones (luci-go, cv/internal/tryjob/execute/retry.go;
// what was reused from another run costs none of it). It does not ask whether main
// fails as well: Chromium's own recipes do that inside the builder, by running the
// failing suites again "(without patch)". For the rest a tree is closed, by people or
// by a watcher: verified changes wait until it is open (cv/internal/tree/tree.go).
// bors tests one merge at a time on the latest main (rust-lang/bors, docs/design.md),
// so that while main is broken each change in turn fails, and must be retried by hand;
// maintainers close the tree for what is below a priority. Mergify splits a failed batch
// and removes the last suspect, which "is never retested: it already failed with the
// others" (docs.mergify.com/merge-queue/batches/failures); a broken base looks like a
// broken change, and people pause the queue.
//
// Here what is wrong is a key, not a tree. A failure that main shares parks, and
// comes back by itself; it rejects nobody. A failure that names no target counts only
// when main, run in the same step without the change, passes after it: one such run,
// a control, serves all changes that wait for it (control.go). What of main fails at an
// unchanged hash is drift, is found by runs of main of its own (watch.go), and holds the
// rejections that it may explain (drift.go). Under external: trust what does not touch
// the red keys lands meanwhile; under external: hold what repairs main goes first.
// The commit that broke it is hunted by builds of main's own line (hunt.go). It costs
// builds of main, which CV pays inside each builder and for each change and the others
// not at all, and some patience: a failure is given as a verdict only when main is known.
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
// the last plan has said of it (answer.go, why.go); a change that is not in the
// order carries its Reason. Why was a build started? Build.Worth.
//
// What of steps on the whole tree (scope: repository, or no analyzer)? They are
// true of one commit only, so they run on the very commits of the train, all at
// once. A change that breaks one has those behind it built again. So a change
// that will probably do so, by its prediction and by what the step has shown of
// it, is tried on the train's last commit, aside, while the others follow on that
// commit (try, in line.go); and where many would be built again, changes are
// checked alone while their first builds run (probe). A hundred independent
// changes of ten minutes at 500 per hour with a step of three: 95 % are decided
// within 13 minutes; with one in twenty breaking the step within 16, and 23
// without trials (speculation/sim/trees_test.go).
//
// Which lines decide that a change lands? Gate, called by push (train.go).
//
// Which of two conflicting changes goes first? The one that is to be finished
// first, counting from its arrival less its lane's head start: fixed when it is
// analyzed, changed only by another lane (/land priority=LANE). Who would gain
// less by that than it takes to build again what the two share stays behind
// (margin.go): say that a ends at 12:00 and b, which came later, would end at
// 11:55, and building their common targets again takes 8 minutes; b goes second.
// Whoever came later, is ahead as the shorter one, and is not being built when the
// other has been proven on main as it is, goes behind it (giveway.go): it would gain
// nothing, and the proven one would be built again.
// A lane holds up the next one by at most that one's max_wait, so nobody waits for
// ever behind urgent changes. Lanes and projects change the value of builds, too;
// a quota lets builds wait and nothing else.
//
// Who is to blame for a failure? Every change in the build that affects what has
// failed, two of them together, or one with something that had landed, each as
// far as it was likely before and has not passed on this target. The doubt stays
// until one of them is turned down, who explains it; and when what has failed
// passes with one of them, or one lands, the blame is divided among the rest.
// So a build of b on a that fails makes both doubtful; when a passes alone, b is
// to blame, and nobody is built on it any more.
//
// Why is a build not run? path, offer and take (plan.go, slots.go), in this
// order: its change is out of the window, what it would tell is known or being
// built, its targets are unlikely to be needed, it is early, it is worth too
// little, its quota is used up (quota.go), there is no slot. How little is too
// little follows the share of predictions that come true, and how busy the slots
// are (thresholds, plan.go). Rules.Off leaves ingredients out; submitqueue
// simulate says what each is worth.
//
// What of an upgrade of the server that makes all hashes others? The version of
// the analyzer in force goes on to decide. Main is proven under the newer one
// beside that: by what has passed on commits where both see the same, and by
// builds in slots that nobody wants. Then it takes over in one turn (upgrade.go).
//
// And what of stacks? Say that b's pull request asks for a's branch. Then b is on
// top of a (Change.Parent): behind it in the order, whatever their lanes and
// durations, and in conflict with it, whatever they affect. Of b's two paths the
// one without a is void; a path of another change that takes b takes a. So b is
// built on M+a at once, boards a train behind a only, and is judged on main when a
// has landed. When a leaves the order otherwise, b is parked until it is back
// (stack.go).
//
// What of reviews and checks that the forge asks for? Say that c needs an approval.
// /land parks it with the reason; Stirred, or a look from time to time, has the
// forge asked again, and it enters by itself. Right before it lands the forge is
// asked once more, while it keeps its place in the train (require.go).
//
// A second predictor implements predict.Model and is set in NewWith. A new command
// is a case in follow (enter.go).
package speculation
