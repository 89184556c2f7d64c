package live

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/queue"
)

// A person pushes a branch with git, comments on the page of the pull request that it has
// opened, and the product lands it.
func TestPlay(t *testing.T) {
	for kind, page := range map[string][2]string{"github": {"/pull/1", "/comments"}, "gitlab": {"/-/merge_requests/1", "/notes"}} {
		t.Run(kind, func(t *testing.T) { t.Parallel(); playOn(t, kind, page[0], page[1]) })
	}
}

func playOn(t *testing.T, kind, at, form string) {
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d, err := startDemo(demoOptions{Dir: dir, Runners: 1, Forge: kind, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := d.Publish(ctx, &demo.Plan{Title: "a test", Name: "shop", Branch: "main",
		Base: demo.Files{".submitqueue.yml": "version: 1\nsteps:\n  - {name: unit, run: 'test ! -e bad.txt'}\n"}}); err != nil {
		t.Fatal(err)
	}
	clone, err := d.Play()
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=g", "-c", "user.email=g@example.com"}, args...)...)
		if cmd.Dir = work; args[0] == "clone" {
			cmd.Dir = dir
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("clone", "--quiet", clone, "work")
	if err := os.WriteFile(filepath.Join(work, "mine.txt"), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("switch", "--quiet", "-c", "mine")
	git("add", "mine.txt")
	git("commit", "--quiet", "-m", "Mine")
	page := d.Links().Pulls + at
	if out := git("push", "origin", "mine"); !strings.Contains(out, page) {
		t.Fatalf("the push does not say where the pull request is: %s", out)
	}
	resp, err := http.PostForm(page+form, url.Values{"text": {"/land"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the comment: %s", resp.Status)
	}
	for {
		changed := d.stack.Owners[0].Changed()
		rows, err := d.Rows(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 1 && rows[0].Phase.Final() {
			if rows[0].Phase != queue.Landed {
				t.Fatalf("%+v", rows[0])
			}
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("it is not decided: %+v", rows)
		}
	}
	git("fetch", "--quiet", "origin")
	git("cat-file", "-e", "origin/main:mine.txt")
}
