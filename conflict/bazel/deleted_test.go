package bazel_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// A package is deleted only where Bazel reads the option: not in a comment, and not in the rc
// file of another workspace in the tree. Otherwise its targets would never be verified.
func TestPackagesThatNoOptionDeletes(t *testing.T) {
	b := mustOpen(t)
	main := conflicttest.New(map[string]string{"BUILD": "", "WORKSPACE": "", "a/BUILD": "filegroup(name = \"a\", srcs = [\"f\"])\n", "a/f": "", "b/BUILD": "filegroup(name = \"b\")\n"})
	for name, files := range map[string]map[string]string{
		"a comment":                        {".bazelrc": "# build --deleted_packages=a\n"},
		"a comment behind an option":       {".bazelrc": "build --jobs=4 # --deleted_packages=a\n"},
		"the rc file of another workspace": {"examples/x/.bazelrc": "build --deleted_packages=a\n", "examples/x/WORKSPACE": ""},
		"a command that builds nothing":    {".bazelrc": "query --deleted_packages=a\n"},
	} {
		tree := main
		for path, text := range files {
			tree = tree.With(path, text)
		}
		if got := names(b.know(tree)); !strings.Contains(got, "//a:a") {
			t.Errorf("%s: targets are %s", name, got)
		}
	}
}

// Where an option deletes a package for some builds only, it is not known whether the steps'
// builds have it.
func TestPackagesThatSomeBuildsDelete(t *testing.T) {
	b := mustOpen(t)
	main := conflicttest.New(map[string]string{"BUILD": "", "WORKSPACE": "", "a/BUILD": "filegroup(name = \"a\")\n", "b/BUILD": "filegroup(name = \"b\")\n"})
	for file, text := range map[string]string{".bazelrc": "build:ci --deleted_packages=a\n", "ci.bazelrc": "build --deleted_packages=a\n"} {
		if s := b.analyze(main.With(file, text)); !strings.Contains(s.Unknown, "--deleted_packages=a") {
			t.Errorf("%s: unknown %q", file, s.Unknown)
		}
	}
	if got := names(b.know(main.With(".bazelrc", "build --deleted_packages=b,\\\na\n"))); got != "" {
		t.Errorf("targets are %s", got)
	}
}
