// Package coordinator lets runners on other machines take the pool's work. It is the
// server's side of the GitLab Runner job protocol (package protocol has its messages), so
// that gitlab-runner connects unchanged, with each of its executors; `submitqueue runner`
// is a small client of the same.
//
//	gitlab-runner ── POST jobs/request ──> Coordinator ── Next ────> workers.Source
//	submitqueue      PATCH jobs/1/trace       │   one agent for
//	runner           PUT   jobs/1             │   each job at once
//	                                          └── Report, Return ──> (Pool)
//
// # A worked example
//
// An operator makes a runner (Registry.Add) and is shown its token once. A machine asks with
// that token; the request is held until the source has a shard for it. The machine is given
// a job: a commit to check out from RepoURL with the job's own token, and a script of two
// lines. The first prints a random mark and what .git/HEAD says; the second runs the step.
//
//	PATCH jobs/1/trace 0-93      …Fetching changes… MARK begin 4f0c…   202
//	PATCH jobs/1/trace 94-2047   the step's output … MARK end 1        202
//	PUT   jobs/1 {"state":"failed","failure_reason":"script_failure","exit_code":1}   200
//
// The trace after the begin mark goes into a workers.Trial, which makes the verdict exactly
// as for a step that this process runs. A job that has failed without the begin mark, or
// with another commit in it, has not shown anything of the change: runners say
// script_failure of a broken checkout, too. Marks are random for each job. A step can print
// its own; it gains nothing that it could not have by its exit status.
//
// # What is believed
//
// The token of a runner says what it may ask for: its tags are kept here (Registry), those
// in info.labels are added. A job's token opens that job's addresses and its commit, and
// nothing else; it ends with the job. The trace is taken strictly in order (416 names the
// place to go on at), and its length and checksum must be those that the runner names at
// the end: a report with a hole in it proves nothing. Everything can come twice.
//
// Cancelling is decided here, at once: the pool's slot is free, and the runner learns of it
// by its next answer. Its own slot counts as taken until it says that the job has ended, or
// its lease is over. A job that was handed out and never heard of goes back to the pool
// without prejudice; one whose runner falls silent is lost, as with any agent of the pool.
//
// A server that starts again does not know the jobs of the one before: their runners are
// told to give them up, and the builds are asked for again.
package coordinator
