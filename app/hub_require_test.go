package app_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// asks protects main with what it asks of reviews and checks; the queue may push
// all the same.
func (h *hub) asks(p forgetest.Protection) {
	p.AllowPushers, p.Bypass = []string{"submitqueue", "ada"}, []string{"submitqueue", "ada"}
	h.ProtectBranch("main", p)
}

// configured is a repository with further settings of the queue.
func configured(files map[string]string, rules string) map[string]string {
	files[".submitqueue.yml"] += "queue:\n  " + rules + "\n"
	return files
}

// waiting waits until the comment names what is not met.
func (h *hub) waiting(n int, texts ...string) {
	h.Helper()
	h.says(n, append(texts, "🚧 Waiting: ", "It goes on by itself once that is done.")...)
	h.check(n, "queued")
}

func TestReviewsAreWaitedFor(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 2, Stale: true}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n, "approving reviews are missing", "It has 0 of the 2 approving reviews")
	h.Review("bob", n, "APPROVED", "", "")
	h.waiting(n, "It has 1 of the 2 approving reviews")
	h.Review("max", n, "CHANGES_REQUESTED", "", "no")
	h.waiting(n, "a reviewer asked for changes", "`max` asked for changes")
	h.Review("max", n, "APPROVED", "", "yes")
	h.landed(n, "asked for by `ann`")
}

func TestCodeOwnersAreWaitedFor(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{"CODEOWNERS": "* @max\n/web/ @bob\n"}})
	h.asks(forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{Count: 1, CodeOwners: true}})
	n := h.land("topic", map[string]string{"web/a": "a\n"})
	h.waiting(n, "It has 0 of the 1 approving reviews")
	h.Review("max", n, "APPROVED", "", "")
	h.waiting(n, "a code owner must approve", "Ask the owners for a review.")
	h.Review("bob", n, "APPROVED", "", "Good.\n\n/land")
	h.landed(n, "asked for by `ann`")
}

// A decision on reviews that GitHub leaves out, of rules that the App may bypass, is not
// taken for one.
func TestUndecidedReviewsAreWaitedFor(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]forgetest.Protection{"ruleset": {Ruleset: true}, "hidden": {Concealed: true}} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubOptions{files: map[string]string{"CODEOWNERS": "* @max\n/web/ @bob\n"}})
			h.github.SetPermissions(map[string]string{"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write",
				"statuses": "read", "metadata": "read", "actions": "write", "administration": "read"})
			h.adapter.Refresh()
			p.Reviews = forgetest.Reviews{Count: 1, CodeOwners: true, Undecided: true}
			h.asks(p)
			n := h.land("topic", map[string]string{"web/a": "a\n"})
			h.waiting(n, "It has 0 of the 1 approving reviews", "must approve it: `web/a`")
			h.Review("max", n, "APPROVED", "", "")
			h.waiting(n, "a code owner must approve", "must approve it: `web/a`")
			h.Review("bob", n, "APPROVED", "", "")
			h.landed(n, "asked for by `ann`")
		})
	}
}

func TestUnjudgedRulesAreSaid(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Ruleset: true, ExtraRules: []string{"license_compliance_scanning"}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n, "a rule of the branch cannot be judged", "the rule `license_compliance_scanning`", "without the App on its bypass list")
}

func TestLastPushIsApprovedByAnother(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Ruleset: true, Reviews: forgetest.Reviews{Count: 1, LastPush: true}})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.push("bob", "topic", map[string]string{"b": "b\n"})
	h.seen()
	h.Review("bob", n, "APPROVED", "", "")
	h.Comment("ann", n, "/land")
	h.waiting(n, "the last push must be approved", "somebody who did not push it")
	h.Review("max", n, "APPROVED", "", "")
	h.landed(n)
}

func TestChecksOfThePullRequestAreWaitedFor(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{RequiredChecks: []string{"ci", "style", "submitqueue"}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	head := h.Pull(n).Head
	h.waiting(n, "required checks have not passed yet", "Required checks have not passed yet: `ci`, `style`. One that never appears", "queue.require_checks: enter")
	h.CI.SetCheck("actions", head, "ci", "")
	h.CI.SetCheck("actions", head, "ci", "failure")
	h.says(n, "not passed yet: `style`", "Required checks have failed: `ci`. Run them again")
	h.CI.PostStatus(head, "style", "success")
	h.says(n, "🚧 Waiting: required checks have failed\n", "failed: `ci`")
	h.CI.SetCheck("actions", head, "ci", "success")
	h.landed(n)
}

func TestChecksNeedNotBeWaitedFor(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(plain(), "require_checks: enter")})
	h.asks(forgetest.Protection{RequiredChecks: []string{"ci"}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n)
}

func TestConversationsAreResolved(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Resolved: true}})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	first, second := h.StartThread("bob", n, "a"), h.StartThread("max", n, "a")
	h.Comment("ann", n, "/land")
	h.waiting(n, "conversations are not resolved", "not resolved: 2, at `a`. Resolve them.")
	h.ResolveThread("ann", n, first, true)
	h.waiting(n, "not resolved: 1, at `a`")
	h.ResolveThread("max", n, second, true)
	h.landed(n)
}

// The configuration can ask for it if the protection does not.
func TestConversationsByConfiguration(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(plain(), "require_resolved: always")})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	id := h.StartThread("bob", n, "a")
	h.Comment("ann", n, "/land")
	h.waiting(n, "not resolved: 1, at `a`")
	h.ResolveThread("ann", n, id, true)
	h.landed(n)
}

func TestDraftsAndLabelsAreWaitedFor(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(plain(), "blocking_labels: [do not merge, wip]")})
	h.push("ann", "topic", map[string]string{"a": "a\n"})
	n := must(h.OpenDraft("ann", "topic", "main", "A draft"))
	h.Label("bob", n, "WIP")
	h.Comment("ann", n, "/land")
	h.waiting(n, "the pull request is a draft, and 1 more thing\n", "Mark it ready for review.", "a label that blocks it: `WIP`. Take it off.")
	h.SetDraft("ann", n, false)
	h.waiting(n, "🚧 Waiting: a label blocks it\n")
	h.Unlabel("bob", n, "WIP")
	h.landed(n)
}

func TestWhoWaitsHearsOfAConflict(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{"a": "old\n"}})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.pull("topic", map[string]string{"a": "mine\n"})
	h.push("ada", "main", map[string]string{"a": "theirs\n"})
	h.proven()
	h.Comment("ann", n, "/land")
	h.waiting(n, "It has 0 of the 1", "It does not merge with `main` as that is now: `a`.")
	h.Review("bob", n, "APPROVED", "", "")
	h.says(n, "❌ Rejected: it does not merge", "`a`")
}

func TestCancelWhileWaiting(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n)
	h.Comment("ann", n, "/land retry\n/land") // neither is a way around it
	h.seen()
	h.waiting(n)
	h.Comment("bob", n, "/land cancel")
	h.says(n, "Out of the queue: taken out by command", "`bob`")
	h.Label("ann", n, "land")
	h.waiting(n, "asked for by `ann`")
	h.Unlabel("ann", n, "land")
	h.says(n, "Out of the queue: taken out by command", "`ann`")
	h.Review("bob", n, "APPROVED", "", "")
	h.seen()
	if ch := h.change(n); ch.Phase != queue.Cancelled {
		t.Errorf("it is back: %+v", ch)
	}
	h.Comment("ann", n, "/land")
	h.landed(n)
}

func TestPushWhileWaiting(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n)
	h.push("ann", "topic", map[string]string{"b": "b\n"})
	h.says(n, "Out of the queue: new commits were pushed")
	h.Review("bob", n, "APPROVED", "", "")
	h.seen()
	if h.Pull(n).Merged {
		t.Error("what nobody asked for has landed")
	}
	h.says(n, "Out of the queue: new commits were pushed")
}

// Who asked and may no longer ask when it is the change's turn has not asked.
func TestPermissionIsLostWhileWaiting(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n)
	h.SetPermission("ann", "read")
	h.Review("bob", n, "APPROVED", "", "")
	h.says(n, "Out of the queue: this needs another permission", "`ann`")
	h.Comment("bob", n, "/land")
	h.landed(n, "asked for by `bob`")
}

// An approval that is taken back while the change is about to land takes it out;
// whoever is behind it lands, and so does the change once it is approved again.
func TestApprovalIsTakenBackBeforeLanding(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	a, b := h.pull("a", map[string]string{"api/a": "a\n"}), h.pull("b", map[string]string{"web/b": "b\n"})
	review := h.Review("bob", a, "APPROVED", "", "")
	h.Review("bob", b, "APPROVED", "", "")
	h.paused(a)
	h.Comment("ann", a, "/land")
	h.Comment("ann", b, "/land")
	h.boarded(a, b)
	h.DismissReview("bob", a, review)
	h.waiting(a, "It has 0 of the 1 approving reviews")
	h.Comment("max", b, "/queue resume")
	h.landed(b)
	if h.Pull(a).Merged {
		t.Error("what is not approved has landed")
	}
	h.Review("bob", a, "APPROVED", "", "")
	h.landed(a)
}

// Nobody hears of it, and some time has passed: the forge is asked before the push.
func TestRequirementsAreReadAgainBeforeLanding(t *testing.T) {
	var ahead atomic.Int64
	h := newHub(t, hubOptions{files: areas(), now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	h.proven()
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	a, b := h.pull("a", map[string]string{"api/a": "a\n"}), h.pull("b", map[string]string{"web/b": "b\n"})
	review := h.Review("bob", a, "APPROVED", "", "")
	h.Review("bob", b, "APPROVED", "", "")
	h.paused(a)
	h.Comment("ann", a, "/land")
	h.Comment("ann", b, "/land")
	h.boarded(a, b)
	h.seen()
	h.github.DropWebhooks(1)
	h.DismissReview("bob", a, review)
	ahead.Store(int64(90 * time.Second))
	h.Comment("max", b, "/queue resume")
	h.waiting(a, "It has 0 of the 1 approving reviews")
	h.landed(b)
	if h.Pull(a).Merged {
		t.Error("what is not approved has landed")
	}
	h.Review("max", a, "APPROVED", "", "")
	h.landed(a)
}

// The look right before a landing is one call for each pull request, and one for all
// that the same person has asked for within ten seconds; later, his permission is read
// again, and who has lost it does not land.
func TestCallsOfTheLookBeforeLanding(t *testing.T) {
	var ahead atomic.Int64
	h := newHub(t, hubOptions{files: areas(), workers: workers.NewInstant(4), now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	h.proven()
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	ready := func(names ...string) (numbers []int) {
		h.Helper()
		for _, name := range names {
			numbers = append(numbers, h.pull(name, map[string]string{name: "x\n"}))
			h.Review("bob", numbers[len(numbers)-1], "APPROVED", "", "")
		}
		h.paused(numbers[0])
		for _, n := range numbers {
			h.Comment("ann", n, "/land")
		}
		h.boarded(numbers...)
		h.seen()
		h.quiet()
		ahead.Add(int64(90 * time.Second))
		return numbers
	}
	start := time.Now()
	two := ready("api/a", "web/b")
	from := len(h.github.Requests("", "/**"))
	mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "resume", At: queue.At(time.Now()), // said on no pull request
		Body: queue.Commented{Comment: "resume", Author: "max", Body: "/queue resume"}}))
	for _, n := range two {
		h.landed(n)
	}
	const kept = 5 * time.Second // that rules are taken as they were read: a slow machine reads them anew
	slow := time.Since(start) > kept
	got := map[string]int{}
	for _, r := range h.github.Requests("", "/**")[from:] {
		if r.Method == "GET" || strings.HasSuffix(r.Path, "/graphql") {
			got[r.Method+" "+r.Path]++
		}
	}
	for call, want := range map[string]int{"POST /api/graphql": 2, "GET /repos/acme/shop/collaborators/ann/permission": 1} {
		if got[call] != want {
			t.Errorf("%d times %s, want %d; in all %v", got[call], call, want, got)
		}
	}
	for call, n := range got {
		if strings.HasSuffix(call, "/reviews") || strings.Contains(call, "/rules/") && !slow {
			t.Errorf("%d times %s, which was asked together with the rest", n, call)
		}
	}
	one := ready("api/c")[0]
	h.SetPermission("ann", "read") // nobody says so
	h.Comment("max", one, "/queue resume")
	h.says(one, "Out of the queue: this needs another permission", "`ann`")
}

// What cannot be read is not taken as met: the answer says what the App lacks.
func TestUnreadableRequirementsAreSaid(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.github.SetPermissions(map[string]string{"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write", "metadata": "read"})
	h.github.ExpireTokens()
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.says(n, "🚫 Not in the queue: the forge could not be asked", "commit statuses: read")
	if ch := h.change(n); ch.ID != "" {
		t.Errorf("it is in the queue: %+v", ch)
	}
}

// A pull request on top of another asks for a branch without rules; it lands on
// one that has some.
func TestStackMeetsTheRulesOfMain(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	low := h.pull("low", map[string]string{"api/a": "a\n"})
	high := h.pullOn("high", "low", map[string]string{"web/b": "b\n"})
	h.Review("bob", low, "APPROVED", "", "")
	h.paused(low)
	h.Comment("ann", low, "/land")
	h.Comment("ann", high, "/land")
	h.waiting(high, "It has 0 of the 1 approving reviews")
	h.Review("bob", high, "APPROVED", "", "")
	h.boarded(low, high)
	h.Comment("max", low, "/queue resume")
	h.landed(low)
	h.landed(high)
}

// A restart in the middle forgets no waiting change.
func TestWaitingSurvivesARestart(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n)
	h.stop()
	h.Review("bob", n, "APPROVED", "", "") // its webhook goes nowhere
	h.start(hubOptions{})
	h.landed(n)
}

// However many checks report, the forge is not asked for each of them.
func TestChecksInMassesAreFewRequests(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{RequiredChecks: []string{"ci"}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n)
	h.seen()
	before := len(h.github.Requests("POST", "/api/graphql"))
	h.github.HoldWebhooks()
	for i := range 60 {
		h.CI.SetCheck("actions", h.Pull(n).Head, "part "+strings.Repeat("i", i+1), "success")
	}
	h.github.ReleaseWebhooks()
	h.seen()
	h.until("they have been looked at", func(c *speculation.Core) bool {
		return len(c.State().Requests) == 0 && len(h.github.Requests("POST", "/api/graphql")) > before
	})
	if asked := len(h.github.Requests("POST", "/api/graphql")) - before; asked == 0 || asked > 5 {
		t.Errorf("asked %d times for 60 checks", asked)
	}
	h.CI.SetCheck("actions", h.Pull(n).Head, "ci", "success")
	h.landed(n)
}
