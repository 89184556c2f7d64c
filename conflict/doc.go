// Package conflict says what a change can influence: which targets of a tree
// have another hash, which keys must be verified again, and which pending
// changes influence one another.
//
// # From a tree to keys
//
// An [Analyzer] turns a [Tree] into a [Graph] of targets with their files and
// dependencies. [Analyze] hashes it into a [Snapshot]. The hash of a target is
// a SHA-256 over
//
//	salt (analyzer id and settings among it), kind, name, attributes,
//	(path, mode, object id) of its files,
//	hash of each dependency, in the order of their names
//
// each field framed by its length, each list sorted and counted, nothing
// shortened. So a hash changes exactly when an input of the target does: equal
// hashes mean that a step that has passed need not run again, and the queue's
// ledger relies on that. A dependency that does not exist is hashed by name.
// Targets of a cycle are hashed as one and named in [Snapshot.Cycles].
//
// [Keys] is the difference of two snapshots under their steps: the keys that a
// commit has and its parent has not.
//
// # From one tree to the next
//
// Trees come in families: main, main with a change, the links of a train. So a
// snapshot is made from one nearby, by [Advance]. Names have numbers that the
// family shares; records, hashes and reverse edges are lists by number in
// pages, and an unchanged part is the same page. A [Follower] says which
// targets of the graph differ; those and all above them are hashed again, and
// nothing else is looked at or copied. The difference of two snapshots of a
// family is the difference of their pages. Nothing is updated in place, so
// nothing must be updated when a change lands: main has become the snapshot
// that was made for it. A change of a file in every hash, or one that the
// follower cannot place, falls back to the whole graph; the result is the same,
// and a test compares the two.
//
// # Every file is in some hash
//
// A file that no hash covers could break main without a single build. So each
// file of a tree is, by the first of these that holds,
//
//   - a barrier file, in the salt of every hash: .submitqueue.yml,
//     .gitattributes, .gitmodules, .gitlab-ci.yml, the workflows and actions
//     of .github, what the analyzer names (go.work) and the globs of `barrier`;
//   - claimed: a source of a target, or of a node that a target depends on;
//   - ignored, by a glob written down in `ignore`: the only files that are left
//     out, and only where no target claims them;
//   - unowned: in the salt of every hash (`unowned: all`, the default), or a
//     source of the one target config.TargetUnowned (`unowned: target`). With
//     `unowned: ignore` there must be globs in `ignore`, and files that they do
//     not name are in the salt: only files that somebody has named are left
//     out.
//
// A link that is unowned or a barrier file brings the file that it leads to, no
// matter which target owns the file: a target that reads the link reads the file. A
// link to a folder brings nothing. A declared link (`inputs`) stands for what it
// leads to, a folder with all below it.
//
// Names of one directory that differ in their case alone are in the salt, but for ignored
// ones: on a disk that takes no notice of case, such a tree cannot be checked out.
//
// Targets may read files that no analyzer sees them read: a test that reads
// README.md, or another package's sources. `inputs` declares them: each entry is
// an internal node over the files that it names, on which the targets that it
// names depend. So the files are in these targets' hashes as well, and in those
// of all targets that depend on them; no file leaves a hash by that, and an
// ignored file stays ignored for all other targets. `submitqueue audit inputs`
// finds files that are read and are in no hash.
//
// If the graph of a tree cannot be computed, the tree is the one target
// config.TargetTree, with the tree's id as its hash: safe, and slow. Analyzer
// and settings are in the salt, too.
//
// # Footprints
//
// [FootprintOf] compares main with main plus a change. Write, the δ of the
// SubmitQueue paper, holds the targets with another hash, those added and
// removed, and the definition nodes that differ. Read holds the heads of added
// edges and the definition inputs newly read. Two changes conflict when Write
// meets Write or Write meets Read; this equals the paper's union graph with
// deletions included, and a test holds the two against each other.
//
// Definition nodes stand for files that shape the graph itself. Two changes may
// each leave the graph as it is and change it together: one embeds web/*, the
// other adds web/new.html. The listing of each directory is such a node
// ([ListingOf]): a change that adds or removes a name in the directory writes
// the node, and targets with a definition that looks at the directory read the
// node.
//
// # Which changes conflict
//
// conflict/index answers that for all pending changes: it compares footprints,
// counts the edges that third changes add, and finds changes that touch a
// common path ([TouchedPaths]) though they have no target in common.
//
// # Versions
//
// Another version of an analyzer, or another format of hashes, is another ID and
// gives other hashes. [Versioned] says how the elder one stays at hand, so that
// an upgrade of the server repeats no build that has passed: the queue goes on
// under it until main is proven under the newer one (speculation/upgrade.go).
//
// # Worked example
//
// Main has ./api, and ./web which depends on it. Change 1 edits ./api: its
// footprint is Write = Affected = {./api, ./web}. Change 2 edits ./web: Write =
// {./web}. They conflict with ./web as the witness, and Keys of main+1+2 on
// main+1 is the one key of ./web at a hash that covers both edits. Change 3
// edits docs/intro.md under `ignore: [docs/**]`: its footprint is empty, it
// conflicts with no change and asks for no key. Change 4 edits .gitattributes:
// it is All, conflicts with 1 and 2, and asks for all keys.
//
// The package is pure: it reads trees through the port and does nothing else.
// Analyzers are sub-packages that import this package, queue, and a library.
// A wrong footprint costs time; a hash that misses an input costs a red main.
// In doubt an analyzer takes the larger set of inputs.
package conflict
