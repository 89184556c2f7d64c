package conflict

import (
	"path"
	"slices"
	"strings"
)

// Purposes counts the files that say how things are built and the files of tests, by
// their names alone: for models, to which a hint is enough. A file may be both, or
// neither.
func Purposes(files []string) (builds, tests int) {
	for _, f := range files {
		if isBuildFile(f) {
			builds++
		}
		if isTestFile(f) {
			tests++
		}
	}
	return builds, tests
}

// The base names, and the endings, of files that say how things are built.
var (
	buildNames = []string{
		".bazelrc", ".bazelversion", ".gn", ".submitqueue.yml", "BUILD", "BUILD.bazel", "BUILD.gn", "CMakeLists.txt", "Cargo.lock", "Cargo.toml",
		"Dockerfile", "GNUmakefile", "Gemfile", "Gemfile.lock", "MODULE.bazel", "MODULE.bazel.lock", "Makefile", "WORKSPACE", "WORKSPACE.bazel",
		"build.gradle", "build.gradle.kts", "build.rs", "go.mod", "go.sum", "go.work", "go.work.sum", "gradle.properties", "makefile", "meson.build",
		"nx.json", "package-lock.json", "package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "pom.xml", "project.json", "pyproject.toml",
		"requirements.txt", "rust-toolchain", "rust-toolchain.toml", "settings.gradle", "settings.gradle.kts", "setup.cfg", "setup.py", "turbo.json",
		"yarn.lock",
	}
	buildEndings = []string{".bzl", ".cmake", ".gni", ".mk"}
	testDirs     = []string{"__tests__", "spec", "specs", "test", "testdata", "testing", "tests"}
)

func isBuildFile(file string) bool {
	base := path.Base(file)
	return slices.Contains(buildNames, base) || slices.Contains(buildEndings, path.Ext(base))
}

func isTestFile(file string) bool {
	dir, base := path.Split(file)
	stem := strings.TrimSuffix(base, path.Ext(base))
	for _, end := range []string{"_test", "_tests", "_unittest", "_spec", ".test", ".spec", "Test", "Tests"} {
		if strings.HasSuffix(stem, end) {
			return true
		}
	}
	if strings.HasPrefix(stem, "test_") {
		return true
	}
	return slices.ContainsFunc(strings.Split(dir, "/"), func(d string) bool { return slices.Contains(testDirs, d) })
}
