// Package workers runs builds: it takes queue.Build values and answers with the
// events BuildStarted, JobDone, BuildDone and Capacity of package queue.
//
// The application drives a Controller. Pool is the Controller for self-hosted runners; package
// forgeci has the one for the forge's own CI, and Split stands in front of both; Instant is for
// benches: its builds pass at once. A pool has two sides that know nothing of each other:
//
//	app ── Controller ──> Pool <── Source ── Serve ── Runner ── sh
//	       Run, Stop,             Next,      the       one slot: checkout,
//	       Events, Log            Report     agent     steps, verdicts
//
// Agents pull: Serve asks the Source for an assignment, lets its Runner execute it, and reports
// log, results and end under the assignment's lease; a report without content is the heartbeat.
// The pool's own agents run in this process and call Pool directly. Any transport for those two
// calls may stand in between.
//
// # A worked example
//
//	pool, err := workers.NewPool(workers.PoolOptions{
//		Slots: 4,
//		Dir:   "/var/lib/submitqueue",
//		Runner: workers.RunnerOptions{Checkout: mirror, Mask: secrets},
//		Log:   log,
//	})
//	...
//	go func() {
//		for body := range pool.Events() {
//			append(inbox, body) // BuildStarted, JobDone, BuildDone, Capacity
//		}
//	}()
//	err = pool.Run(ctx, build, action.Key)
//	...
//	pool.Close(ctx)
//
// A build is divided into shards, and a shard is one assignment: one job, or some of its
// targets, in a separate checkout. No step gets the files of another step: a build leaves out
// steps that have passed, so no step can rely on the one before it. A step that names its
// targets in its command is divided by their expected times (Job.Expect), longest first, over
// the agents that are free, or over the build's share of all; a shard must be worth the
// checkout and the start of its tools, which the pool learns for each step (shard.go). A
// waiting shard is divided again when an agent takes it and others are free. All shards run,
// whether or not one has failed. Each yields one JobDone, which names its targets (Asked);
// BuildDone comes last, with the worst outcome of all shards. For example, with four free
// agents a build of unit on 8 targets and vet on 8 is two shards of each; of 120 targets, the
// longest is a shard alone if it takes as long as the rest of its quarter.
//
// Queues that share a pool get the time of its agents by their weights
// (PoolOptions.Weights); within a queue the build of the highest value goes first.
//
// A Runner executes its jobs one after the other in one checkout. If the next job asks for
// other submodules or files of LFS than the one before (Step.Checkout), the checkout is made
// again in between, so that no step passes on files that another one asked for; if that fails,
// the jobs that need it are left out, and the build is an infrastructure error.
//
// Shards of agents on other machines outlive the process: the transport of the Source gives
// them to the next pool (Holder), which goes on with them when their build is asked for.
//
// A build that is asked for again is not run again: its results are reported again, whether it
// still runs or has ended, because the queue may have lost it with its store. For the same
// reason Standing says which hosts and slots there are.
//
// # What is a failure and what is not
//
// Only the step's own command can say that it has failed: by its exit status, or by its report.
// A signal that a program raises by its own fault (such as SEGV or ABRT) is a failure, too. 126
// and 127 (a command that is not there, or cannot be run) may be the host's fault as well as
// the change's: an infrastructure error, which the ledger takes for a failure once a second
// host has said the same, or the only one there is. A build goes to another host than those
// that it avoids (Build.Avoid), for a while, and to none that the queue has benched
// (Build.Shun) where another one can run it; a benched host gets only builds that probe it
// (Build.Only). Fleet lists the hosts. A commit is a failure, too, if git refuses to check it
// out because of its paths (such as .git/config or ../x). Every other trouble is an
// infrastructure error: the commit cannot be checked out for another reason, the shell cannot
// be started, the disk is full, the agent is lost or panics, and an end by SIGKILL, SIGTERM,
// SIGHUP, SIGINT or SIGQUIT that did not come from us (the out-of-memory killer, an operator),
// whether the shell or a program under it (exit status 137, 143) was hit. A step that ends well
// makes the build an infrastructure error if its report leaves out asked targets: these targets
// stay unknown, and the cap on such errors keeps that from being tried for ever. BuildDone is
// an infrastructure error if any job has one, else failed if any job has failed or timed out,
// else passed.
//
// # Reports
//
// Package report reads the results of each target from a step's output and files, and makes the
// verdict from these and the exit status.
//
// # Tools
//
// The environment command of a step (config.Step.Environment) is run by the pool, once for all
// agents in its process, and on other machines by the program that runs the agents there
// (Agent.Tools). Fleet tells its output. An agent gets a step only with the tools that the step
// is verified with; where no agent has these, a build is given back (JobStopped).
//
// # Isolation
//
// Steps run code that nobody has reviewed. PoolOptions.Isolate says how they are kept from the
// server and from each other.
//
// IsolateUID, for a process that is root on Linux, gives each slot a user and group of its own:
// a number without an account, which is claimed on the machine for as long as the process
// lives, and is the same again after a restart where it is free. Its steps have no other groups
// and get no privileges by any program that they run. They own the checkout, a home and a
// folder for temporary files. The folder around these, and the files that the server writes
// there for them, belong to the server, so that they cannot replace them by links. They can
// neither look into another slot nor into the data folder, which SlotsDir leaves out of the
// way, and read nothing of the server's processes. The environment commands of steps have a
// user of their own as well. If the kernel lets the process have namespaces, each step has
// those of IsolateNamespace, too. If not, all processes of the slot's user are ended before a
// build and after each step: those that can be found are asked to end, then all are killed by
// one system call, during which none can fork. If that fails, the step has not passed, and no
// build begins there.
//
// IsolateNamespace, for a process that is not root on Linux, gives each step separate
// namespaces (package cage) for mounts, processes, shared memory, and users, the last with only
// this user in it. The machine is read-only there, except the checkout, the home and /tmp,
// which belong to the slot. These folders are empty there: PoolOptions.Hide, the pool's folder,
// other slots, the home of this process's user (except folders in PATH), and /run, because its
// sockets let a user control other programs. PoolOptions.Show stays visible. /proc has the
// step's own processes only; when the first of them ends, the kernel ends all. The step's user
// is the user of this process: the step can read every file that this user can read and that is
// not hidden.
//
// IsolateSandbox, on macOS, hides and shows the same by a profile of the system's sandbox,
// which also keeps a step from signals to others, from sockets with a path, and from having
// other programs do something. Processes are ended as described below.
//
// IsolateNone does not isolate: a step can do everything that the server can.
//
// Each build has its own home, which is removed after it: a build cannot leave files there that
// a later build trusts. RunnerOptions.HomeSeed is copied into each new home. With KeepHome the
// home of a slot stays, with the caches of tools, and with all changes that any build made to
// them.
//
// The caches of a step (config.Step.Caches) are moved out of the checkout after it, and into
// the checkout of a later build (caches.go, package cache). Only this process can reach them in
// between. Any earlier build may have written to them: so a build says that it had caches
// (JobDone.Cached), and a failure with them alone decides nothing (queue.Build.Cold).
//
// Pool.Shut closes addresses to steps that have their own users, if the kernel lets this
// process do that: a program in the kernel checks what they send.
//
// Steps always share the rest of the network, the processor and memory. Without namespaces they
// also share folders that everybody can write, such as /tmp; without Landlock (since Linux
// 6.12) they share sockets without a path. Two builds that run at once and cooperate can pass
// open files over these: one could then write into a file of the other's slot that a later
// build there has at the same content. Choice.Gaps says which of these gaps this machine has.
//
// # The checkout is the commit
//
// A build's first step begins with exactly the files of the commit: the checkout is made by the
// mirror, from an index that no step can reach, while no process of the slot's user runs. Then
// it is given to that user and compared with the commit again; a difference is an
// infrastructure error. From then on only that user can write there. A step may change files of
// the commit (formatters and generators do), and its result counts; but the commit lands, so
// these files are restored, and named in the log, before the next step begins (Restorer). Files
// that a step makes beside them stay for the next, which often needs them, until the build
// ends. A checkout with submodules or files of LFS is compared before these are put there, and
// not between its steps. After the last step it is not compared again: only the step itself can
// have changed it, and the next build begins as above. Without isolation a step of another slot
// can change it at any time.
//
// # Processes
//
// Each step runs in a session of its own with a scrubbed environment (see Runner). At its end,
// its time-out or its cancellation the whole process group gets SIGTERM and, after a grace,
// SIGKILL. On Linux every process of the session gets them, too, and every process that still
// has the slot's mark in its environment: that finds daemons that left the session, and
// processes that a killed server left behind. A process that leaves the session and also clears
// its environment is found only if steps are isolated: then every process of the slot's user,
// or of the step's namespace, gets the signals. On other Unix systems a process that leaves the
// group is not found. Elsewhere only the shell itself is killed, at once. Code that must not
// escape needs isolation, or a container or virtual machine around the agent.
package workers
