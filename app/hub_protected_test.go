package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// One change, approved by an administrator, moves a file to a protected place; another
// edits that file where it was. Git's merge of the two edits the protected file: it is
// built and lands once an administrator has approved the edit, too.
func TestProtectedByRename(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			storetest.OneOf(t, 3)
			body := "name: ci\n" + strings.Repeat("jobs: one line of many\n", 30) + "end: 1\n"
			files := methods("batch: off, methods: [squash, rebase]")
			files["tools/ci.yml"] = body
			h := newHub(t, hubOptions{files: files})
			h.github.SetPermissions(map[string]string{"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write",
				"metadata": "read", "actions": "write", "statuses": "read", "workflows": "write"})
			h.github.ExpireTokens()
			h.proven()
			move, edit := h.moveAndEdit(body, body+"evil: steal the secrets\n")
			h.paused(move)
			h.Comment("ada", move, "/land")
			h.boarded(move)
			h.Comment("ann", edit, "/land method="+method)
			h.until("the edit waits for an approval", func(c *speculation.Core) bool {
				v, _ := c.PullView(edit)
				return v.Change.Phase == queue.Parked && v.Change.Reason.Code == queue.ReasonRequirements
			})
			h.says(edit, "it would change protected paths: `.github/workflows/ci.yml`", "an administrator of the repository must approve this very commit")
			h.seen()
			h.Comment("max", move, "/queue resume")
			h.landed(move)
			has := func() bool {
				text, _ := runIn(h.Dir(), "git", "show", "main:.github/workflows/ci.yml")
				return strings.Contains(text, "evil")
			}
			if has() {
				t.Error("the workflow on main has an edit that no administrator has approved")
			}
			for _, b := range h.notesOf("build-asked") {
				text, _ := runIn(h.Dir(), "git", "--git-dir="+h.mirror.Dir(), "show", string(b.Commit)+":.github/workflows/ci.yml")
				if strings.Contains(text, "evil") {
					t.Errorf("build of %s holds the edit", b.Commit)
				}
			}
			h.Review("ada", edit, "APPROVED", "", "")
			h.landed(edit)
			if !has() {
				t.Error("approved, and not on main")
			}
		})
	}
}

// The other order: the edit has landed where anybody may edit, and then a change that an
// administrator approved without it moves the file to a protected place. Git's merge
// takes the edit along. The administrator has not seen it: the move waits until its
// branch holds the edit, too, and that head is approved.
func TestProtectedByLateMove(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			storetest.OneOf(t, 3)
			body := "name: ci\n" + strings.Repeat("jobs: one line of many\n", 30) + "end: 1\n"
			evil := body + "evil: steal the secrets\n"
			files := methods("batch: off, methods: [squash, rebase]")
			files["tools/ci.yml"] = body
			h := newHub(t, hubOptions{files: files})
			h.github.SetPermissions(map[string]string{"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write",
				"metadata": "read", "actions": "write", "statuses": "read", "workflows": "write"})
			h.github.ExpireTokens()
			h.proven()
			move, edit := h.moveAndEdit(body, evil)
			h.Comment("ann", edit, "/land")
			h.landed(edit)
			h.Comment("ada", move, "/land method="+method)
			h.until("the move waits for a head that holds the edit", func(c *speculation.Core) bool {
				v, _ := c.PullView(move)
				return v.Change.Phase == queue.Parked && v.Change.Reason.Code == queue.ReasonRequirements
			})
			h.says(move, "it would bring into protected paths what it does not hold itself: `.github/workflows/ci.yml`", "an administrator of the repository must approve the new commit")
			h.seen()
			h.Review("ada", move, "APPROVED", "", "")
			workflow := func(at string) string {
				text, _ := runIn(h.Dir(), "git", "--git-dir="+h.mirror.Dir(), "show", at+":.github/workflows/ci.yml")
				return text
			}
			for _, b := range h.notesOf("build-asked") {
				if strings.Contains(workflow(string(b.Commit)), "evil") {
					t.Errorf("build of %s holds the edit", b.Commit)
				}
			}
			must(h.Commit("ada", forgetest.Commit{Branch: "move", Files: map[string]string{".github/workflows/ci.yml": evil}}))
			h.Comment("ada", move, "/land method="+method)
			h.landed(move)
			if text, _ := runIn(h.Dir(), "git", "show", "main:.github/workflows/ci.yml"); text != evil {
				t.Errorf("main has %q", text)
			}
		})
	}
}

// notesOf returns the history's notes of a kind.
func (h *hub) notesOf(what string) (out []queue.Note) {
	h.Helper()
	for _, n := range must(h.store.History(h.Context(), hubQueue, 1000)) {
		if n.What == what {
			out = append(out, n)
		}
	}
	return out
}

// moveAndEdit opens two pull requests: an administrator's that moves a tool to where
// workflows are, and one that edits the tool where it was.
func (h *hub) moveAndEdit(body, edited string) (move, edit int) {
	h.Helper()
	must(h.Commit("ada", forgetest.Commit{Branch: "move", Files: map[string]string{".github/workflows/ci.yml": body}, Delete: []string{"tools/ci.yml"}}))
	must(h.Commit("ann", forgetest.Commit{Branch: "edit", Files: map[string]string{"tools/ci.yml": edited}}))
	move = must(h.OpenPull("ada", "move", "main", "Move the workflow"))
	return move, must(h.OpenPull("ann", "edit", "main", "Edit the tool"))
}
