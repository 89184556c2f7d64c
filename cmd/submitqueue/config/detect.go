package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
)

// tree is a repository's files as init sees them.
type tree struct{ analyzers.Tree }

// buildRefs is the beginning of the names of the branches of builds, unless a server is
// told otherwise.
const buildRefs = "submitqueue/"

// checks lists the names of the checks that the workflows report; a name that is known
// only in part ends in "*". With ours, it lists the checks of workflows that start on the
// queue's own builds and run everything there, and none at all where these checks are not
// all that a pull request gets, or not known to be: a step that waits for a part of them proves
// nothing.
func (t tree) checks(ours bool) (list []string) {
	if ours && t.hasOtherCI() {
		return nil
	}
	for _, f := range t.Files {
		if ok, _ := path.Match(".github/workflows/*.y*ml", f); !ok {
			continue
		}
		w := doctor.ReadWorkflow(f, []byte(t.Read(f)))
		if ours && w.Err != nil {
			return nil
		}
		if w.Err != nil || !w.Pulls && !w.Starts {
			continue
		}
		if ours && (!w.Starts || w.Paths || w.Stops || len(w.Parts) > 0) {
			if w.Pulls {
				return nil
			}
			continue
		}
		if ours && (len(w.Maybe) > 0 || slices.ContainsFunc(w.Checks, func(c string) bool { return strings.HasSuffix(c, "*") })) {
			return nil
		}
		list = append(list, w.Checks...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// hasOtherCI reports whether the files configure a CI beside GitHub Actions.
func (t tree) hasOtherCI() bool {
	return slices.ContainsFunc(t.Files, func(f string) bool {
		return slices.ContainsFunc([]string{
			".circleci/*", ".buildkite/*", ".semaphore/*", ".woodpecker/*", "{.,}azure-pipelines.y*ml", "{.,}appveyor.y*ml", "Jenkinsfile",
			".{travis,cirrus,drone,woodpecker,prow}.y*ml", ".cirrus.star", "cloudbuild.y*ml", gitlabFile,
		}, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, f) })
	})
}

// whole is a command that verifies everything, where no analyzer knows the
// build system; "" where none is found.
func (t tree) whole() string {
	target := regexp.MustCompile(`(?m)^(test|check)\s*:([^=]|$)`)
	for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
		if m := target.FindStringSubmatch(t.Read(name)); t.Has(name) && m != nil {
			return "make " + m[1]
		}
	}
	for _, known := range []struct{ file, run string }{
		{"gradlew", "./gradlew check"}, {"mvnw", "./mvnw -B verify"}, {"pom.xml", "mvn -B verify"},
		{"build.gradle", "gradle check"}, {"build.gradle.kts", "gradle check"}, {"tox.ini", "tox"}, {"noxfile.py", "nox"},
		{"pytest.ini", "python -m pytest"}, {"pyproject.toml", "python -m pytest"}, {"mix.exs", "mix deps.get && mix test"},
		{"Package.swift", "swift test"}, {"CMakeLists.txt", "cmake -S . -B build && cmake --build build && ctest --test-dir build"},
		{"Rakefile", "bundle exec rake"}, {"composer.json", "composer install && composer test"},
	} {
		if t.Has(known.file) {
			return known.run
		}
	}
	return ""
}

// names gives each of several build systems a different name.
func names(list []analyzers.Found) []string {
	taken := map[string]bool{"tree": true, "unowned": true, "def": true, "list": true} // the queue's own
	bad := regexp.MustCompile(`[^a-z0-9_-]+`)
	out := make([]string, len(list))
	for i, f := range list {
		base := f.Analyzer
		if f.Under != "" {
			base = strings.Trim(bad.ReplaceAllString(strings.ToLower(path.Base(f.Under)), "-"), "-")
		}
		if base == "" || base[0] < 'a' || base[0] > 'z' {
			base = f.Analyzer
		}
		base = base[:min(len(base), 24)]
		for n := 1; ; n++ {
			name := base
			if n > 1 {
				name = fmt.Sprintf("%s-%d", base, n)
			}
			if !taken[name] {
				taken[name], out[i] = true, name
				break
			}
		}
	}
	return out
}
