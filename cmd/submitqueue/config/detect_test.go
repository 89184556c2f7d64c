package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
)

func treeOf(files ...string) tree {
	slices.Sort(files)
	return tree{analyzers.Tree{Files: files, Read: func(string) string { return "" }}}
}

// Each folder is found once, and what lies within a workspace of Bazel or GN is
// left to it.
func TestDetect(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("m%02d/go.mod", i), fmt.Sprintf("m%02d/go.work", i), fmt.Sprintf("m%02d/a/go.mod", i))
	}
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"bazel":            {[]string{"MODULE.bazel", "WORKSPACE", "go.mod", "web/package.json", "x/.gn"}, "bazel:"},
		"gn":               {[]string{".gn", "go.mod", "x/MODULE.bazel"}, "gn:"},
		"bazel in a part":  {[]string{"core/MODULE.bazel", "core/WORKSPACE", "core/go.mod", "core/x/MODULE.bazel", "core/y/.gn", "n/.gn", "n/y/WORKSPACE", "server/go.mod"}, "gn:n bazel:core go:server"},
		"gn in a part":     {[]string{"native/.gn", "native/third_party/z/.gn", "native/rs/Cargo.toml", "tool/Cargo.toml"}, "gn:native cargo:tool"},
		"beside another":   {[]string{"go.mod", "core/MODULE.bazel", "corelib/.gn"}, "bazel:core gn:corelib go:"},
		"not its own":      {[]string{"vendor/x/MODULE.bazel", "testdata/.gn", ".cache/.gn", "go.mod"}, "go:"},
		"a dot at the end": {[]string{"v1./go.mod"}, "go:v1."},
		"many":             {many, "go:m00 go:m01 go:m02 go:m03 go:m04 go:m05 go:m06 go:m07 go:m08 go:m09"},
	} {
		var got []string
		for _, f := range analyzers.All().Detect(treeOf(c.files...).Tree) {
			got = append(got, f.Analyzer+":"+f.Under)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Checks verify a change only if they are all that a pull request gets: init writes no
// step that waits for a part of them.
func TestChecksOfBuildsAreAllOfThem(t *testing.T) {
	const tests = "on: [push, pull_request]\njobs: {unit: {}, lint: {}}\n"
	for name, c := range map[string]struct {
		workflows map[string]string
		want      string
	}{
		"all":                       {map[string]string{"ci": tests, "deploy": "on: {push: {branches: [main]}}\njobs: {deploy: {}}\n"}, "lint unit"},
		"a job of unknown names":    {map[string]string{"ci": "on: [push, pull_request]\njobs: {lint: {}, test: {strategy: {matrix: {os: [linux, macos]}}}}\n"}, ""},
		"tests do not start":        {map[string]string{"audit": "on: [push, pull_request]\njobs: {audit: {}}\n", "ci": "on: {push: {branches: [main]}, pull_request: {}}\njobs: {unit: {}}\n"}, ""},
		"tests start on some paths": {map[string]string{"audit": "on: [push, pull_request]\njobs: {audit: {}}\n", "ci": "on: {push: {paths: [src/**]}, pull_request: {}}\njobs: {unit: {}}\n"}, ""},
		"some cannot be read":       {map[string]string{"audit": "on: [push, pull_request]\njobs: {audit: {}}\n", "ci": "on: [push, pull_request\n"}, ""},
		"a job may be skipped":      {map[string]string{"ci": "on: [push, pull_request]\njobs: {unit: {}, deploy: {if: \"github.ref == 'refs/heads/main'\"}}\n"}, ""},
		"a job is never skipped":    {map[string]string{"ci": "on: [push, pull_request]\njobs: {unit: {}, all: {if: \"${{ !cancelled() }}\"}}\n"}, "all unit"},
	} {
		files := map[string]string{}
		var list []string
		for w, text := range c.workflows {
			files[".github/workflows/"+w+".yml"] = text
			list = append(list, ".github/workflows/"+w+".yml")
		}
		in := treeOf(list...)
		in.Read = func(file string) string { return files[file] }
		if got := strings.Join(in.checks(true), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A CI beside GitHub Actions may be the one that runs the tests.
func TestChecksBesideAnotherCI(t *testing.T) {
	const actions = ".github/workflows/audit.yml"
	for other, known := range map[string]bool{
		".circleci/config.yml": true, ".buildkite/pipeline.yml": true, ".travis.yml": true, "azure-pipelines.yml": true, ".azure-pipelines.yaml": true,
		"appveyor.yml": true, ".cirrus.star": true, "Jenkinsfile": true, ".gitlab-ci.yml": true, "cloudbuild.yaml": true,
		"docs/Jenkinsfile": false, "travis.yml": false, ".travis/build.sh": false,
	} {
		in := treeOf(actions, other)
		in.Read = func(file string) string { return "on: [push, pull_request]\njobs: {audit: {}}\n" }
		if got := len(in.checks(true)) == 0; got != known {
			t.Errorf("%s: another CI is seen: %v", other, got)
		}
	}
}
