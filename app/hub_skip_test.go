package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// actions is a repository whose one step is a job of GitHub Actions, by name.
func actions(more string) map[string]string {
	return map[string]string{".submitqueue.yml": "version: 1\nsteps:\n  - name: unit\n    checks: [{name: test, app: github-actions}]\n    timeout: 1m\n" + more}
}

// Nobody's title, description or commit keeps the CI from what the queue commits.
func TestMarkersDoNotSkipTheCI(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"merge":  "Merge #1: Fix (skip ci) it\n\nChange: ",
		"squash": "Fix (skip ci) it (#1)\n\nWhy (no ci).\n\n\n(skip-checks: true)\n\nCo-authored-by: (ci skip) <bob@x>\nChange: ",
	} {
		t.Run(method, func(t *testing.T) {
			h := newCIHub(t, actions("queue: {method: "+method+"}\n"), judged)
			h.proven()
			must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "Part [skip ci]\n\nCo-authored-by: [ci skip] <bob@x>", Files: map[string]string{"a": "a\n"}}))
			n := must(h.Open(forgetest.Pull{Author: "ann", Branch: "topic", Base: "main", Title: "Fix [skip ci] it", Body: "Why [no ci].\n\n\nskip-checks: true"}))
			h.Comment("ann", n, "/land")
			h.landed(n)
			if said := git(t, h.Dir(), "log", "-1", "--format=%B", "main"); !strings.HasPrefix(said, want) {
				t.Errorf("main says\n%s\nwant\n%s", said, want)
			}
			h.clean()
		})
	}
}

// A marker that rebase and fast-forward keep is named, at once where only GitHub
// Actions can report the check, else at the deadline; a push without it lands.
func TestMarkerThatStaysIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"rebase, at once":       {actions("queue: {method: rebase}\n"), "the check `test` would not appear: the message"},
		"fast-forward, at once": {actions("queue: {method: fast-forward}\n"), "the check `test` would not appear: the message"},
		"at the deadline": {map[string]string{".submitqueue.yml": byCI("appear: 1s\n")[".submitqueue.yml"] + "queue: {method: rebase}\n"},
			"did not appear on submitqueue/main/"},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newCIHub(t, c.files, judged)
			h.proven()
			must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "Fix [skip ci] it", Files: map[string]string{"a": "a\n"}}))
			n := must(h.OpenPull("ann", "topic", "main", "Fix it"))
			h.Comment("ann", n, "/land")
			h.says(n, "🅿️ Parked: a check did not appear", c.says, "says `[skip ci]`, and GitHub starts no workflow for such a commit; take that out of the message and push again")
			h.clean()
			must(h.Commit("ann", forgetest.Commit{Branch: "topic", From: "main", Message: "Fix it", Files: map[string]string{"a": "a\n"}}))
			h.says(n, "pushed")
			h.Comment("ann", n, "/land")
			h.landed(n)
			h.clean()
		})
	}
}

// Where a step names the App, nobody else's check of the name counts, whatever it
// says: neither another App's, nor a status, which anybody with a token can post.
func TestOnlyTheNamedAppCounts(t *testing.T) {
	h := newCIHub(t, actions(""), func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) == 0 {
			return nil
		}
		forged := "success"
		if p.Has("good") {
			forged = "failure"
		}
		if p.Has("late") {
			list = nil
		}
		return append([]forgetest.CIJob{{Name: "test", Status: true, Conclusion: forged}, {Name: "test", App: "evil", Conclusion: forged}}, list...)
	})
	h.landed(h.land("good", map[string]string{"good": "1\n"}))
	h.rejected(h.land("bad", map[string]string{"bad": "1\n"}), "check test: failure")
	n := h.land("late", map[string]string{"late": "1\n"})
	branch := h.building("late")
	h.eventually("both are posted", func() bool {
		checks := 0
		h.Look(func(v forgetest.View) { checks = len(v.Checks(h.Head(branch))) })
		return checks > 0
	})
	h.seen()
	if ch := h.change(n); ch.Phase.Final() {
		t.Fatalf("decided by others: %+v", ch)
	}
	if runs := h.CI.CIRuns(); slices.ContainsFunc(runs, func(r forgetest.CIRun) bool { return r.Branch == branch }) {
		t.Fatalf("%+v", runs)
	}
	h.CI.StartCI(branch, forgetest.CIJob{Name: "test", Conclusion: "success"})
	h.landed(n)
	h.clean()
}
