package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// ruled is a repository with rules by which pull requests enter.
func ruled(rules ...string) map[string]string {
	return map[string]string{".submitqueue.yml": oneStep + "queue:\n  methods: [merge, squash]\n  auto:\n    - " + strings.Join(rules, "\n    - ") + "\n"}
}

// looked waits until rules have been looked at for a pull request as it is by now.
func (h *hub) looked(n int) {
	h.Helper()
	h.seen()
	head := h.Pull(n).Head
	h.until("it is looked at", func(c *speculation.Core) bool {
		p := c.State().Pulls[n]
		return p != nil && p.Auto != nil && string(p.Auto.Offered.Head) == head && p.Auto.Due == 0 && p.Auto.Last != 0 && len(c.State().Requests) == 0
	})
}

// left asserts that nothing of a pull request is in the queue, nor was said there.
func (h *hub) left(n int, after string) {
	h.Helper()
	h.looked(n)
	h.owner.Read(func(c *speculation.Core) {
		if id := c.State().Pulls[n].Active; id != "" {
			h.Errorf("%s: it has entered as %s", after, id)
		}
	})
	if text, _ := bot(h.Comments(n)); text != "" {
		h.Errorf("%s: the bot speaks:\n%s", after, text)
	}
}

func TestAutoByLabelReviewsAndChecks(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: ready, labels: [ready], approvals: 1, checks: [lint, "unit *"], priority: high, method: squash}`)})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	head := h.Pull(n).Head
	h.left(n, "opened")
	h.Label("bob", n, "ready")
	h.left(n, "labelled")
	h.CI.SetCheck("ci", head, "lint", "success")
	h.Review("rea", n, "APPROVED", "", "nice")
	h.left(n, "approved by who may not write")
	h.Review("bob", n, "APPROVED", "", "good")
	h.CI.SetCheck("ci", head, "unit 1", "failure")
	h.left(n, "a check has failed")
	h.CI.SetCheck("ci", head, "unit 1", "success")
	h.landed(n)
	if ch := h.change(n); ch.Rule != "ready" || ch.Lane != "high" || ch.Method != "squash" || !ch.Own || ch.Vouched || ch.Requester != "rule ready" {
		t.Errorf("%+v", ch)
	}
}

func TestAutoSaysByWhichRule(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: ready, labels: [ready]}`)})
	other := h.pull("other", map[string]string{"b": "b\n"})
	h.paused(other)
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Label("bob", n, "ready")
	h.says(n, "1st of 1", "entered by rule `ready` of `.submitqueue.yml`")

	// The label is what had it enter, and has it leave; and enter again.
	h.Unlabel("rea", n, "ready")
	h.says(n, "Out of the queue: the rule that entered it does not hold any more", "its label `ready` was taken off")
	h.Label("bob", n, "READY")
	h.says(n, "1st of 1")

	// What people take out stays out, at this head, whatever happens.
	h.Comment("ann", n, "/land cancel")
	h.says(n, "taken out by command", "by `ann`")
	h.Unlabel("bob", n, "READY")
	h.Label("bob", n, "ready")
	h.Review("bob", n, "APPROVED", "", "good")
	h.looked(n)
	h.stop()
	h.start(hubOptions{}) // and whoever sweeps
	h.looked(n)
	h.says(n, "taken out by command")
	if got := h.notes("entered"); got != 2 {
		t.Errorf("entered %d times", got)
	}
	h.Comment("ann", n, "/land explain")
	h.says(n, "`ready` does not hold: this head was taken out")
	h.push("ann", "topic", map[string]string{"a": "better\n"})
	h.says(n, "1st of 1", "entered by rule `ready`")
	h.Comment("max", other, "/queue resume")
	h.landed(n)
}

// A head that has failed is not tried again and again; another one is.
func TestAutoOfARejectedHead(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: docs, authors: [ANN], paths: ["bad", "docs/**"]}`)})
	n := h.pull("topic", map[string]string{"bad": "x\n"})
	h.rejected(n)
	h.Label("bob", n, "whatever")
	h.Retarget("ann", n, "main")
	h.looked(n)
	h.stop()
	h.start(hubOptions{})
	h.looked(n)
	h.rejected(n)
	if got := h.notes("entered"); got != 1 {
		t.Errorf("entered %d times", got)
	}
	other := h.pull("other", map[string]string{"docs/x": "x\n", "src": "x\n"})
	h.left(other, "changes others")
	h.push("ann", "topic", map[string]string{"bad": "", "docs/a": "a\n"})
	h.landed(n)
}

// The pull request of an author without write access enters only if somebody with write access
// stands for it.
func TestAutoOfStrangers(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: ready, labels: [ready]}`, `{name: known, authors: ["robo[bot]", "@acme/friends"]}`)})
	h.SetPermission("tia", "triage")
	h.github.AddBot("robo[bot]")
	h.github.AddUser("robo")
	h.github.SetTeam("acme/friends", "fay")
	fork := must(h.Fork("eve"))
	must(fork.Commit("eve", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "a\n", ".submitqueue.yml": oneStep + "queue: {auto: [{name: mine, authors: [eve]}]}\n"}}))
	n := must(h.OpenPull("eve", "eve:topic", "main", "Mine"))
	h.Label("tia", n, "ready")
	h.left(n, "labelled by who may not write; its own configuration would enter it")
	h.Review("eve", n, "APPROVED", "", "mine")
	h.Review("rea", n, "APPROVED", "", "nice")
	h.left(n, "approved by who may not write")
	h.Review("bob", n, "APPROVED", "", "good")
	h.says(n, "an administrator must approve") // .submitqueue.yml is protected

	// A team that the App may not ask for has nobody in it, and other rules hold all the same.
	for _, user := range []string{"robo[bot]", "robo", "fay"} {
		branch := strings.ReplaceAll(user, "[bot]", "-app")
		h.push("ann", branch, map[string]string{branch: "x\n"})
		n := must(h.OpenPull(user, branch, "main", "By "+user))
		if user == "robo[bot]" {
			h.landed(n)
			continue
		}
		h.left(n, user)
		if user == "fay" {
			h.Comment("ann", n, "/land explain")
			h.says(n, "`known` does not hold: it cannot be judged: `github: read who is in the team acme/friends")
		}
	}
}

func TestAutoOfATeam(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: known, authors: ["@acme/friends"]}`)})
	h.github.SetPermissions(map[string]string{"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write",
		"statuses": "read", "metadata": "read", "members": "read"})
	h.github.SetTeam("acme/friends", "fay")
	h.stop()
	h.start(hubOptions{})
	for _, user := range []string{"ann", "fay"} {
		h.push("ann", user, map[string]string{user: "x\n"})
		n := must(h.OpenPull(user, user, "main", "By "+user))
		if user == "fay" {
			h.landed(n)
		} else {
			h.left(n, user)
		}
	}
}

// Drafts and pull requests for other branches never enter, and do so when they are none.
func TestAutoOfDraftsAndOtherBranches(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: all, authors: [ann]}`)})
	h.push("ada", "release", nil)
	h.push("ann", "draft", map[string]string{"a": "a\n"})
	draft := must(h.OpenDraft("ann", "draft", "main", "A draft"))
	h.left(draft, "a draft")
	h.push("ann", "other", map[string]string{"b": "b\n"})
	other := must(h.OpenPull("ann", "other", "release", "For another branch"))
	h.seen()
	if text, _ := bot(h.Comments(other)); text != "" || h.change(other).ID != "" {
		h.Errorf("for another branch, and in the queue:\n%s", text)
	}
	h.SetDraft("ann", draft, false)
	h.landed(draft)
	h.Retarget("ann", other, "main")
	h.landed(other)
}

// Those that are open when rules come to main, and when the server starts, are found.
func TestAutoSweeps(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Label("bob", n, "ready")
	h.seen()
	if h.owner.Read(func(c *speculation.Core) {
		if p := c.State().Pulls[n]; p != nil && p.Auto != nil {
			t.Error("remembered without rules")
		}
	}); len(h.github.Requests("GET", "/repos/acme/shop/pulls")) > 0 {
		t.Error("swept without rules")
	}
	h.push("ada", "main", ruled(`{name: ready, labels: [ready]}`))
	h.landed(n)
	h.stop()
	next := h.pull("next", map[string]string{"b": "b\n"})
	h.Label("bob", next, "ready") // and its webhook is lost
	h.start(hubOptions{})
	h.landed(next)
}

// What events and lists show costs nothing.
func TestAutoCallsOfWhatIsRuledOut(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: ready, labels: [ready], approvals: 1, checks: [lint]}`, `{name: robo, authors: ["robo[bot]"]}`)})
	h.proven()
	first := h.pull("first", map[string]string{"b": "b\n"})
	h.left(first, "opened")
	from := len(h.github.Requests("", "/**"))
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Label("bob", n, "other")
	h.Review("bob", n, "APPROVED", "", "good")
	h.CI.SetCheck("ci", h.Pull(n).Head, "lint", "success")
	h.SetDraft("ann", n, true)
	h.left(n, "nothing holds")
	start := []string{"GET /repos/acme/shop/pulls/comments", "GET /repos/acme/shop/pulls"} // which a loaded machine does late
	if calls := slices.DeleteFunc(h.calls(from), func(c string) bool { return slices.Contains(start, c) }); len(calls) > 0 {
		t.Errorf("calls: %v", calls)
	}
	h.SetDraft("ann", n, false)
	h.looked(n)
	from = len(h.github.Requests("", "/**"))
	h.Label("bob", n, "ready")
	h.says(n, "entered by rule `ready`")
	h.landed(n)
	h.seen()
	h.quiet()
	// The pull request and its reviews, bob's permission, checks and statuses of the head;
	// then what /land takes, but for the reaction. How often the comment and the check are
	// written anew depends on how fast the machine is.
	calls := slices.DeleteFunc(h.calls(from), func(c string) bool { return strings.HasPrefix(c, "PATCH ") })
	if len(calls) > 5+9 {
		t.Errorf("%d calls: %v", len(calls), calls)
	}
}

// calls returns the requests to the API of the repository since some of them.
func (h *hub) calls(from int) (out []string) {
	for _, r := range h.github.Requests("", "/**")[from:] {
		if strings.HasPrefix(r.Path, "/repos/") {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	return out
}

func TestAutoIsExplained(t *testing.T) {
	h := newHub(t, hubOptions{files: ruled(`{name: ready, labels: [ready], approvals: 2, checks: [lint]}`, `{name: docs, authors: [ann], paths: ["docs/**"]}`)})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("bob", n, "/land explain")
	h.says(n, "`ready` does not hold: not labelled `ready`; approved by 0 of 2 with write access, at this head; not green at this head: `lint`",
		"`docs` does not hold: not for the paths that it changes")
	if slices.ContainsFunc(h.order(), func(s string) bool { return s != "" }) {
		t.Error("it has entered")
	}
}
