package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// Where main demands our own check of every push, the merge that nobody has
// seen yet gets it on a branch of ours first, and the branch is gone afterwards.
func TestOurCheckIsRequiredOnMain(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue", "ada"}, RequiredChecks: []string{"submitqueue"}})
	// A version before had its branch where workflows start, and may have left it.
	const old = "submitqueue/land/main"
	must(h.Commit("submitqueue[bot]", forgetest.Commit{Branch: old, From: "main", Files: map[string]string{"old": "old\n"}}))
	var shown []string
	h.CI.SetCI(t, func(p forgetest.CIPush) []forgetest.CIJob {
		shown = append(shown, p.Branch)
		return nil
	})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n, "tested")
	if run, ok := h.CI.CheckRun(h.Head("main"), "submitqueue"); !ok || run.Conclusion != "success" {
		t.Errorf("the check on main: %+v", run)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := h.WaitFor(ctx, func(v forgetest.View) bool { return v.Head("submitqueue-land/main") == "" && v.Head(old) == "" }); err != nil {
		t.Errorf("a branch of ours is left behind: %v", err)
	}
	if !slices.Contains(shown, "submitqueue-land/main") || slices.ContainsFunc(shown, func(b string) bool { return strings.HasPrefix(b, "submitqueue/") }) {
		t.Errorf("pushed to %v: nobody is to build what lands", shown)
	}
}
