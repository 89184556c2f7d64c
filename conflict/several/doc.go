// Package several runs several analyzers on one repository: Go in server/, a
// JavaScript workspace in web/, and areas for the rest.
//
//	analysis:
//	  analyzers:
//	    - {analyzer: go, under: server, needs: [web]}
//	    - {analyzer: node, name: web, under: web}
//	steps:
//	  - {name: unit, analyzer: go, run: "go test -json {targets}", report: go-test-json}
//	  - {name: web, analyzer: web, run: "for t in {targets}; do npm test -w \"$t\" || exit 1; done"}
//
// # Names
//
// The target ./cart of the analyzer go is go:./cart in hashes, conflicts and
// reports, and "def:web:x" is the definition node that the analyzer web calls
// "def:x". Only commands get the names without that of the analyzer. The graph
// of an analyzer is hashed by the rules of package conflict; a file that two of
// them claim is in the hashes of both, and one that none claims follows
// `unowned`, as does a file that is claimed only by an analyzer without targets
// that can be verified.
//
// # What moves all targets of one analyzer
//
// The node named after an analyzer, "web", is below each of its nodes. It holds
// the data that the analyzer puts into every hash (its barrier files and its
// salt) and the files of the entry's `barrier`. So go.work moves all of go: and
// nothing of web:. Files that no analyzer claims (under `unowned: all`),
// `barrier` of the analysis and the built-in barrier files are in the hashes of
// all analyzers.
//
// # Needs
//
// With `needs: [web]` the node "go" is above "web/*", which is above every
// target of web: a change to any of these reaches all of go:. That is coarse;
// it is for programs that embed or read the results of the others. Analyzers do
// not see one another: without it a Go test that reads ../web/index.html, a
// file that web: claims, is not run when that file changes.
//
// # Folders
//
// Under a folder an analyzer sees a tree that has only the files of the folder,
// named from there, and an id that depends on these files alone. A path in a
// manifest that leaves the folder (replace => ../lib) leads nowhere: say `needs`,
// name the files in the entry's `barrier`, or let the analyzer begin further up.
// A symbolic link that leaves the folder is followed: its file is in the hashes
// of all targets of the analyzer.
//
// # When one fails
//
// The part of an analyzer that cannot read it is one target, web:tree, over all
// files of its folder: any change there moves it, and the steps of the analyzer run
// on everything. Its `needs`, its `barrier`, the links out of its folder and all
// declared `inputs` lead to it as they would lead to its targets, and the `needs` of
// other analyzers lead from it. The other analyzers keep their targets, also those
// with files in that folder. A change that breaks a part removes all its targets and
// adds the one; a change that mends it does the reverse, so that both conflict with
// every change to the part.
//
// While it cannot be read, a file of the folder counts as claimed by it, as the
// folder was given to it; so it is not unowned. An analyzer of the whole tree that
// cannot read it claims nothing: its one target has every file in its hash, and
// files that no other analyzer claims are unowned. If no analyzer can read its
// part, the tree is one target.
//
// # Worked example
//
// Under the configuration above a change to web/ui/button.ts moves web:@shop/ui,
// the targets that depend on it, and by `needs` all of go:. A change to
// server/cart/cart.go moves go:./cart and the targets that import it. A change
// to server/go.work moves all of go:. The first conflicts with the two others,
// as each moves targets of go:; without `needs` it would not.
package several
