// Package golang analyzes Go modules straight from git objects: no checkout, no
// module download, no go command. It reads each go.mod and go.work and the
// imports of each Go file, remembers read files by object id, and so takes
// milliseconds for the next tree.
//
// From one tree to the next it goes by the difference (Follow): it reads again
// the packages with a difference in their directory, test data or embedded
// files, and those with a link to a file that differs. It makes the nodes of
// these, and of the importers of a package, link or submodule that was added or
// removed. The new version of an external module is one node. A change of the
// modules, of files in every hash or of the meaning of imports, such as a new
// requirement, needs the whole graph.
//
// # Nodes
//
// Each directory with Go files is up to two nodes:
//
//	lib:./dir   what others import: the Go files without tests, with what
//	            they embed and the C and assembly files beside them
//	./dir       the target: the tests, testdata and plain files of the
//	            directory; depends on lib:./dir and on the libraries that
//	            the tests import
//
// so the edit of a test or of test data reaches no importer. Only ./dir can
// be verified, and it stands for building, vetting and testing the package:
//
//	run: go vet {targets} && go test -json {targets}
//	report: go-test-json
//
// Its alias is the import path, which is what `go test -json` calls it. For
// several modules without a go.work the command has to enter each directory:
//
//	run: for t in {targets}; do (cd "$t" && go test -json .) || exit 1; done
//
// Further nodes, none of them targets: ext:./dir, the external modules of a
// go.mod, and native, the files that C compilers and linkers may read.
//
// # Inputs
//
//   - All build constraints count at once: a hash covers the files of every
//     platform. A script (//go:build ignore) belongs to the tests' node. A
//     directory where nothing builds on the analyzer's platform is no target,
//     as `go test` of it fails; its files are unowned unless a package that
//     is a target imports it.
//   - //go:embed takes all files that a pattern could match.
//   - A string of a test file that leads out of its directory, as in
//     os.ReadFile("../testdata/x.json"), filepath.Join("..", "testdata") or
//     "./cmd/tool/in.txt", makes the file or folder that it names an input of ./dir, and
//     the library of a package there a dependency: the test may build and run it. So do
//     ../tools/..., an import path, and, where a string such as "../.." stands alone, the
//     names that are put behind it: os.ReadFile(root + "/deploy/x.yaml").
//     The files that a package names so are inputs of lib:./dir, too, if the naming file
//     imports testing: it helps tests, and finds files from its own directory.
//   - A tree does not say which external module uses which. So all external
//     modules of a go.mod are one node over go.mod, go.sum and vendor. A
//     package that imports any of them, directly or not, is affected by each
//     update; a package that imports only the standard library is not.
//   - module, go, toolchain, godebug, tool and ignore lines and replacements
//     by directories are in every hash of the repository, as go.work is.
//   - An import leads to every directory that it may mean under any module that
//     the importer can be built in: the importer's module, modules in one
//     go.work with it, and modules that replace it by its directory. A path to
//     a link or to a directory that does not exist is hashed as such.
//   - A Go file with unreadable imports, or with more than 4,096 strings that may be
//     paths, makes its node depend on the whole tree: the node changes with every
//     change until the file is repaired.
//   - A package with cgo, C or assembly depends on all files of the tree that
//     a C compiler or linker may read by their names, and on those that it includes from
//     another directory (#include "../x/table.txt", .incbin).
//   - Files with a leading dot in the name, and plain files beside a go.mod,
//     are settings of tools more often than inputs of one package. No package
//     claims them; they follow `unowned`, as do directories without Go files.
//
// # Undeclared inputs
//
// A plain file or test data belongs to its package. When the test of another
// package reads it by a path that is put together at run time, or in code that the
// test calls, no file says so, and an edit of the file does not run that test.
// `submitqueue audit inputs` finds such tests; declare the files that they read in
// `inputs`:
//
//	analysis:
//	  analyzer: go
//	  inputs:
//	    - {targets: [./deploy], files: ["config/*.yaml"]}
//
// The same holds for tests that read other packages' Go files, and for packages that use
// an external module that itself imports a package of the tree: only that module's own
// files would say which. A file in a
// directory without Go files needs no such care: it is unowned, and in every
// hash by default.
package golang
