// Package history is the file format of a queue's event archive (queue.Row): servers write it
// day by day, `submitqueue history export` prints it, and `simulate --history` replays it.
//
// A file is JSON lines, gzip or not. The first line is a header:
//
//	{"history":1,"queue":"acme/shop@main","written":"2026-03-01T12:00:00Z"}
//
// Each further line is one row: its moment, in milliseconds since 1970 UTC, and one member
// that says its kind. Members that are zero are left out; durations are in milliseconds
// (_ms). A reader ignores members and kinds that it does not know.
//
//	{"at":1772366400000,"arrival":{"change":"42.1f8e0c3a","number":42,"author":"ann",...}}
//
//	arrival   a change once it was first analyzed: change, number, author, title, head,
//	          arrival (when it was asked for), paths (at most 200), targets (affected; at most
//	          500), affected (how many), digest (of all of them), all (touches everything),
//	          features (name -> number; a missing name is a missing value), chance and
//	          predicted_ms, as predicted then
//	verdict   how a change ended: change, number, author, arrival, outcome (landed, rejected,
//	          cancelled, nothing-to-land), reason (failed, merge-conflict, ...), commit, builds,
//	          failures (step, targets, build, and what ran: change on chain on main), clashes
//	          (paths that do not merge), against (landed changes that touch these), features,
//	          sound (of one that failed: how far, from 0 to 1, it is believed to be sound on
//	          its own and to have broken with others). If main shows later that the change
//	          landed, there is a second row
//	result    what one run of a step of a build has shown; a step is run once for each part of its
//	          targets, and again for new ones: build, step, repeat, whole (a step on the whole tree),
//	          outcome (passed, failed, timeout, infrastructure), took_ms, asked (how many
//	          targets), targets (at most 500: target, outcome, took_ms)
//	build     a build that has ended, after its results: build, change (none: main itself),
//	          also (changes that it is for as well), main and chain (what it ran on), commit,
//	          attempt, worth (its kind), value, steps (step, targets), asked, started, outcome
//	          (cancelled: it was aborted at the row's moment), predicted_ms
//	main      a commit that main has got: commit, changes (that landed as it), outside (the
//	          queue did not make it)
//
// Features are numbers by name. Those of the core are the columns of a Case of package
// predict, as far as they are known, with builds and infra (builds started, infrastructure
// errors lately). Those of a log have the same names: affected, files, dirs, lines_added,
// lines_removed, binaries, test_files and revert.
//
// Two rows of one kind about the same change, build, run of a step or commit say the same
// thing twice, and the later one counts (Tidy). Lines are in the order in which they were
// stored; except for imported rows, that is the order of time.
//
// A row has no log, no address, no machine and no secret. It has authors, titles, paths and
// names of targets; Anonymous replaces these by hashes.
//
//	reader.go     Reader; writer.go: Writer
//	folder.go     a file for each queue and day, which a server appends to
//	load.go       all rows of a file or a folder
//	anonymous.go  hashes in place of names
package history
