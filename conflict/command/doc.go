// Package command analyzes a tree by a program of the repository: it prints
// the targets, so that a build system that we do not know needs no code here.
//
//	analysis:
//	  analyzer: command
//	  command: sh tools/graph.sh
//	  program: ["tools/graph.sh"]     # all files that the command runs
//	  definitions: ["*/deps"]         # all files that say what the graph is
//	  timeout: 1m
//
// # Worked example
//
// Each folder with a file `deps` is a target, and the file names the folders
// that it needs, one a line. tools/graph.sh:
//
//	cd "$SUBMITQUEUE_TREE"
//	for file in */deps; do
//	  dir=${file%/deps}
//	  deps=
//	  while read -r need; do
//	    deps="$deps${deps:+,}\"$need\""
//	  done <"$file"
//	  printf '{"target":"%s","deps":[%s],"sources":["%s/"],"reads":["%s","./"]}\n' \
//	    "$dir" "$deps" "$dir" "$file"
//	done
//
// With api/deps empty and web/deps holding "api" it prints
//
//	{"target":"api","deps":[],"sources":["api/"],"reads":["api/deps","./"]}
//	{"target":"web","deps":["api"],"sources":["web/"],"reads":["web/deps","./"]}
//
// so an edit of api/x affects api and web, one of web/x affects web only, and
// two changes that each add a folder do not touch each other.
//
// # What is printed
//
// One JSON object a line on standard output, one for each target, in UTF-8:
//
//	target    text, required  its name, as steps are given it: letters, digits and ._/-:@+=,~%#()[]
//	kind      text            of the rule, for people
//	deps      list of texts   names of targets; those that do not exist are missing until they do
//	sources   list of paths   files that it owns
//	inputs    list of paths   further files that its result depends on
//	reads     list of paths   definition files, and listings of folders, that this line was made from
//	attrs     any JSON        whatever else it is made of: flags, versions, platforms
//	internal  true or false   it cannot be verified by itself, only what depends on it
//	alias     text            another name, under which reports speak of it
//
// Paths are from the root of the tree, with slashes. In sources and inputs
// "dir/" stands for all files below dir; a path that does not exist is missing,
// and the target changes when it appears. The file that a link leads to is an
// input, too. In reads "dir/" stands for the names in dir and "./" for those in
// the root; a file in reads belongs to the target as a source does. If one
// target has no reads, all files of `definitions` are in every target's hash.
// The files of `program` always are.
//
// Everything else is an error with its line: unknown or repeated fields,
// invalid JSON, a name twice, names that the queue uses itself (tree, unowned,
// def:.., list:..), paths that lead out, no target at all. A tree for which the
// command fails, takes too long or prints rubbish has no graph: every step runs
// on the whole of it, as one target. A run that fails is tried once more.
//
// # Which program is run
//
// The command runs on the server, beside its secrets, and the author of any
// pull request writes a tree. So the program is never taken from that tree. The
// command runs in a folder that holds the files of `program` and nothing else;
// the tree is data, in another folder, $SUBMITQUEUE_TREE. And it runs only if
// the configuration and each file of `program`, added and removed ones
// included, are those of the target branch's tip. A change that touches one of
// them has no graph, conflicts with every other change and is built as a whole,
// until it has landed; then main has the proposed program, reviewed.
//
// That holds as far as `program` is complete. A tool that runs code of the tree
// (Gradle and its build scripts) needs all of that code in `program`; and no
// command may source, import or run files of $SUBMITQUEUE_TREE. "python3 -m"
// looks for modules in the working folder, which is the program's and harmless;
// after cd "$SUBMITQUEUE_TREE" it is not. Links that lead out of the tree are
// not in it, so reading files is safe. Package checkout says which parts of the
// machine a program can see.
package command
