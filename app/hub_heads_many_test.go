package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// Three on top of each other land in one push: each head holds its own commit and those
// below it, and GitHub shows all of them as merged.
func TestHeadsOfAStack(t *testing.T) {
	h := waited(t, hubOptions{})
	one := h.pull("one", map[string]string{"a": "a\n"})
	two := h.pullOn("two", "one", map[string]string{"b": "b\n"})
	three := h.pullOn("three", "two", map[string]string{"c": "c\n"})
	h.ReleaseHeads()
	h.seen()
	h.paused(one)
	for _, n := range []int{one, two, three} {
		h.Comment("ann", n, "/land")
	}
	h.boarded(one, two, three)
	h.HoldHeads()
	pushes := len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack"))
	h.Comment("max", one, "/queue resume")
	before := h.moved()
	for i, branch := range []string{"one", "two", "three"} {
		if got := git(t, h.Dir(), "rev-list", "--count", before+".."+branch); got != fmt.Sprint(i+1) {
			t.Errorf("%s has %s commits that are not on main", branch, got)
		}
	}
	h.seen()
	h.ReleaseHeads()
	for _, n := range []int{one, two, three} {
		h.landed(n, "by squash", "so that it is shown as merged")
	}
	if n := len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack")) - pushes; n != 2 {
		t.Errorf("%d pushes, want one of heads and one of main", n)
	}
	h.seen()
	h.green()
}

// GitHub refuses main when the heads have moved: they are put back, also where it refuses
// that at first in words that nobody knows, and their changes wait as any that are refused.
func TestRefusedMainPutsHeadsBack(t *testing.T) {
	h := waited(t, hubOptions{})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.moved()
	head := string(h.change(n).Head)
	h.RefusePushes("main", forgetest.Refusals.Rules[0], 1)
	h.RefusePushes("topic", forgetest.Refusal{Name: "strange", Reason: "the moon is full"}, 1)
	h.ReleaseHeads()
	h.until("its head was put back", func(c *speculation.Core) bool {
		for _, a := range c.State().Actions {
			if _, returns := a.Task.(queue.ReturnHeads); returns {
				return false
			}
		}
		return c.State().Push == nil && h.Head("topic") == head
	})
	if ch := h.change(n); ch.Phase.Final() || h.RefusedPushes() != 0 {
		t.Errorf("%s, %+v; %d refusals are left", ch.Phase, ch.Reason, h.RefusedPushes())
	}
	h.says(n, "the forge refuses every push")
	h.seen()
}

// What starts again on a head because we have moved it is cancelled; what runs elsewhere
// goes on.
func TestRunsOnMovedHeads(t *testing.T) {
	files := methods("method: squash")
	files[".github/workflows/ci.yml"] = "on: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: make}]}}\n"
	h := newCIHub(t, files, func(p forgetest.CIPush) []forgetest.CIJob {
		if p.Branch == "topic" || p.Branch == "beside" {
			return []forgetest.CIJob{{Name: "test"}} // without an end
		}
		return nil
	})
	must(h.Commit("ann", forgetest.Commit{Branch: "beside", From: h.Head("main"), Files: map[string]string{"b": "b\n"}}))
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n, "so that it is shown as merged")
	h.eventually("what has begun on the moved head is cancelled", func() bool {
		return slices.ContainsFunc(h.CI.CIRuns(), func(r forgetest.CIRun) bool {
			return r.Branch == "topic" && r.Head == h.Head("main") && r.Conclusion == "cancelled"
		})
	})
	for _, r := range h.CI.CIRuns() {
		if r.Branch == "beside" && r.Conclusion != "" || strings.HasPrefix(r.Branch, "topic") && r.Head != h.Head("main") && r.Conclusion != "" {
			t.Errorf("%+v", r)
		}
	}
}
