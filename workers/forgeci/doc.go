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
// can, after a restart, what was seen before it. Where a step names the App of a
// check, only check runs of that App count, before all else.
//
// A commit whose message has a marker such as [skip ci] has GitHub start nothing.
// What the queue writes has none; rebase and fast-forward keep what people wrote.
// A build of such a commit that waits for GitHub Actions by name ends at once; of
// others the deadline says it.
//
// All checks of a step must pass, and so must all jobs of a run that share the
// name of one: only what a newer attempt of the run says takes the place of what
// it said before. A failure of one is the step's at once; skipped, neutral,
// cancelled, stale and the like are no result, once all others have ended:
// siblings of a failed job are often cancelled before its failure is heard of. A
// check that has not appeared in time is looked for once more, and then named.
//
// # Worked example
//
// Build ab12 of a step with checks [test] is asked for. Its commit is pushed to
// submitqueue/main/ab12 with all others that wait for a push. The workflow starts;
// the webhooks check_run created and completed come through News, and fold and
// judge make BuildStarted, JobDone and BuildDone of them, without one request.
// When workflow_run completed has come too, nothing runs on the ref, and the next
// push deletes it with its side ref. Were no webhook to come, watch would ask,
// with conditional requests, after a minute and at each deadline.
//
// # Crashes
//
// Nothing is stored. After a restart the builds that live are run again: pushing
// their refs once more is no event at the forge, and what was reported meanwhile is
// read. Sweep finds the refs of builds that live no more.
package forgeci
