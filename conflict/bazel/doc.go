// Package bazel analyzes a tree with Bazel: `bazel query` of the packages that
// have changed, in a checkout beside which a server stays warm.
//
//	analysis:
//	  analyzer: bazel
//	  ignore: ["**/*.md", "**/BUILD", "**/BUILD.bazel", "**/*.bzl"]
//	steps:
//	  - name: test
//	    run: bazel test --keep_going {targets} || [ $? = 4 ]     # 4: there was no test among them
//
// The BUILD and .bzl files in `ignore` are ignored only if no package loads
// them; a loaded file is never ignored.
//
// # Targets
//
// Each rule is one, by its label: //a/b:c. Rules tagged manual, for which //...
// does not stand, and package groups take part as nodes, and the targets that
// depend on them verify them. Sources of a manual rule on which no target
// depends have no owner and follow `unowned`. A rule's hash is made of
//
//   - its class and all attributes, defaults and the branches of select
//     included, but not its place in the file;
//   - the files among its inputs, those of a folder that is an input, and
//     whether they exist at all; for a file of another package, its visibility;
//   - the rules among its inputs, those that make the generated files among
//     them, package groups of its visibility, and labels that do not exist;
//   - a node ext:x for each external repository among its inputs, and for
//     each that its BUILD file loads from, directly or not;
//   - the text of all .bzl files that its BUILD file loads, where Bazel's
//     answer has no digest of a rule's code (it has one in version 4);
//   - if it is no rule of Bazel's own, the build settings that transitions in these
//     .bzl files read, and the platforms that these files name.
//
// A query does not tell which toolchain a rule uses. So the rules of the tree
// that register_toolchains and similar functions name, and the rules that rc
// files and platform_mappings name, and those that aspects of rc files use, are below
// every rule that is not below them. If it registers
// toolchains of external repositories, by a label or a macro with such a name,
// WORKSPACE and all other files that define the repositories are below every
// rule, too.
//
// A target of the tree that a repository uses, by a label such as @//a:b in its
// BUILD files that are in the tree, is below the repository. A label through a
// folder that is a link is one of the package that the link leads to.
//
// So a comment or a shifted line in a BUILD file, and a macro that is edited
// without an effect, affect no target. .bazelrc with the files that it imports
// and names, .bazelversion, .bazelignore, .bazeliskrc, REPO.bazel, tools/bazel,
// platform_mappings and the workspace's name are in every hash, and so are the files of
// aspects that rc files name, with all that these load. Source files are
// sources of each rule that lists them.
//
// # Packages are remembered
//
// Bazel's answer about a package is kept with the object ids of its BUILD file
// and of all .bzl files that were loaded, with the folders inside of it that
// are packages, and, where glob can be read in one of those files, with the
// names of its files. If these are the same in another tree, so is Bazel's
// answer. So Bazel is only asked about the other packages, in one query, and
// not at all where only sources have changed.
//
// The same things are definitions: def:a/BUILD stands for a BUILD file with all
// files that it loads, def:x.bzl for a .bzl file, loaded or not, and the
// listings of the folders that a glob looks at are read by the package's
// targets. One change adds
//
//	[filegroup(name = "x") for _ in ([1] if FLAG else [])]
//
// to a/BUILD, and another turns FLAG on in x.bzl, which a/BUILD loads. Neither
// changes a target; both write def:a/BUILD, and conflict. One adds a package
// with glob(["*.md"]) in docs, another docs/new.md: the first newly reads
// list:./docs, the second writes it, and they conflict.
//
// # Nothing of a pull request is run
//
// BUILD and .bzl files are programs, but they can only compute: Bazel gives
// them neither files nor processes. Three things can do more, and all of them
// are kept from trees that have not landed:
//
//   - Options and wrappers. .bazelrc can name startup options, repositories to
//     override and files to import; tools/bazel, .bazelversion and .bazeliskrc
//     choose the program that is run as Bazel. No rc file of the tree or of a
//     home is read (that of the machine in /etc is: Debian's names the install
//     base), and Bazel sees an empty file in place of each of these.
//   - Repository rules and module extensions run any program. So Bazel never
//     sees a tree's WORKSPACE or MODULE.bazel. It sees one with the workspace's
//     name and plain folders: those in the tree that local_repository names in
//     plain words, and the target branch's repositories. These have been fetched
//     in a checkout of the target branch's tip (hence [conflict.Guarded]), where
//     its own WORKSPACE runs, reviewed and landed, with the network. They are
//     fetched once for each state of the files that they are made of, and only
//     if packages load from them. A tree with another version of such a file
//     (WORKSPACE, a .bzl file or a lock file that a repository rule has read)
//     has no graph until it has landed. A tree in which no package loads
//     anything from elsewhere needs no target branch, and may change its
//     WORKSPACE.
//   - Links that lead out of the tree are not in checkouts.
//
// All other code belongs to Bazel itself: its rules for @bazel_tools and the
// local compiler, which depend on nothing in a tree. A BUILD file may compute
// for long and print much: time, output and the server's memory (1 GiB) are
// bounded, and a server is killed if its client was stopped. One server lives
// beside each checkout; it ends with the pool, or after 15 minutes without a
// query.
//
// # Errors
//
// A package that does not load (exit status 7) is asked for once more; then the
// tree has no graph, and Bazel's message says why. There is never a graph of a
// part of the tree (exit status 3). All other errors, such as a crash, a lack
// of memory or time, or a repository that could not be fetched, are
// provisional.
//
// # Limits
//
// The tests use Bazel 4.2.3. Labels and fields as later versions print them are
// understood, but repositories of MODULE.bazel are not fetched: a tree that
// loads from one has no graph. Bazel is the program `bazel` of the server's
// PATH, whatever .bazelversion says. A tree in which --deleted_packages leaves a
// package out of some builds and not of others has no graph. A tree with a prelude
// (tools/build_rules/prelude_bazel) has none either: Bazel does not say which
// files it loads.
package bazel
