package app

import (
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
)

// A symbolic link, or a submodule, in the place of a directory with protected paths puts
// other files there.
func TestLinksToProtectedPaths(t *testing.T) {
	for _, x := range []struct {
		glob, path string
		want       bool
	}{
		{"secrets/*.yml", "secrets", true},
		{"ci/*/deploy.sh", "ci/evil", true},
		{"ci/*/deploy.sh", "ci", true},
		{"infra/**/*.tf", "infra/a/b", true},
		{"infra/**/*.tf", "infrastructure", false},
		{"**/ci/*.sh", "a/ci", true},
		{"**/*.tf", "a/b", false},
		{"ci/*/deploy.sh", "ci/a/b", false},
		{"ci/run.sh", "ci/run.sh", false}, // it is protected itself
	} {
		if got := anyBelow([]string{x.glob}, x.path); got != x.want {
			t.Errorf("%s is below %s: %t", x.glob, x.path, got)
		}
	}
	for mode, want := range map[string]bool{"100644": false, "100755": false, "120000": true, "160000": true, "": false} {
		if leads(mirror.Delta{Mode: mode}) != want || leads(mirror.Delta{OldMode: mode, Mode: "100644"}) != want {
			t.Errorf("mode %q", mode)
		}
	}
}
