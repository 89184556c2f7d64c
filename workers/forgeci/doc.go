// Package forgeci is a workers.Controller whose builds are made by the forge's
// own CI, or by any CI that reports checks or statuses there: GitHub Actions and
// the like.
//
//	Run ──> push ──────────> submitqueue/<branch>/<build>           the commit, on a plain ref
//	                         submitqueue-targets/<branch>/<build>   targets.json, never in the commit
//	News ─┐
//	      ├─> fold ─> judge ─> JobDone, BuildDone ─> cancel what runs ─> delete the refs
//	watch ┘   (pure)  (pure)
//
// # What counts as a result
//
// A commit may carry the checks of yesterday, or of another build. A check run
// counts when its suite was made for the build's own ref, whose name is used for
// one build only. Those of a CI that has one suite for a commit, and statuses,
// which have none, count when they began after the build was asked for, by the
// forge's clock, and were not there for a build before it on the same commit. A
// status is made by each post, so one that ends what was pending before began with
// that: it does not count, unless something to the same page was pending since. A
// CI whose ends lead to another page than its beginnings cannot be told so, nor
// can, after a restart, what was seen before it. If a step names the App of a
// check, only check runs of that App count, before all other rules.
//
// A commit whose message has a marker such as [skip ci] has GitHub start nothing.
// The queue's messages have none; rebase and fast-forward keep the messages of
// people. A build of such a commit that waits for GitHub Actions by name ends at
// once; of others the deadline says it.
//
// All checks of a step must pass, and so must all jobs of a run that share the
// name of one: only what a newer attempt of the run says takes the place of what
// it said before. A failure of one is the step's at once; skipped, neutral,
// cancelled, stale and the like are no result, once all others have ended:
// siblings of a failed job are often cancelled before its failure is heard of. A
// check that has not appeared in time is looked for once more, and then named.
//
// # When a pass is the whole truth
//
// A name says nothing of how many checks bear it: a push may start several workflows,
// and a job appears only when those that it needs have ended. So checks that have all
// ended without a failure make a result only when the ref is quiet:
//
//   - no run on the ref is queued or under way, and none of the checks in a run is;
//   - that was read from the forge, the runs first and then the results, at least
//     Options.Grace after the push (a push starts all its runs at once, within seconds),
//     and after the last webhook that said something new of the build.
//
// Until then a failure under one of the names is the result. A run that is not over
// after the step's appear and timeout makes the build an infrastructure error, which
// names the workflow. A workflow with slow jobs that the queue does not need belongs on
// other branches than the queue's.
//
// Ended is ended, however: a cancelled or superseded run is waited for no longer, and
// its cancelled or skipped checks are no result, as above. A run that is started again
// is under way again. A run started by workflow_run is on the default branch, not on
// the ref; it can only post statuses, and is not waited for. Neither are suites of
// other Apps, which may be queued for ever; their check runs of the names are. A step
// whose checks all name another App waits for no runs. If the App may not see runs
// (actions: read), unfinished check runs stand for them, and the pass is read Grace
// after the last one that has ended; a job that takes longer to appear is missed there.
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
// pull request: whether a run is of a commit that can be named, whether it has ended with all of
// its checks passed, and whether its workflow would have shown the same on a build's ref
// (package workflow). Which keys that commit has, the caller knows. A run that goes on is
// remembered, and told of when it ends (queue.HeadChecked); what is forgotten by a restart, a
// build finds out. Say that ci.yml runs on each push, and that the job test of head H has passed:
// PassedOn answers with the step and when it was run; were its job to use actions/cache, with
// that word for people and nothing else.
//
// # Worked example
//
// Build ab12 of a step with checks [test] is asked for. Its commit is pushed to
// submitqueue/main/ab12 with all others that wait for a push. The workflow starts;
// the webhooks check_run created and completed come through News, and fold and
// judge make BuildStarted and, of a failure, JobDone and BuildDone of them. Of a pass
// they do when workflow_run completed has come, too, and one look has found no other
// run and no other check. Nothing runs on the ref then, and the next
// push deletes it with its side ref. Were no webhook to come, watch would ask,
// with conditional requests, after a minute and at each deadline.
//
// # Runs that are asked for
//
// Where the forge makes a run when asked to (Options.Starter), refs are pushed quietly, and
// one run is asked for on each, with variables that say what is built. Its id is known then,
// and nothing else on the ref counts. It is asked for again while the forge does not see the
// ref yet or is asked too often; after an answer that was lost, or a restart, the run that is
// there is looked for first. Where variables are refused, the ref is deleted and pushed anew,
// to start its run, as are all after it.
//
// # Pushes
//
// Refs that wait to be pushed go in one push, or in as few as the forge takes: GitHub can be
// set to refuse a push of more than 5 or 20 refs, which is learned from the refusal
// (mirror.OwnRefs). GitHub recommends 6 pushes a minute to a repository. With as many in the
// last minute, builds wait for company until it is over, for 10 s at most; log and page say
// so. Landings count, and never wait. Refs that are only to be deleted leave half of the
// pushes to others.
//
// # Crashes
//
// Nothing is stored. After a restart the builds that live are run again: pushing
// their refs once more is no event at the forge, and what was reported meanwhile is
// read. Sweep finds the refs of builds that live no more.
package forgeci
