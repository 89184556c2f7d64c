// Package gn analyzes a tree with GN: `gn gen` and `gn desc` in a checkout,
// with the default arguments.
//
//	analysis:
//	  analyzer: gn
//	steps:
//	  - name: build
//	    run: gn gen out && ninja -C out $(printf '%s\n' {targets} | sed 's,^//,,')
//
// # Targets
//
// Each target of the default toolchain is one, by its label: //base:strings.
// Targets of other toolchains take part as nodes, and the targets that depend
// on them verify them. A target's hash is made of
//
//   - its whole description by `gn desc`, flags from configs included;
//   - its sources, inputs, script, public headers and runtime data, and each
//     other file of the tree that its description names, such as in args, and
//     the files that links among them lead to;
//   - the files that its sources include, directly or not, in the folders in which its
//     compiler looks for them, though it depends on no target that has them: only
//     `gn check` refuses that, and no build. A tree in which they would have to be looked
//     for a quarter of a billion times has no graph;
//   - its BUILD.gn with all files that it imports or reads, and the same of the
//     toolchain and the configs that it names, because `gn desc` does not print
//     their commands;
//   - its dependencies, data_deps included; and, if the definition of its toolchain has
//     the word deps, all targets of other toolchains that do not depend on its own, since
//     GN does not say which of them the toolchain's tools are.
//
// .gn and the build configuration with its imports are in every hash. So any
// edit of a BUILD.gn, even of a comment, affects the targets of its folder and
// those that depend on them. An edit of a .gni affects the targets of all files
// that import it. Each of these files is a definition node as well, and so is each
// header of a target. A BUILD.gn
// that is never loaded has no owner and follows `unowned`, as do headers that
// no target lists.
//
// Files that a script reads without saying so (inputs, depfile) are not known
// to GN: name them in `barrier`, or list them in inputs.
//
// # Nothing of the tree is run
//
// The author of any pull request writes .gn and BUILD.gn, and GN runs on the
// server. Its exec_script would run any program, and in .gn even one that
// --script-executable does not control. So:
//
//   - GN does not read the tree's .gn. It reads one that is made of it: the
//     settings buildconfig, root, default_args, and an empty
//     exec_script_whitelist, with which GN refuses exec_script everywhere.
//     default_args are plain values; a call in .gn is an error.
//   - import and read_file take a plain name of a file in the tree, and import
//     only *.gni and *.gn. A file that breaks this rule is taken out of the
//     checkout before GN runs: a message could show the content of files that
//     it reads. Afterwards all files in the list of files that GN has read must
//     be files of the tree.
//   - secondary_source and build_file_extension are not supported.
//
// A tree that needs one of these has no graph and says why; it is built as a
// whole. A repository that needs exec_script is better served by the analyzer
// command: its program may call GN freely once it has landed.
package gn
