package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// crossed is a pull request that merges with main, and cannot be rebased on it: main
// has come to the same line in another way.
func (h *hub) crossed() int {
	h.Helper()
	h.push("ada", "main", map[string]string{"word": "a\n"})
	from := h.Head("main")
	must(h.Commit("ann", forgetest.Commit{Branch: "crossed", From: from, Files: map[string]string{"word": "b\n"}}))
	must(h.Commit("ann", forgetest.Commit{Branch: "crossed", Files: map[string]string{"word": "c\n", "more": "more\n"}}))
	h.push("ada", "main", map[string]string{"word": "c\n"})
	h.proven()
	return must(h.OpenPull("ann", "crossed", "main", "Crossed"))
}

// A try is made as the change would land, so its answer is the one that landing gives.
func TestTryIsMadeAsItWouldLand(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [rebase, squash, semi-linear, fast-forward]")})
	h.proven()
	n, _ := h.three("topic", "bad")
	for _, method := range []string{"rebase", "fast-forward"} {
		h.Comment("ann", n, "/land try method="+method)
		h.says(n, "Tried: failed in `test`", h.putBy(method), "It would land as 3 commits, and each of them was tried.", "bad is bad")
		h.checkNamed(n, "submitqueue/try", "failure")
	}
	tried := h.notes("tried")
	h.Comment("ann", n, "/land retry") // in the same way
	h.eventually("it was tried once more", func() bool { return h.notes("tried") > tried })
	h.says(n, "Tried: failed in `test`", h.putBy("fast-forward"))
	h.Comment("ann", n, "/land try method=squash")
	h.says(n, "Tried: it passes", "squashed onto `main`", "comment `/land method=squash`")
	h.Comment("ann", n, "/land try")
	h.says(n, "Tried: it passes", "merged onto `main`", "comment `/land`;")
	h.Comment("ann", n, "/land try method=octopus")
	h.says(n, "Changes do not land by `octopus` here")

	x := h.crossed()
	h.Comment("ann", x, "/land try method=rebase")
	h.says(x, "Tried: it does not merge", "It was to be rebased onto `main`", "`word`", "Rebase it on `main`")
	h.Comment("ann", x, "/land explain method=rebase")
	h.says(x, "It would be rejected now", "to be rebased", "`word`")
	h.Comment("ann", x, "/land explain")
	h.says(x, "It could enter now")
	h.Comment("ann", x, "/land try method=fast-forward")
	h.says(x, "Tried: it does not merge", h.putBy("fast-forward"), "does not stand on the branch as it is")
	h.Comment("ann", x, "/land try method=semi-linear")
	h.says(x, "Tried: it does not merge", "It was to be rebased onto `main` and merged there", "Rebase it on `main`")
	h.Comment("ann", x, "/land method=rebase")
	h.rejected(x, "it does not merge", "`word`", "Rebase it on `main`")
	h.Comment("ann", x, "/land try")
	h.says(x, "Tried: it passes")
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	h.Comment("ann", x, "/land method=rebase")
	h.waiting(x, "0 of the 1 approving reviews", "It does not merge with `main` as that is now", "Rebase it")
	h.Comment("ann", x, "/land method=squash")
	if said := h.says(x, "🚧 Waiting", "a newer request took its place", "0 of the 1 approving reviews"); strings.Contains(said, "does not merge") {
		t.Errorf("by squash it would merge, but:\n%s", said)
	}
}

// putBy is how a try says by which method it was made.
func (h *hub) putBy(method string) string {
	if method == "rebase" {
		return "rebased onto `main`"
	}
	return "put onto `main` as it is (fast-forward)"
}

// Where landing does not look at the commits on the way, a try does not either, and
// says so.
func TestTrySkipsWhatLandingSkips(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: rebase, intermediate: skip")})
	h.proven()
	n, _ := h.three("topic", "bad")
	h.Comment("ann", n, "/land try")
	h.says(n, "Tried: it passes", "rebased onto", "Only the last of them was tried", "`intermediate: skip`", "comment `/land`;")
	h.Comment("ann", n, "/land")
	h.landed(n, "Only the last of them was verified")
}

// What stands on a change that has landed by squash brings what it adds to that: to
// try and to explain it know that, as landing does.
func TestTryOfWhatStandsOnASquashedChange(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	low := h.pull("low", map[string]string{"word": "low\n"})
	from := h.Head("low")
	h.Comment("ann", low, "/land")
	h.landed(low)
	must(h.Commit("ann", forgetest.Commit{Branch: "high", From: from, Files: map[string]string{"word": "high\n"}}))
	high := must(h.OpenPull("ann", "high", "main", "On top"))
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	h.Comment("ann", high, "/land explain")
	if said := h.says(high, "**It could not enter now.**\n\n- It has 0 of the 1 approving reviews"); strings.Contains(said, "does not merge") {
		t.Errorf("it would merge, but:\n%s", said)
	}
	h.Comment("ann", high, "/land try")
	h.says(high, "Tried: it passes", "squashed onto `main`")
	h.Comment("ann", high, "/land")
	if said := h.says(high, "🚧 Waiting", "0 of the 1 approving reviews"); strings.Contains(said, "does not merge") {
		t.Errorf("it would merge, but:\n%s", said)
	}
	h.Review("bob", high, "APPROVED", "", "")
	h.landed(high)
}
