// Package agent runs jobs of a coordinator on this machine: it is a small client of the GitLab
// Runner job protocol (package protocol), for Linux and macOS. gitlab-runner does the same with
// more executors; the agent isolates steps as the server's own runners do (package workers,
// Isolation), and needs no configuration.
//
//	Agent ── so many slots ──> ask ─> begin ─> fetch ─> run ─> upload ─> end ─> ask …
//	              │              POST   PUT     git     sh      POST      PUT
//	              └── for each: git/N/ (reused), checkout/, home/, job-N.json
//
// # A worked example
//
//	a, err := agent.New(agent.Options{Server: "https://queue.example.com", Token: token,
//		Dir: "/var/lib/submitqueue-runner", Slots: 4, Isolate: workers.IsolateUID, Log: log})
//	...
//	err = a.Run(ctx)   // until ctx ends, which aborts the running jobs, or a.Drain is called
//
// A slot asks, and the server holds the request until there is work. It says at once that it
// has begun, fetches the job's commit into a repository that no step can reach, puts the files
// into the checkout, removes the files that an earlier job has left there, and runs the job's
// script. Output goes to the server every few seconds, in pieces; after a 416 it is sent again
// from the offset that the server names. The end is sent, with the length and the checksum of
// the whole output, until the server has taken it.
//
// # Submodules and files of Git LFS
//
// The server lists what a checkout holds beside its commit (protocol.Outside), and gives it
// with the job's token: submodules by git, each into its empty folder, and contents by the
// batch API of Git LFS, each compared with its SHA-256 and kept for later jobs. A list with a
// path outside of the checkout is refused. If some content cannot be had, the job is broken.
//
// # Tools
//
// The agent asks the server for the environment commands of steps (config.Step.Environment),
// runs them as the server does on its own host (workers.Survey), and tells their output with
// each request for a job. The server's answers say when the commands have changed.
//
// # Caches
//
// The caches that a job names are moved into the checkout before the script, and out of it
// afterwards, as for the server's own runners (package workers, Place.Fill); a job with the
// policy push begins without. The end says whether the script had any (protocol.Update.Cached),
// because a failure with them decides nothing. The caches of a script that was stopped are
// dropped.
//
// # Trouble
//
// If the server does not answer, the agent asks again, later each time, for an hour: after that
// nobody needs the end of a job. A job that the server has cancelled, or does not know any
// more, is ended at once. Processes that an earlier agent left behind are ended before the
// first job, and its job is reported as runner_system_failure: the file of its slot has the
// job's token until its end was reported. Without that report the server would notice its
// silence.
//
// If an output is longer than Options.Output, or the disk is full, a part in its middle is left
// out. The end says so (protocol.Update.Cut): a report with a hole in it says nothing of single
// targets. A failure on a full disk is the machine's fault: the files of the step in the
// checkout are removed then, and if that does not help, the slot asks for no job.
//
// Times are spans of the monotonic clock: to set the clock forward or back changes nothing.
//
// A step sees neither the agent's token nor the repository nor another slot, if it is
// isolated; the job's own token is in no variable.
package agent
