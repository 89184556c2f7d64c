package speculation

import "github.com/submitqueue/submitqueue/queue"

// # What the gate trusts
//
// Gate is a few lines, and its only yes comes from the ledger. A red commit gets past
// it only if its inputs are wrong. So these files, which make the inputs, are as
// critical as Gate itself, and a test (cmd/submitqueue/doors_test.go) holds which
// functions may write a pass, have a ref moved, or give a verdict.
//
//   - Which keys a commit has: a target with an unchanged hash is not run again. queue/key.go,
//     queue/config/step.go, queue/config/step_checks.go and queue/link.go say what a
//     key is, queue/tools.go and workers/tools.go which tools it is verified with.
//     conflict/hash.go, conflict/merkle.go, conflict/snapshot.go, conflict/keys.go and the
//     analyzer of the repository hash what a target reads. app/judge.go and
//     app/perform_resolve.go ask them about the very commits that are to land.
//   - Which commits these are: forge/mirror/merge.go and forge/mirror/replay.go make them.
//   - Which results a build has: workers/report, workers/written.go, workers/trial.go,
//     workers/shard.go and workers/split.go read the results of runners; for runners on other
//     machines workers/coordinator/update.go does so, too. workers/forgeci/judge.go and
//     workers/forgeci/settle.go read the checks of the forge's CI. A job that did not run all
//     that it was asked for, or that was run on another commit, must not pass.
//   - What the ledger gets of it: speculation/result.go writes the keys that were asked for,
//     speculation/checks.go the other keys that a pass covers. speculation/quarantine.go says
//     which failures do not count. speculation/ran.go says when the run was, which decides
//     whether its pass was forgotten or refuted since. queue/ledger.go says how many failures
//     decide. Of runs on a change's own head, outside builds, speculation/attest.go has the
//     argument. app/perform_attest.go says which keys that head has, workers/forgeci/earlier.go
//     which runs there count, and workers/forgeci/workflow/differs.go which workflows show the
//     same on each branch. queue/redisstore/archive.go keeps passes, and app/translate.go carries
//     them over to another version of the analyzer.
//   - A revert that the queue itself asks to land, as main's configuration has it
//     (speculation/revert.go), is a pull request like any other: it passes the gate,
//     meets the forge's requirements, and passes the check of protected paths.
//   - Where main is, and which keys are unproven there: speculation/tip.go and
//     app/perform_observe.go. app/perform_land.go has it moved; forge/mirror/push.go and
//     forge/mirror/heads.go move it, with a lease on the commit that the gate was asked
//     about.

// Gate is the only way onto main. It says whether main may move from a commit
// along a chain of links, and returns the keys that are in the way: the chain
// may be pushed if and only if the result is empty and ok is true.
//
// ok is false if the links are not a chain on main, or if one of them is not a merged
// commit. Each link's keys are those that its commit has and its parent has not, so
// every commit of the chain is checked, not only the last; they were computed from the
// trees of these very commits. If a change lands as several commits, the link also
// holds the keys that each of them adds to the one before it (queue.Halfway), unless
// main's configuration skips these. Also, ok is false if a parent and its link were
// analyzed by different versions: keys of two versions say nothing of each other. Gate
// reads no plan, no conflict, no prediction and no order.
func Gate(main queue.CommitID, by string, chain []*queue.Link, passed func(queue.Key) bool) (missing []queue.Key, ok bool) {
	at := main
	for _, l := range chain {
		if l.Parent != at || l.Before != by || l.Outcome != queue.Merged || l.Commit == "" {
			return nil, false
		}
		for _, k := range l.Keys {
			if !passed(k) {
				missing = append(missing, k)
			}
		}
		at, by = l.Commit, l.Analyzer
	}
	return missing, len(chain) > 0
}
