package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// A change that adds a submodule lands when the step that asks for it passes on what is in
// it; one whose submodule cannot be fetched is parked, and said to be.
func TestSubmodulesOfAStep(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": `version: 1
checkout: {submodules: true}
queue: {infra_retries: 1}
steps:
  - name: test
    run: 'test ! -e third || grep -q good third/lib/state'
    timeout: 1m
  - name: plain
    run: 'test ! -e third/lib/state'
    checkout: {submodules: false}
    timeout: 1m
`, "a": "a\n"})
	lib := t.TempDir()
	git(t, lib, "init", "-q", "-b", "main")
	commit := func(state string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(lib, "state"), []byte(state+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		git(t, lib, "add", "state")
		git(t, lib, "commit", "-qm", state)
		return git(t, lib, "rev-parse", "HEAD")
	}
	good, bad := commit("good"), commit("broken")
	git(t, lib, "clone", "-q", "--bare", lib, filepath.Join(filepath.Dir(r.bare), "lib.git"))
	land := func(name, commit string) queue.Change {
		t.Helper()
		git(t, r.dir, "fetch", "-q", "origin", "main")
		git(t, r.dir, "checkout", "-q", "-f", "-B", name, "FETCH_HEAD")
		git(t, r.dir, "config", "-f", ".gitmodules", "submodule.lib.path", "third/lib")
		git(t, r.dir, "config", "-f", ".gitmodules", "submodule.lib.url", "../lib.git")
		git(t, r.dir, "add", ".gitmodules")
		git(t, r.dir, "update-index", "--add", "--cacheinfo", "160000,"+commit+",third/lib")
		git(t, r.dir, "commit", "-qm", name)
		git(t, r.dir, "push", "-qf", "origin", name)
		return r.until(r.land(name), "decided", func(v queue.View) bool { return v.Change.Phase.Final() || v.Change.Phase == queue.Parked }).Change
	}
	if ch := land("adds", good); ch.Phase != queue.Landed {
		t.Fatalf("%s: %+v", ch.Phase, ch.Reason)
	}
	if ch := land("breaks", bad); ch.Phase != queue.Rejected {
		t.Errorf("%s: %+v", ch.Phase, ch.Reason)
	}
	gone := strings.Repeat("7", 40)
	if ch := land("nowhere", gone); ch.Phase != queue.Parked || !strings.Contains(ch.Reason.Detail, `submodule "third/lib"`) || !strings.Contains(ch.Reason.Detail, "it has no commit "+gone) {
		t.Errorf("%s: %+v", ch.Phase, ch.Reason)
	}
}
