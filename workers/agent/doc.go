// Package agent runs jobs of a coordinator on this machine: it is a small client of the
// GitLab Runner job protocol (package protocol), for Linux and macOS. gitlab-runner does
// the same with more executors; the agent keeps steps apart as the server's own runners do
// (package workers, Isolation), and has nothing to be configured.
//
//	Agent ── so many slots ──> ask ─> begin ─> fetch ─> run ─> upload ─> end ─> ask …
//	              │              POST   PUT     git     sh      POST      PUT
//	              └── a folder each: git/ (reused), checkout/, home/, state.json
//
// # A worked example
//
//	a, err := agent.New(agent.Options{Server: "https://queue.example.com", Token: token,
//		Dir: "/var/lib/submitqueue-runner", Slots: 4, Isolate: workers.IsolateUID, Log: log})
//	...
//	err = a.Run(ctx)   // until ctx ends, which aborts what runs, or a.Drain is called
//
// A slot asks, and the server holds the request until there is work. It says at once that
// it has begun, fetches the job's commit into a repository of its own that no step can
// reach, puts the files into the checkout, removes what an earlier job has left there, and
// runs the job's script. Output goes to the server every few seconds, in pieces that are
// sent again from where the server says (416). The end is said with the length and the
// checksum of all that was sent, until the server has taken it.
//
// # Submodules and files of Git LFS
//
// The server lists what a checkout holds beside its commit (protocol.Outside), and gives it
// with the job's token: submodules by git, each into its empty folder, and contents by the
// batch API of Git LFS, each compared with its SHA-256 and kept for later jobs. A list is
// believed no further than paths below the checkout. What cannot be had breaks the job.
//
// # Tools
//
// The environment commands of steps (config.Step.Environment) are asked of the server, run
// here as on the server's own host (workers.Survey), and what they show is told with each
// request for a job. The server says with its answers when there are others.
//
// # Caches
//
// What a job names as caches is moved into the checkout before the script, and out of it
// afterwards, as for the server's own runners (package workers, Place.Fill); a job with the
// policy push begins without. The end says whether the script had any (protocol.Update.Cached),
// because a failure with them decides nothing. What a script leaves that did not end by itself
// is dropped.
//
// # Trouble
//
// A server that does not answer is asked again, later each time, for as long as a job's
// end is worth telling: an hour. A job that the server has cancelled, or does not know any
// more, is ended at once. What an earlier process of the agent left behind is ended before
// the first job, and the job that it had is reported as runner_system_failure: state.json
// has its token until its end was told. The server would find the same by the silence.
//
// An output that is longer than Options.Output has a part in its middle left out, and so has
// one that the disk has no room for. The end says so (protocol.Update.Cut): a report with a
// hole in it says nothing of single targets. What fails on a full disk is the machine's fault;
// what the step has left in the checkout gives way then, and where that does not help, the
// slot asks for no job.
//
// Times are spans of the monotonic clock: one that is set forward or back changes nothing.
//
// A step sees neither the agent's token nor the repository nor another slot, if it is
// isolated; the job's own token is in no variable.
package agent
