package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// mainCheck waits until the check on main's tip has a conclusion and says some things.
func (h *hub) mainCheck(head, want string, texts ...string) forgetest.CheckRun {
	h.Helper()
	var last forgetest.CheckRun
	h.eventually("the check of "+head, func() bool {
		ok := false
		if last, ok = h.CI.CheckRun(head, app.MainCheckName); !ok || last.Conclusion != want {
			return false
		}
		for _, s := range texts {
			if !strings.Contains(last.Title+"\n"+last.Summary, s) {
				return false
			}
		}
		return true
	})
	return last
}

// proposals returns the pull requests that the queue has opened.
func (h *hub) proposals() (numbers []int) {
	for _, w := range h.Writes() {
		if w.Kind == "pull request" && strings.HasPrefix(w.Text, "Revert ") {
			numbers = append(numbers, w.Number)
		}
	}
	return numbers
}

// reverted waits until the revert of the one culprit is in a state.
func (h *hub) reverted(want queue.HuntProof) (r queue.Revert) {
	h.Helper()
	h.until("the revert is "+string(want), func(c *speculation.Core) bool {
		b := c.Blame()
		if len(b.Culprits) != 1 || b.Culprits[0].Revert == nil {
			return false
		}
		r = *b.Culprits[0].Revert
		return r.State == want
	})
	return r
}

// A pull request that was merged past the queue turns main red: its comment, the check
// on main, the page and whoever asks are told, and that its revert is proven; nothing is
// landed. When somebody mends main, the check on the new tip is green.
func TestTheCulpritIsTold(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	n := h.land("culprit", map[string]string{"api/bad": "bad\n"})
	h.rejected(n, "api is bad")
	h.push("ada", "main", map[string]string{"api/one": "1\n"})
	merged := must(h.Commit("ada", forgetest.Commit{Branch: "main", Message: "Merge pull request #1 from acme/culprit", Files: map[string]string{"api/bad": "bad\n"}}))
	tip := h.push("ada", "main", map[string]string{"api/three": "3\n"})
	h.reverted(queue.RevertProven)
	h.says(n, "turned `main` red", "`test` on `api`", merged[:10], "Its revert is proven", "is concerned by a revert: [`"+tip[:10])
	h.mainCheck(tip, "failure", merged[:10], "#1", "api is bad", "Its revert is proven")
	h.shows("/queue?queue="+hubQueue, "Its revert is proven")
	other := h.pull("other", map[string]string{"web/x": "x\n"})
	h.Comment("bob", other, "/queue blame")
	h.says(other, "turned `main` red", merged[:10])
	h.mainCheck(h.Head("main"), "failure", merged[:10])
	if got := h.proposals(); len(got) != 0 {
		t.Errorf("a pull request was opened: %v", got)
	}
	mended := h.push("ada", "main", map[string]string{"api/bad": ""})
	h.mainCheck(mended, "success", "passes again")
	h.Comment("bob", other, "/queue blame")
	h.says(other, "`main` is not red.")
	h.says(n)
}

// By configuration the revert is proposed, with the evidence; the one pull request lands
// when somebody asks for it, by the ordinary way.
func TestARevertIsProposed(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(areas(), "red_main: {revert: propose}")})
	h.proven()
	bad := must(h.Commit("ada", forgetest.Commit{Branch: "main", Message: "Make it <b>fast</b> @bob", Files: map[string]string{"api/bad": "bad\n"}}))
	h.push("ada", "main", map[string]string{"api/three": "3\n"})
	n := 0
	h.until("a pull request is opened", func(c *speculation.Core) bool {
		if b := c.Blame(); len(b.Culprits) == 1 && b.Culprits[0].Revert != nil {
			n = b.Culprits[0].Revert.Number
		}
		return n != 0
	})
	p := h.Pull(n)
	if p.Title != `Revert "Make it <b>fast</b> @bob"` || p.Base != "main" || p.Author != h.github.Bot() || !strings.Contains(p.Body, bad[:10]) ||
		!strings.Contains(p.Body, "api is bad") || !strings.Contains(p.Body, "`Make it <b>fast</b> @bob`") {
		t.Errorf("%+v", p)
	}
	h.stop()
	h.start(h.options)
	h.seen()
	h.mainCheck(h.Head("main"), "failure", "proposes it")
	if got := h.proposals(); h.Pull(n).State != "open" || len(got) != 1 {
		t.Errorf("%v", got)
	}
	h.Comment("ann", n, "/land")
	h.landed(n)
	h.mainCheck(h.Head("main"), "success")
}

// By configuration it lands by itself, as any pull request does.
func TestARevertLandsByItself(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(areas(), "red_main: {revert: land}")})
	h.proven()
	h.push("ada", "main", map[string]string{"api/bad": "bad\n"})
	h.push("ada", "main", map[string]string{"api/three": "3\n"})
	h.until("a pull request is opened", func(c *speculation.Core) bool { return len(c.State().Pulls) == 1 })
	n := h.proposals()[0]
	h.landed(n)
	h.mainCheck(h.Head("main"), "success")
	if message, parents := h.tip(); !strings.Contains(message, "Change: ") || len(parents) != 2 || h.Pull(n).Merged != true {
		t.Errorf("%v %s", parents, message)
	}
}

// A protected path is not taken back by the queue: an administrator has to look.
func TestARevertOfWhatIsProtected(t *testing.T) {
	files := configured(areas(), "red_main: {revert: land}")
	files[".submitqueue.yml"] += "permissions:\n  protected_paths: [\"api/bad\"]\n"
	h := newHub(t, hubOptions{files: files})
	h.proven()
	tip := h.push("ada", "main", map[string]string{"api/bad": "bad\n"})
	if r := h.reverted(queue.RevertUnknown); r.Why.Code != queue.ReasonRequirements || r.Number != 0 {
		t.Errorf("%+v", r)
	}
	h.mainCheck(tip, "failure", "could not be built: an administrator must approve this commit", "`api/bad`")
	if len(h.proposals()) != 0 || h.Head("main") != tip {
		t.Error("it was taken back")
	}
}

// A forge that opens none is told of.
func TestARevertThatTheForgeRefuses(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(areas(), "red_main: {revert: propose}")})
	h.proven()
	h.github.Fail(forgetest.Fault{Method: http.MethodPost, Path: "/repos/acme/shop/pulls", Status: 403, Message: "Resource not accessible by integration", Times: 99})
	tip := h.push("ada", "main", map[string]string{"api/bad": "bad\n"})
	h.mainCheck(tip, "failure", "Its revert is proven", "It needs somebody's hands", "Resource not accessible by integration")
}
