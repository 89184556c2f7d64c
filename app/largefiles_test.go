package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

// A change of a file that Git LFS keeps is judged by its content, in the step that asks for
// it, and not at all where its author has not pushed the content.
func TestLargeFilesOfAStep(t *testing.T) {
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1") // a git-lfs on this machine would want the contents, which the test keeps by itself
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_LFS_SKIP_PUSH", "1")
	r := newRig(t, map[string]string{".submitqueue.yml": `version: 1
queue: {infra_retries: 1}
steps:
  - name: test
    run: 'grep -q good model.bin'
    checkout: {lfs: true}
    timeout: 1m
  - name: plain
    run: 'grep -q "^oid sha256:" model.bin'
    timeout: 1m
`, ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "model.bin": forgetest.LFSPointer([]byte("good"))})
	push := func(content string) {
		t.Helper()
		oid := strings.Split(strings.Fields(forgetest.LFSPointer([]byte(content)))[3], ":")[1]
		dir := filepath.Join(r.bare, "lfs", "objects", oid[:2], oid[2:4])
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, oid), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, content := range []string{"good", "good too", "broken"} {
		push(content)
	}
	land := func(name, content string) queue.Change {
		t.Helper()
		git(t, r.dir, "fetch", "-q", "origin", "main")
		r.branch(name, "FETCH_HEAD", map[string]string{"model.bin": forgetest.LFSPointer([]byte(content))})
		return r.until(r.land(name), "decided", func(v queue.View) bool { return v.Change.Phase.Final() || v.Change.Phase == queue.Parked }).Change
	}
	if ch := land("better", "good too"); ch.Phase != queue.Landed {
		t.Fatalf("%s: %+v", ch.Phase, ch.Reason)
	}
	if ch := land("breaks", "broken"); ch.Phase != queue.Rejected || ch.Reason.Code != queue.ReasonFailed {
		t.Errorf("%s: %+v", ch.Phase, ch.Reason)
	}
	if ch := land("forgets", "good, and at home only"); ch.Phase != queue.Parked || !strings.Contains(ch.Reason.Detail, `"model.bin", a file of Git LFS: `) ||
		!strings.Contains(ch.Reason.Detail, "git lfs push --all origin") {
		t.Errorf("%s: %+v", ch.Phase, ch.Reason)
	}
}
