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
// that token; the request is held until the source has a shard for it. The machine is given a
// job: a commit to check out from RepoURL with the job's own token, and a script of two lines.
// The first prints a random mark and the content of .git/HEAD; the second runs the step.
//
//	PATCH jobs/1/trace 0-93      …Fetching changes… MARK begin 4f0c…   202
//	PATCH jobs/1/trace 94-2047   the step's output … MARK end 1        202
//	PUT   jobs/1 {"state":"failed","failure_reason":"script_failure","exit_code":1}   200
//
// The trace after the begin mark goes into a workers.Trial, which makes the verdict exactly as
// for a step that this process runs. A job that has failed without the begin mark, or with
// another commit in it, says nothing of the change: runners say script_failure for a broken
// checkout, too. Marks are random for each job. A step can print its own marks; it gains
// nothing that its exit status could not give it.
//
// # What is believed
//
// The token of a runner says what it may ask for: its tags are kept here (Registry), those in
// info.labels are added. A job's token opens that job's addresses and its commit, and nothing
// else; it ends with the job. The trace is taken strictly in order (416 names the offset to
// continue at), and its length and checksum must be those that the runner names at the end: a
// report with a hole in it proves nothing. Every message can come twice.
//
// A job is cancelled here, at once: the pool's slot is free, and the runner learns of it by the
// next answer. The runner's slot counts as taken until the runner says that the job has ended,
// or its lease is over. A job that was handed out, and of which the runner never reported, goes
// back to the pool without prejudice; a job is lost if its runner falls silent, as with any
// agent of the pool.
//
// The end of a job comes after its output. If the output that arrived differs from the output
// that the runner names (412), all of it is read again from the beginning. After three times
// the job has shown nothing.
//
// # A restart
//
// A server that starts again knows the jobs of the server before it, no matter when that was
// killed (kept.go). A file of each job is written before its runner has the job: the shard, its
// machine and slot, the hash of the token, the marks, the uploads, and the result, once there
// is one, before the queue hears it. The trace is not kept. The runner has all of it: the next
// message is answered with the offset 0, and the verdict is made from the whole output, as
// always.
//
// The pool is given the shards before it is asked for builds (workers.Holder). It reports
// nothing of them until the queue asks for their build again, and hands out the targets that no
// job covers. If the queue does not ask within five minutes, or the build is another one by
// then, the jobs are cancelled. A job's file is removed ten minutes after the end of its build.
package coordinator
