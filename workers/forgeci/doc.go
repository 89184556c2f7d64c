// Package forgeci is a workers.Controller that has its builds made by the forge's own CI, such
// as GitHub Actions, or by any CI that reports checks or statuses there.
//
//	Run ──> push ──────────> submitqueue/<branch>/<build>           the commit, on a plain ref
//	                         submitqueue-targets/<branch>/<build>   targets.json, never in the commit
//	News ─┐
//	      ├─> fold ─> judge ─> JobDone, BuildDone ─> cancel what runs ─> delete the refs
//	watch ┘   (pure)  (pure)
//
// # What counts as a result
//
// A commit may carry the checks of yesterday, or of another build. A check run counts when its
// suite was made for the build's own ref: the name of that ref is used for one build only.
// Check runs of a CI that has one suite for a commit, and statuses, which have no suite, count
// when they began after the build was asked for, by the forge's clock, and were not there for
// an earlier build on the same commit. Each post makes a new status, so a status that ends a
// pending one began with that: it does not count, unless a status to the same page was pending
// since. This cannot be told for a CI with final statuses that link to another page than its
// pending ones, nor, after a restart, for statuses that were seen before it. If a step names
// the App of a check, only check runs of that App count, before all other rules.
//
// GitHub starts nothing for a commit with a marker such as [skip ci] in its message. The
// queue's messages have none; rebase and fast-forward keep the messages of people. A build of
// such a commit that waits for GitHub Actions by name ends at once; other builds end at their
// deadline.
//
// All checks of a step must pass, and so must all jobs of a run that share the name of a check:
// only a newer attempt of the run replaces the results of an earlier one. A failure of one
// check is the step's failure at once. States such as skipped, neutral, cancelled and stale are
// no result, once all others have ended: siblings of a failed job are often cancelled before
// the news of its failure arrives. A check that has not appeared in time is looked for once
// more, and then named.
//
// # When a pass is the whole truth
//
// A name does not say how many checks have it: a push may start several workflows, and a job
// appears only when those that it needs have ended. So checks that have all ended without a
// failure make a result only when the ref is quiet:
//
//   - no run on the ref is queued or under way, and none of the checks in a run is;
//   - that was read from the forge, the runs first and then the results, at least
//     Options.Grace after the push (a push starts all its runs at once, within seconds),
//     and after the last webhook that said something new of the build.
//
// Until then a failure of a check with one of the names is the result. A run that is not over
// after the step's appear and timeout makes the build an infrastructure error, which names the
// workflow. A workflow with slow jobs that the queue does not need belongs on other branches
// than the queue's.
//
// But a run that has ended is not waited for: a cancelled or superseded run is over, and its
// cancelled or skipped checks are no result, as above. A run that is started again is under way
// again. A run started by workflow_run is on the default branch, not on the ref; it can only
// post statuses, and is not waited for. Suites of other Apps, which may be queued for ever, are
// not waited for either; their check runs with the names are. A step waits for no runs if all
// its checks name another App. If the App may not see runs (actions: read), unfinished check
// runs stand for them, and the pass is read Grace after the last one that has ended; a job that
// takes longer to appear is missed there.
//
// For example: the workflows ci and nightly both have a job test, that of nightly needs
// setup. Webhooks tell that test of ci has passed and that the run of ci is over. The
// build lists the runs: nightly is under way. When the webhook of its end comes (or
// after a minute), the runs are listed and the results read again: test of nightly has
// failed, and so has the step.
//
// # What was run for nobody's build
//
// PassedOn looks at what the CI has run on the head of a change, for the push of it or for its
// pull request: whether a run is of a commit that can be named, whether it has ended with all
// of its checks passed, and whether its workflow would have shown the same on a build's ref
// (package workflow). The caller knows which keys that commit has. A run under way is
// remembered, and its end is told (queue.HeadChecked); a restart forgets it, and then a build
// has to find out. For example, ci.yml runs on each push, and the job test of head H has
// passed: PassedOn answers with the step and when it was run. If its job used actions/cache,
// PassedOn would answer with that reason for people and no step.
//
// # Worked example
//
// Build ab12 of a step with checks [test] is asked for. Its commit is pushed to
// submitqueue/main/ab12 with all others that wait for a push. The workflow starts; the webhooks
// check_run created and completed come through News, and fold and judge make BuildStarted from
// them and, after a failure, JobDone and BuildDone. After a pass they do so once workflow_run
// completed has come, too, and one look has found no other run and no other check. Nothing runs
// on the ref then, and the next push deletes it with its side ref. If no webhook came, watch
// would ask, with conditional requests, after a minute and at each deadline.
//
// # Runs that are asked for
//
// Where the forge makes a run when asked to (Options.Starter), refs are pushed quietly, and one
// run is asked for on each, with variables that say what is built. Its id is known then, and no
// other run on the ref counts. The controller asks again while the forge does not see the ref
// yet or limits requests; after a lost answer, or a restart, it looks first for a run that is
// there. If the CI file declares inputs (Options.Inputs), the run is told by these, too. Where
// variables are refused and there are no inputs, the ref is deleted and pushed again, to start
// its run, and so are all later ones.
//
// # Pushes
//
// Refs that wait to be pushed go in one push, or in as few as the forge takes: GitHub can be
// set to refuse a push of more than 5 or 20 refs, which is learned from the refusal
// (mirror.OwnRefs). GitHub recommends at most 6 pushes a minute to a repository. After 6 pushes
// in the last minute, builds wait for others to join their push, for 10 s at most; log and page
// say so. Landings count, and never wait. Deletions of refs use at most half of the pushes.
//
// # Crashes
//
// Nothing is stored. After a restart, builds that are still wanted are run again: pushing their
// refs again is no event at the forge, and the results of the meantime are read. Sweep finds
// the refs of builds that are no longer wanted.
package forgeci
