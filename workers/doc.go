// Package workers runs builds: it takes queue.Build values and answers with the
// events BuildStarted, JobDone, BuildDone and Capacity of package queue.
//
// A Controller is what the application drives. Pool is the one for self-hosted
// runners; package forgeci has the one for the forge's own CI, and Split stands in
// front of both; Instant is one for benches, whose builds pass at once. A pool has two
// sides that know nothing of one another:
//
//	app ── Controller ──> Pool <── Source ── Serve ── Runner ── sh
//	       Run, Stop,             Next,      the       one slot: checkout,
//	       Events, Log            Report     agent     steps, verdicts
//
// Agents pull: Serve asks the Source for an assignment, lets its Runner execute
// it, and reports log, results and end under the assignment's lease; a report
// without content is the heartbeat. The pool's own agents run in this process
// and call Pool directly. Anything else that can carry those two calls may
// stand in between.
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
// targets, in a checkout of its own. Nothing that one step leaves behind reaches another:
// what has passed is left out of a build, so no step can rely on the one before it. A step
// whose command names its targets is cut by what they are thought to take (Job.Expect),
// longest first, over the agents that are free, or over the build's share of all; a shard
// must be worth the checkout and the start of its tools, which the pool learns for each
// step (shard.go). What waits is cut again when an agent takes it and others are free. All
// shards run, whether or not one has failed. Each yields one JobDone,
// which says its targets (Asked); BuildDone comes last, with the worst that has come of any.
// For example, with four free agents a build of unit on 8 targets and vet on 8 is two
// shards of each; of 120 targets whose longest takes as long as the rest of its quarter,
// that one is a shard alone.
//
// Queues that share a pool get the time of its agents by their weights
// (PoolOptions.Weights); within a queue the build of the highest value goes first.
//
// A Runner by itself executes the jobs that it is given one after the other in one
// checkout. If the next job asks for other submodules or files of LFS than the one
// before (Step.Checkout), the checkout is made again in between, so that no step passes on
// files that another one asked for; if that fails, the jobs that need it are left out, and the
// build is an infrastructure error.
//
// Shards that agents elsewhere have outlive the process: whoever carries the Source gives them
// to the next pool (Holder), which goes on with them when their build is asked for.
//
// A build that is asked for again is not run again: its results are reported again,
// whether it still runs or has ended, because the queue may have lost it with its store.
// For the same reason Standing says what holds of hosts and slots.
//
// # What is a failure and what is not
//
// A failure is what the step's own command says: its exit status, or its report.
// That includes the signals that a program raises by its own fault (SEGV, ABRT and the
// like). 126 and 127 (a command that is not there, or cannot be run) may be the host's
// fault as well as the change's: an infrastructure error, which the ledger takes for a
// failure once a second host has said the same, or the only one there is. A build goes to
// another host than those that it avoids (Build.Avoid), for a while, and to none that the
// queue has benched (Build.Shun) where another one can run it; a benched host is given
// what it is probed with (Build.Only). Fleet says which hosts there are.
// It includes a commit that git does not check out for what it holds (a path such as
// .git/config or ../x), which nobody can run anything on.
// An infrastructure error is what the command did not say: the commit cannot be
// checked out for another reason, the shell cannot be started, the disk is full, the agent is lost
// or panics, and an end by SIGKILL, SIGTERM, SIGHUP, SIGINT or SIGQUIT that did
// not come from us (the out-of-memory killer, an operator), whether the shell or
// a program under it (exit status 137, 143) was hit. A step that ends well but
// whose report leaves out asked targets makes the build an infrastructure error:
// these targets stay unknown, and the cap on such errors keeps that from being
// tried for ever. BuildDone is an infrastructure error if any job has one, else
// failed if any job has failed or timed out, else passed.
//
// # Reports
//
// Package report reads what a step says of each target, in its output and in files that it
// has written, and makes the verdict of that and of the exit status.
//
// # Tools
//
// The environment command of a step (config.Step.Environment) is run by the pool, once
// for all agents in its process, or by whoever runs other agents (Agent.Tools), and
// told by Fleet. An agent gets a step only with the tools that the step is verified
// with; where no agent has these, a build is given back (JobStopped).
//
// # Isolation
//
// Steps run what nobody has reviewed. PoolOptions.Isolate says what keeps them from the
// server and from one another.
//
// IsolateUID, for a process that is root on Linux, gives each slot a user and group of its
// own: a number without an account, which is claimed on the machine for as long as the
// process lives, and is the same again after a restart where it is free. Its steps have no
// other groups and get no privileges by any program that they run. They own the checkout,
// a home and a folder for temporary files; the folder around these, and what is written
// there for them, is the server's, so that they cannot put a link in its place. They can
// neither look into another slot nor into the data folder, which SlotsDir leaves out of
// the way, and read nothing of the server's processes. The environment commands of steps
// have a user of their own as well. If the kernel lets the process have namespaces, each
// step has those of IsolateNamespace, too. If not, no process of the slot's user runs before
// a build and when a step has ended: those that can be found are asked to end, then all are
// killed by one call of the kernel, within which none can fork. If that fails the step has
// not passed, and no build begins there.
//
// IsolateNamespace, for a process that is not root on Linux, gives each step namespaces of
// its own (package cage) for mounts, processes, what processes share in memory, and users,
// the last with this one user in it. The machine is read-only there, but for the checkout,
// the home and /tmp, which are the slot's. Empty are PoolOptions.Hide, the pool's folder,
// other slots, the home of this process's user but for what is in PATH, and /run, where
// sockets are by which a user can have others do something; PoolOptions.Show is seen all the
// same. /proc has the step's own processes only, and with the first of them the kernel ends
// all. The step's user is that of this process: what this user can read elsewhere, and is
// not hidden, the step can read.
//
// IsolateSandbox, on macOS, hides and shows the same by a profile of the system's sandbox,
// which also keeps a step from signals to others, from sockets with a path, and from having
// other programs do something. Processes are ended as described below.
//
// IsolateNone keeps nothing apart: a step can do whatever the server can.
//
// Each build has a home of its own, which is gone after it: a build cannot leave there what
// a later one believes. RunnerOptions.HomeSeed is what each begins with. KeepHome has the
// home of a slot stay, with the caches of tools, and with what anybody's build did to them.
//
// What a step asks to have kept (config.Step.Caches) is moved out of the checkout after it, and
// into that of a later build (caches.go, package cache). Nobody but this process reaches it in
// between. Such a build, too, may have what any build has left there: so it says that it had
// caches (JobDone.Cached), and a failure with them decides nothing by itself (queue.Build.Cold).
//
// Pool.Shut closes addresses to the steps of users of their own, where the kernel lets this
// process do that: a program of the kernel looks at what they send.
//
// Shared in any case: the rest of the network, the processor and memory. Without namespaces so
// are folders that everybody can write, such as /tmp, and without Landlock (since Linux 6.12)
// sockets without a path: by these, two builds that run at once, and mean to, can hand open
// files to one another, and the one could write into a file of the other's slot that a later
// build there has at the same content. Choice.Gaps says which of these this machine leaves
// open.
//
// # The checkout is the commit
//
// A build's first step begins with exactly the files of the commit: the checkout is made by
// the mirror, from an index that no step can reach, while nothing of the slot's user runs,
// handed to that user, and then compared with the commit once more; a difference is an
// infrastructure error. From then on nobody but that user can write there. A step may
// change files of the commit (formatters and generators do), and its result counts; but the
// commit lands, so they are put back, and named in the log, before the next step begins
// (Restorer). Files that a step makes beside them stay for the next, which often needs
// them, until the build ends. A checkout with submodules or files of LFS is compared before
// these are put there, and not between its steps. After the last step it is not compared
// again: only the step itself can have changed it, and the next build begins as above.
// Without isolation a step of another slot can change it at any time.
//
// # Processes
//
// Each step runs in a session of its own with a scrubbed environment (see
// Runner). At its end, its time-out or its cancellation the whole process group
// gets SIGTERM and, after a grace, SIGKILL. On Linux so does every process of
// the session, and every process that still has the slot's mark in its
// environment, which finds daemons that left the session, and those which a
// killed server left behind. A process that leaves the session and also clears its environment
// is found only if steps are isolated: then every process of the slot's user, or of the step's
// namespace, gets them. On other Unix systems a process that leaves the group is not found.
// Elsewhere only the shell itself is killed, at once. Code that must not get away needs
// isolation, or a container or virtual machine around the agent.
package workers
