package github_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
)

// TestUnmet has each thing that a branch can ask for, by classic protection and by
// a ruleset.
func TestUnmet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		protection forgetest.Protection
		do         func(w *world, n int)
		want       string
	}{
		"nothing":               {forgetest.Protection{}, nil, ""},
		"a review":              {forgetest.Protection{Reviews: forgetest.Reviews{Count: 2}}, nil, "reviews 0 2"},
		"half of the reviews":   {forgetest.Protection{Reviews: forgetest.Reviews{Count: 2}}, approve("ada"), "reviews 1 2"},
		"reviews":               {forgetest.Protection{Reviews: forgetest.Reviews{Count: 2}}, approve("ada", "cyn"), ""},
		"a reader's review":     {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}}, approve("bob"), "reviews 0 1"},
		"changes, nobody asked": {forgetest.Protection{}, func(w *world, n int) { w.repo.Review("ada", n, "CHANGES_REQUESTED", "", "no") }, ""},
		"changes": {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}}, func(w *world, n int) {
			approve("cyn")(w, n)
			w.repo.Review("ada", n, "CHANGES_REQUESTED", "", "no")
		}, "changes-requested ada"},
		"changes dismissed": {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}}, func(w *world, n int) {
			approve("cyn")(w, n)
			w.repo.DismissReview("cyn", n, w.repo.Review("ada", n, "CHANGES_REQUESTED", "", "no"))
		}, ""},
		"stale": {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, Stale: true}}, func(w *world, n int) {
			approve("cyn")(w, n)
			w.commit("topic", "")
		}, "reviews 0 1"},
		"old, and good enough": {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}}, func(w *world, n int) { approve("cyn")(w, n); w.commit("topic", "") }, ""},
		"an owner":             {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, CodeOwners: true}}, approve("cyn"), "code-owners"},
		"owners":               {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, CodeOwners: true}}, approve("ada"), ""},
		"the last push":        {forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{LastPush: true}}, nil, "last-push"},
		"of the last push":     {forgetest.Protection{Reviews: forgetest.Reviews{LastPush: true}}, approve("ada"), ""},
		"of an older push": {forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{Count: 1, LastPush: true}}, func(w *world, n int) {
			approve("ada")(w, n)
			w.commit("topic", "")
		}, "last-push"},
		"of no account":                 {forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{Count: 1, Unattributed: true}}, approve("ada"), "unattributed"},
		"of no account, twice approved": {forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, Unattributed: true}}, approve("ada", "cyn"), ""},
		"a check":                       {forgetest.Protection{RequiredChecks: []string{"ci", "lint", "submitqueue"}}, nil, "checks ci lint"},
		"a check that runs":             {forgetest.Protection{RequiredChecks: []string{"ci"}}, check("ci", ""), "checks ci"},
		"a check that failed":           {forgetest.Protection{RequiredChecks: []string{"ci"}}, check("ci", "failure"), "checks-failed ci"},
		"a check that passed":           {forgetest.Protection{RequiredChecks: []string{"ci"}}, check("ci", "success"), ""},
		"a check that was left":         {forgetest.Protection{RequiredChecks: []string{"ci"}}, check("ci", "skipped"), ""},
		"one of two of its name": {forgetest.Protection{RequiredChecks: []string{"ci"}}, func(w *world, n int) {
			check("ci", "success")(w, n)
			w.repo.CI.SetCheck("other", w.repo.Pull(n).Head, "ci", "failure")
		}, "checks-failed ci"},
		"a cancelled one, and the next of its name": {forgetest.Protection{RequiredChecks: []string{"ci"}}, again("cancelled", "success"), ""},
		"a failed one, and the next of its name":    {forgetest.Protection{RequiredChecks: []string{"ci"}}, again("failure", "success"), ""},
		"a passed one, and the next of its name":    {forgetest.Protection{RequiredChecks: []string{"ci"}}, again("success", "failure"), "checks-failed ci"},
		"one of its name, and the next that runs":   {forgetest.Protection{RequiredChecks: []string{"ci"}}, again("failure", ""), "checks ci"},
		"a status":             {forgetest.Protection{RequiredChecks: []string{"ci"}}, func(w *world, n int) { w.repo.CI.PostStatus(w.repo.Pull(n).Head, "ci", "pending") }, "checks ci"},
		"a status that passed": {forgetest.Protection{RequiredChecks: []string{"ci"}}, func(w *world, n int) { w.repo.CI.PostStatus(w.repo.Pull(n).Head, "CI", "success") }, ""},
		"many checks": {forgetest.Protection{RequiredChecks: []string{"ci"}}, func(w *world, n int) {
			check("ci", "success")(w, n)
			for i := range 150 { // the newest come first
				check(fmt.Sprint("x", i), "success")(w, n)
			}
		}, ""},
		"conversations, nobody asked": {forgetest.Protection{}, func(w *world, n int) { w.repo.StartThread("ada", n, "a") }, ""},
		"conversations": {forgetest.Protection{Reviews: forgetest.Reviews{Resolved: true}}, func(w *world, n int) {
			for i := range 120 {
				w.repo.ResolveThread("ann", n, w.repo.StartThread("ada", n, "early.go"), i > 0)
			}
			w.repo.StartThread("ada", n, "late.go")
		}, "conversations 2 early.go late.go"},
	} {
		for _, way := range []struct {
			name                          string
			ruleset, concealed, undecided bool
		}{{name: "classic"}, {name: "ruleset", ruleset: true}, {name: "concealed", concealed: true}, {name: "undecided", undecided: true},
			{name: "undecided ruleset", undecided: true, ruleset: true}, {name: "undecided concealed", undecided: true, concealed: true}} {
			t.Run(name+"/"+way.name, func(t *testing.T) {
				if c.protection.Ruleset && way.name == "classic" {
					t.Skip("classic protection does not tell this to everybody")
				}
				if c.protection.Reviews.Unattributed && !way.ruleset {
					t.Skip("classic protection does not ask for this")
				}
				w := newWorld(t, forgetest.Options{Permissions: reading()})
				for _, u := range []string{"ada", "cyn"} {
					w.repo.SetPermission(u, "write")
				}
				_, err := w.repo.Commit("o", forgetest.Commit{Branch: "main", Files: map[string]string{"CODEOWNERS": "* @cyn\n*.txt @ada @ann\n"}})
				w.must(err)
				n := w.pull("topic")
				c.protection.Ruleset, c.protection.Concealed, c.protection.Reviews.Undecided = way.ruleset, way.concealed, way.undecided
				w.repo.ProtectBranch("main", c.protection)
				if c.do != nil {
					c.do(w, n)
				}
				if way.undecided && c.want == "code-owners" {
					c.want += " topic.txt" // a caller that counts the approvals knows for which paths
				}
				if got := w.unmet(n, forge.Requirements{Checks: true}); got != c.want {
					t.Errorf("unmet: %q, want %q", got, c.want)
				}
			})
		}
	}
}

// again has a workflow run on a head several times, as when a pull request is opened anew.
func again(conclusions ...string) func(w *world, n int) {
	return func(w *world, n int) {
		w.repo.CI.SetCI(w, nil)
		for _, c := range conclusions {
			w.repo.CI.StartRun(forgetest.CIRun{Event: "pull_request", Branch: "topic"}, forgetest.CIJob{Name: "ci", Conclusion: c})
		}
	}
}

// reading is what the App may read where nothing is kept from it.
func reading() map[string]string {
	return map[string]string{"contents": "read", "pull_requests": "read", "checks": "read", "statuses": "read",
		"metadata": "read", "administration": "read", "members": "read"}
}

func approve(users ...string) func(w *world, n int) {
	return func(w *world, n int) {
		for _, u := range users {
			w.repo.Review(u, n, "APPROVED", "", "")
		}
	}
}

func check(name, conclusion string) func(w *world, n int) {
	return func(w *world, n int) { w.repo.CI.SetCheck("ci", w.repo.Pull(n).Head, name, conclusion) }
}

func (w *world) unmet(n int, r forge.Requirements) string {
	w.Helper()
	p := w.repo.Pull(n)
	r.Number, r.Author, r.Head, r.Base, r.Branch, r.Except = n, p.Author, queue.CommitID(p.Head), p.Base, "main", []string{"submitqueue"}
	list, err := w.forge.Unmet(w.ctx, r)
	w.must(err)
	pull, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	pull.ApprovedBy = slices.DeleteFunc(pull.ApprovedBy, func(u string) bool { return u == "bob" }) // bob may only read
	pull.Stack = forge.Stack{}                                                                      // which GraphQL does not tell
	r.Author, r.Head, r.Base = "", "", ""
	whole, both, err := w.forge.Stands(w.ctx, r)
	w.must(err)
	if diff := cmp.Diff(pull, whole, cmpopts.EquateEmpty()) + cmp.Diff(list, both, cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("read at once, it is another: %s", diff)
	}
	var out []string
	for _, q := range list.Unmet {
		out = append(out, strings.TrimSpace(string(q.Kind)+" "+strings.Join(q.Names, " ")))
	}
	return strings.Join(out, "; ")
}

// A pull request on top of another asks for a branch without rules: those of the
// branch that it lands on count.
func TestUnmetOfStack(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.repo.SetPermission("ada", "write")
	w.repo.ProtectBranch("main", forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{Count: 1, Stale: true}})
	w.commit("low", "main")
	w.commit("high", "low")
	n, err := w.repo.OpenPull("ann", "high", "low", "High")
	w.must(err)
	ask := forge.Requirements{Checks: true}
	if got := w.unmet(n, ask); got != "reviews 0 1" {
		t.Errorf("at first: %q", got)
	}
	w.repo.Review("ada", n, "APPROVED", "", "")
	if got := w.unmet(n, ask); got != "" {
		t.Errorf("approved: %q", got)
	}
	w.commit("high", "")
	if got := w.unmet(n, ask); got != "reviews 0 1" {
		t.Errorf("pushed to: %q", got)
	}
	w.repo.Review("ada", n, "CHANGES_REQUESTED", "", "no")
	if got := w.unmet(n, ask); got != "changes-requested ada; reviews 0 1" {
		t.Errorf("turned down: %q", got)
	}
}

// Code owners of what a pull request on top of another changes are counted by the
// branch that it lands on.
func TestUnmetOwnersOfStack(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: reading()})
	w.repo.SetPermission("ada", "write")
	w.repo.SetPermission("cyn", "write")
	_, err := w.repo.Commit("o", forgetest.Commit{Branch: "main", Files: map[string]string{
		".github/CODEOWNERS": "*.txt @cyn\n!low* @bob\nhigh* @acme/oncall ops@acme.example # by night\n/free*\n", "CODEOWNERS": "* @bob\n"}})
	w.must(err)
	w.server.SetTeam("acme/oncall", "ada")
	w.repo.ProtectBranch("main", forgetest.Protection{Reviews: forgetest.Reviews{CodeOwners: true}})
	w.commit("low", "main")
	w.commit("high", "low")
	n, err := w.repo.OpenPull("ann", "high", "low", "High")
	w.must(err)
	if got := w.unmet(n, forge.Requirements{}); got != "code-owners high.txt" {
		t.Errorf("at first: %q", got)
	}
	w.repo.Review("cyn", n, "APPROVED", "", "")
	if got := w.unmet(n, forge.Requirements{}); got != "code-owners high.txt" {
		t.Errorf("with the approval of who owns what is below: %q", got)
	}
	w.repo.Review("ada", n, "APPROVED", "", "")
	if got := w.unmet(n, forge.Requirements{}); got != "" {
		t.Errorf("approved by the team: %q", got)
	}
	w.repo.ProtectBranch("main", forgetest.Protection{Bypass: []string{"o"}, Reviews: forgetest.Reviews{CodeOwners: true}})
	_, err = w.repo.Commit("o", forgetest.Commit{Branch: "main", Files: map[string]string{".github/CODEOWNERS": "* ops@acme.example\n"}})
	w.must(err)
	w.repo.Review("bob", n, "COMMENTED", "", "what is asked for is read again")
	if got := w.unmet(n, forge.Requirements{}); got != "unjudged code owners owners" {
		t.Errorf("of an address: %q", got)
	}
}

// A member of a stack of GitHub's own is judged by the rules and by CODEOWNERS of the
// stack's base, though one below it has written others.
func TestUnmetOwnersOfStackOfGitHub(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: reading()})
	w.repo.SetPermission("ada", "write")
	w.repo.SetPermission("cyn", "write")
	_, err := w.repo.Commit("o", forgetest.Commit{Branch: "main", Files: map[string]string{"CODEOWNERS": "* @ada\n"}})
	w.must(err)
	w.repo.ProtectBranch("main", forgetest.Protection{Reviews: forgetest.Reviews{CodeOwners: true, Stale: true}})
	_, err = w.repo.Commit("o", forgetest.Commit{Branch: "low", Files: map[string]string{"CODEOWNERS": "* @cyn\n"}})
	w.must(err)
	low, err := w.repo.OpenPull("ann", "low", "main", "Low")
	w.must(err)
	w.commit("high", "low")
	high, err := w.repo.OpenPull("ann", "high", "low", "High")
	w.must(err)
	_, err = w.repo.Stack("ann", low, high)
	w.must(err)
	w.repo.Review("cyn", high, "APPROVED", "", "")
	if got := w.unmet(high, forge.Requirements{}); got != "code-owners high.txt" {
		t.Errorf("approved by who owns it below: %q", got)
	}
	w.repo.Review("ada", high, "APPROVED", "", "")
	if got := w.unmet(high, forge.Requirements{}); got != "" {
		t.Errorf("approved by the owner: %q", got)
	}
}

// Who pushed last does not approve it alone, whoever made the commit and the pull
// request.
func TestUnmetLastPushByReviewer(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.repo.SetPermission("ada", "write")
	w.repo.SetPermission("cyn", "write")
	w.repo.ProtectBranch("main", forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{Count: 1, LastPush: true, Undecided: true}})
	n := w.pull("topic")
	_, err := w.repo.Commit("ada", forgetest.Commit{Branch: "topic", Files: map[string]string{"more.txt": "1"}})
	w.must(err)
	w.repo.Review("ada", n, "APPROVED", "", "")
	if got := w.unmet(n, forge.Requirements{}); got != "last-push" {
		t.Errorf("approved by who pushed: %q", got)
	}
	w.repo.Review("cyn", n, "APPROVED", "", "")
	if got := w.unmet(n, forge.Requirements{}); got != "" {
		t.Errorf("approved by another: %q", got)
	}
}

// The teams of a ruleset's required_reviewers approve what is theirs, though GitHub's
// decision does not tell.
func TestUnmetTeams(t *testing.T) {
	for name, c := range map[string]struct {
		required forgetest.RequiredReview
		by       []string
		deny     bool
		want     string
	}{
		"none yet":             {forgetest.RequiredReview{Patterns: []string{"*.txt"}, Team: "acme/oncall", Minimum: 1}, nil, false, "team-reviews 0 1 topic.txt"},
		"somebody else's":      {forgetest.RequiredReview{Patterns: []string{"*.txt"}, Team: "acme/oncall", Minimum: 1}, []string{"cyn"}, false, "team-reviews 0 1 topic.txt"},
		"a member's":           {forgetest.RequiredReview{Patterns: []string{"*.txt"}, Team: "acme/oncall", Minimum: 1}, []string{"ada"}, false, ""},
		"a member's of two":    {forgetest.RequiredReview{Patterns: []string{"**"}, Team: "acme/oncall", Minimum: 2}, []string{"ada", "cyn"}, false, "team-reviews 1 2 topic.txt"},
		"all but":              {forgetest.RequiredReview{Patterns: []string{"!topic.txt"}, Team: "acme/oncall", Minimum: 1}, nil, false, "team-reviews 0 1 topic.txt"},
		"other files":          {forgetest.RequiredReview{Patterns: []string{"docs/**", "*.go"}, Team: "acme/oncall", Minimum: 1}, nil, false, ""},
		"asked, not waited":    {forgetest.RequiredReview{Patterns: []string{"*"}, Team: "acme/oncall"}, nil, false, ""},
		"teams not to be read": {forgetest.RequiredReview{Patterns: []string{"*"}, Team: "acme/oncall", Minimum: 1}, []string{"ada"}, true, "unjudged required_reviewers permission members: read"},
	} {
		t.Run(name, func(t *testing.T) {
			o := forgetest.Options{Permissions: reading()}
			if c.deny {
				o.Permissions = map[string]string{"pull_requests": "read", "metadata": "read", "contents": "read"}
			}
			w := newWorld(t, o)
			w.repo.SetPermission("ada", "write")
			w.repo.SetPermission("cyn", "write")
			w.server.SetTeam("acme/oncall", "ada")
			w.repo.ProtectBranch("main", forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{Required: []forgetest.RequiredReview{c.required}}})
			n := w.pull("topic")
			approve(c.by...)(w, n)
			if got := w.unmet(n, forge.Requirements{}); got != c.want {
				t.Errorf("unmet: %q, want %q", got, c.want)
			}
		})
	}
}

// Where the App would get past a rule that it cannot judge, the change waits; where
// GitHub judges the push, it does not.
func TestUnmetUnjudged(t *testing.T) {
	for name, c := range map[string]struct {
		rule   string
		bypass bool
		want   string
	}{
		"bypassed":              {"code_scanning", true, "unjudged code_scanning bypass"},
		"judged by the push":    {"code_scanning", false, ""},
		"harmless":              {"copilot_code_review", true, ""},
		"nobody knows it":       {"moon_phase", true, "unjudged moon_phase bypass"},
		"nobody knows it, push": {"moon_phase", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, forgetest.Options{})
			p := forgetest.Protection{Ruleset: true, ExtraRules: []string{c.rule}}
			if c.bypass {
				p.Bypass = []string{"submitqueue"}
			}
			w.repo.ProtectBranch("main", p)
			if got := w.unmet(w.pull("topic"), forge.Requirements{}); got != c.want {
				t.Errorf("unmet: %q, want %q", got, c.want)
			}
		})
	}
}

// Classic protection that GraphQL hides and REST does not give is not taken for none.
func TestUnmetUnreadable(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: map[string]string{"pull_requests": "read", "metadata": "read", "contents": "read"}})
	w.repo.SetPermission("ada", "write")
	w.repo.ProtectBranch("main", forgetest.Protection{Concealed: true, Reviews: forgetest.Reviews{Count: 1, Undecided: true}})
	n := w.pull("topic")
	if got := w.unmet(n, forge.Requirements{}); got != "unjudged branch protection permission administration: read" {
		t.Errorf("concealed: %q", got)
	}
	// What GraphQL tells is counted, and the rest as strictly as it could be.
	w.repo.ProtectBranch("main", forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, Undecided: true}})
	w.forge = w.newForge()
	w.repo.Review("ada", n, "APPROVED", "", "")
	if got := w.unmet(n, forge.Requirements{}); got != "" {
		t.Errorf("approved: %q", got)
	}
	w.commit("topic", "")
	if got := w.unmet(n, forge.Requirements{}); got != "reviews 0 1" {
		t.Errorf("pushed to: %q", got)
	}
}

// Conversations count from the moment on at which they must be resolved, though nobody
// has asked for them before.
func TestUnmetResolvedSince(t *testing.T) {
	for _, concealed := range []bool{false, true} {
		w := newWorld(t, forgetest.Options{Permissions: reading()})
		n := w.pull("topic")
		w.repo.StartThread("ann", n, "a.go")
		if got := w.unmet(n, forge.Requirements{}); got != "" {
			t.Errorf("nobody asks: %q", got)
		}
		w.repo.ProtectBranch("main", forgetest.Protection{Concealed: concealed, Reviews: forgetest.Reviews{Resolved: true}})
		if concealed {
			w.forge = w.newForge() // what is hidden is kept for minutes
		}
		if got := w.unmet(n, forge.Requirements{}); got != "conversations 1 a.go" {
			t.Errorf("concealed %v: %q", concealed, got)
		}
	}
}

// What the pull request says of itself comes with what is read anyway.
func TestFacets(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.commit("topic", "")
	n, err := w.repo.Open(forgetest.Pull{Author: "ann", Branch: "topic", Base: "main", Title: "Revert \"Faster start\"", Body: "It was slower.\n\n## Test plan\nran the benchmark"})
	w.must(err)
	w.repo.Resize(n, forgetest.Size{Commits: 3, Files: 4, Added: 50, Removed: 6})
	check("ci", "success")(w, n)
	check("lint", "skipped")(w, n)
	check("docs", "failure")(w, n)
	check("slow", "")(w, n)
	check("submitqueue", "failure")(w, n) // our own
	w.repo.CI.PostStatus(w.repo.Pull(n).Head, "old-ci", "error")
	p, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	f := p.Facets
	if f.Opened == 0 || *f.Commits != 3 || *f.Files != 4 || *f.Added != 50 || *f.Removed != 6 || !*f.Revert || !*f.Plan {
		t.Errorf("%d commits, %d files, +%d -%d, revert %v, plan %v, opened %d", *f.Commits, *f.Files, *f.Added, *f.Removed, *f.Revert, *f.Plan, f.Opened)
	}
	ask := forge.Requirements{Number: n, Head: p.Head, Base: "main", Branch: "main", Checks: true, Except: []string{"submitqueue"}}
	standing, err := w.forge.Unmet(w.ctx, ask)
	w.must(err)
	if want := (&queue.Checks{Passed: 2, Failed: 2, Pending: 1}); !cmp.Equal(standing.Checks, want) {
		t.Errorf("checks %+v, want %+v", standing.Checks, want)
	}
	whole, both, err := w.forge.Stands(w.ctx, ask)
	w.must(err)
	if d := cmp.Diff(p.Facets, whole.Facets) + cmp.Diff(standing, both, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("read at once, it is another: %s", d)
	}
	ask.Checks = false
	if standing, err = w.forge.Unmet(w.ctx, ask); err != nil || standing.Checks != nil {
		t.Errorf("checks that nobody asked for: %+v, %v", standing.Checks, err)
	}
}

// What is not asked for is not read, so it needs no permission; what is and cannot
// be is said.
func TestUnmetAsksForWhatItNeeds(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: map[string]string{"pull_requests": "read", "metadata": "read", "contents": "read"}})
	w.repo.ProtectBranch("main", forgetest.Protection{RequiredChecks: []string{"ci"}})
	n := w.pull("topic")
	if got := w.unmet(n, forge.Requirements{}); got != "" {
		t.Errorf("without checks: %q", got)
	}
	head := queue.CommitID(w.repo.Pull(n).Head)
	_, err := w.forge.Unmet(w.ctx, forge.Requirements{Number: n, Head: head, Base: "main", Branch: "main", Checks: true})
	if !isErr(err, forge.ErrForbidden) || !strings.Contains(err.Error(), "commit statuses: read") {
		t.Errorf("checks: %v", err)
	}
	_, err = w.forge.Unmet(w.ctx, forge.Requirements{Number: n, Head: "abc", Base: "main", Branch: "main"})
	if transient := (*forge.Transient)(nil); !errors.As(err, &transient) {
		t.Errorf("another head: %v", err)
	}
	_, err = w.forge.Unmet(w.ctx, forge.Requirements{Number: 99, Head: "abc", Base: "main", Branch: "main"})
	if !isErr(err, forge.ErrNotFound) {
		t.Errorf("no such pull request: %v", err)
	}
	w.server.Fail(forgetest.Fault{Method: "POST", Path: "/api/graphql", Status: 502})
	_, err = w.forge.Unmet(w.ctx, forge.Requirements{Number: n, Head: head, Base: "main", Branch: "main"})
	if transient := (*forge.Transient)(nil); !errors.As(err, &transient) {
		t.Errorf("502: %v", err)
	}
	if d := cmp.Diff("", w.unmet(n, forge.Requirements{})); d != "" {
		t.Error(d)
	}
}

// Reading does not wait for its turn among what is written.
func TestUnmetIsNotPaced(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	f, err := github.New(github.Options{BaseURL: w.server.APIURL(), AppID: w.server.AppID(), PrivateKey: w.server.AppKey(),
		Owner: "o", Name: "r", Shared: github.NewShared(nil, 1)})
	w.must(err)
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second) // a second write would wait a minute
	defer cancel()
	for range 3 {
		_, err = f.Unmet(ctx, forge.Requirements{Number: n, Head: queue.CommitID(w.repo.Pull(n).Head), Base: "main", Branch: "main"})
		w.must(err)
	}
}
