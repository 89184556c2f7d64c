package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// A queue of a branch that is not the repository's default one: GitHub shows no pull
// request as merged there, whatever the method, and the bot says so. No branch is
// moved for that.
func TestLandingOnAnotherBranch(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [squash, rebase, semi-linear, fast-forward]")})
	h.DeleteMerged(true)
	h.push("ada", "trunk", map[string]string{"trunk": "trunk\n"})
	mustNot(t, h.SetDefault("trunk"))
	h.proven()
	for i, method := range []string{"merge", "squash", "rebase", "semi-linear", "fast-forward"} {
		name := string("abcde"[i])
		must(h.Commit("ann", forgetest.Commit{Branch: name, From: h.Head("main"), Files: map[string]string{name: name + "\n"}}))
		n := must(h.OpenPull("ann", name, "main", "Change "+name))
		head := h.Head(name)
		h.Comment("ann", n, "/land method="+method)
		h.closedAsLanded(n)
		said := h.says(n, "only where their commits come to the default branch, `trunk`", "`Closes #N` in its description closes no issue")
		if strings.Contains(said, "moved") || h.change(n).Verdict.Along || h.Pull(n).Head != head {
			t.Errorf("by %s: the branch was at %s, the pull request is %+v, and it says\n%s", method, head, h.Pull(n), said)
		}
		h.check(n, "success")
	}
}

// Where the default branch is the queue's, the same say nothing of it.
func TestLandingOnTheDefaultBranch(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [squash]")})
	h.proven()
	for _, method := range []string{"merge", "squash"} {
		n := h.pull(method, map[string]string{method: "x\n"})
		h.Comment("ann", n, "/land method="+method)
		h.landed(n)
		if said := h.says(n, "✅ Landed"); strings.Contains(said, "default branch") || strings.Contains(said, "closed") {
			t.Errorf("by %s it says\n%s", method, said)
		}
	}
}
