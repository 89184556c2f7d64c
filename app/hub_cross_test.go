package app_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// Features that are tested by themselves elsewhere, together.

// held is judged, whose jobs run until somebody ends them where there is one file, and
// not the other.
func held(file, without string) func(forgetest.CIPush) []forgetest.CIJob {
	return func(p forgetest.CIPush) []forgetest.CIJob {
		list := judged(p)
		if len(list) > 0 && p.Has(file) && !p.Has(without) {
			list[0].Conclusion = ""
		}
		return list
	}
}

// holding waits until a job is held, and returns its branch.
func (h *hub) holding() (branch string) {
	h.Helper()
	h.eventually("a job is held", func() bool {
		for _, r := range h.CI.CIRuns() {
			if r.Status == "in_progress" {
				branch = r.Branch
			}
		}
		return branch != ""
	})
	return branch
}

// builtBy reports whether the CI passed exactly this commit.
func (h *hub) builtBy(commit string) bool {
	return slices.ContainsFunc(h.CI.CIRuns(), func(r forgetest.CIRun) bool { return r.Head == commit && r.Conclusion == "success" })
}

// What waits for a review costs the CI nothing; approved, it is built there; the
// review that is taken back while that runs, unheard of, keeps it from landing; and
// given again it lands on what has passed.
func TestRequirementsWithChecksOfTheForge(t *testing.T) {
	var ahead atomic.Int64
	h := newHub(t, hubOptions{files: byCI(), ci: quick(), unattended: true})
	h.CI.SetCI(t, held("a", "none"))
	h.stop()
	h.start(hubOptions{ci: quick(), now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	h.proven()
	before := h.Head("main")
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.waiting(n, "It has 0 of the 1 approving reviews")
	h.seen()
	if runs, refs := h.buildsWith("a"), h.refs(); runs != 0 {
		t.Errorf("%d runs for what waits for a review, on %v", runs, refs)
	}
	review := h.Review("bob", n, "APPROVED", "", "")
	branch := h.holding()
	h.seen()
	h.github.DropWebhooks(1)
	h.DismissReview("bob", n, review)
	ahead.Store(int64(90 * time.Second))
	h.CI.FinishCI(branch, "test", "success")
	h.waiting(n, "It has 0 of the 1 approving reviews")
	if h.Pull(n).Merged || h.Head("main") != before {
		t.Errorf("what is not approved has landed: main is %s, the pull request %+v", h.Head("main"), h.Pull(n))
	}
	h.Review("max", n, "APPROVED", "", "")
	h.landed(n, "this very commit was tested", "asked for by `ann`")
	if runs := h.buildsWith("a"); runs != 1 || !h.builtBy(h.Head("main")) {
		t.Errorf("%d runs, main is at %s: %+v", runs, h.Head("main"), h.CI.CIRuns())
	}
	h.clean()
}

// The one who was trusted with a pull request lands it by squash: it is its authors'
// all the same, and of its words only theirs.
func TestDelegatedSquash(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{".submitqueue.yml": oneStep + "permissions: {land: maintain}\nqueue: {methods: [squash]}\n"}})
	h.proven()
	before := h.Head("main")
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "first\n\nSigned-off-by: Ann <ann@example.org>", Files: map[string]string{"a": "a\n"}}))
	must(h.Commit("bob", forgetest.Commit{Branch: "topic", Message: "second", Files: map[string]string{"b": "b\n"}}))
	n := must(h.OpenPull("ann", "topic", "main", "Two things"))
	head := h.Head("topic")
	h.Comment("rea", n, "/land method=squash")
	h.says(n, "Sorry, `rea`")
	h.Comment("max", n, "/land delegate @rea")
	h.says(n, "`rea` may `/land`")
	h.Comment("rea", n, "/land method=squash")
	h.landed(n, "by squash", "asked for by `rea`")
	message, parents := h.tip()
	author := func(at string) string { return git(t, h.Dir(), "log", "-1", "--format=%an <%ae>", at) }
	want := fmt.Sprintf("%s\nTwo things (#%d)\n\nCo-authored-by: %s\nSigned-off-by: Ann <ann@example.org>\nChange: %s\nHead: %s",
		author(head+"^"), n, author(head), h.change(n).ID, head)
	if strings.TrimSpace(message) != want || !slices.Equal(parents, []string{before}) {
		t.Errorf("main's commit is on %v and says\n%s\nwant\n%s", parents, message, want)
	}
	if strings.Contains(message, "rea") || strings.Contains(message, "max") {
		t.Errorf("who landed it is named as who wrote it:\n%s", message)
	}
	h.seen()

	// The push that moved its branch was ours, and the trust has ended with it.
	late := h.pull("late", map[string]string{"c": "c\n"})
	h.Comment("max", late, "/land delegate @rea")
	h.says(late, "`rea` may `/land`")
	h.push("ann", "late", map[string]string{"d": "d\n"})
	h.Comment("rea", late, "/land method=squash")
	h.says(late, "Sorry, `rea`")
	h.Comment("rea", n, "/land method=squash")
	h.says(n, "Sorry, `rea`")
	if h.Head("main") == before || h.Pull(late).Merged {
		t.Errorf("main is %s, %+v", h.Head("main"), h.Pull(late))
	}
}

// Two on top of each other land by rebase through the CI: each commit of main was
// built there, and one that is red on the way of the lower keeps both out.
func TestRebasedStackThroughChecks(t *testing.T) {
	storetest.OneOf(t, 3)
	files := byCI()
	files[".submitqueue.yml"] += "queue: {method: rebase}\n"
	h := newCIHub(t, files, judged)
	h.proven()
	write := func(branch, from, message string, files map[string]string, without ...string) {
		t.Helper()
		must(h.Commit("ann", forgetest.Commit{Branch: branch, From: from, Message: message, Files: files, Delete: without}))
	}
	write("low", h.Head("main"), "low 1", map[string]string{"word": "1\n"})
	write("low", "", "low 2", map[string]string{"word": "2\n"})
	write("high", h.Head("low"), "high 1", map[string]string{"word": "3\n"})
	write("high", "", "high 2", map[string]string{"word": "4\n"})
	low, high := must(h.OpenPull("ann", "low", "main", "Low")), must(h.OpenPull("ann", "high", "low", "High"))
	h.push("ada", "main", map[string]string{"meanwhile": "m\n"}) // so that all are made anew
	h.proven()
	before := h.Head("main")
	h.Comment("ann", high, "/land")
	h.leans(high)
	h.Comment("ann", low, "/land")
	h.says(low, "by rebase, as 2 commits. Each of them was verified.", "✅ Landed") // merged in one push with the upper one, else closed: that asks for its branch
	h.landed(high, "by rebase, as 2 commits. Each of them was verified.")
	h.says(low, "✅ Landed")
	if p := h.Pull(low); p.State != "closed" {
		t.Errorf("#%d is %+v", low, p)
	}
	if got := git(t, h.Dir(), "log", "--reverse", "--format=%s", before+"..main"); got != "low 1\nlow 2\nhigh 1\nhigh 2" {
		t.Errorf("main has\n%s", got)
	}
	for commit := range strings.FieldsSeq(git(t, h.Dir(), "rev-list", before+"..main")) {
		if !h.builtBy(commit) {
			t.Errorf("the CI has not built %s", commit)
		}
	}

	write("low-red", h.Head("main"), "bad", map[string]string{"bad": "bad\n"})
	write("low-red", "", "good again", map[string]string{"x": "x\n"}, "bad")
	write("high-red", h.Head("low-red"), "on top", map[string]string{"y": "y\n"})
	low, high = must(h.OpenPull("ann", "low-red", "main", "Low")), must(h.OpenPull("ann", "high-red", "low-red", "High"))
	before = h.Head("main")
	h.Comment("ann", high, "/land")
	h.leans(high)
	h.Comment("ann", low, "/land")
	h.rejected(low, "failed in `unit`", "check test: failure")
	h.says(high, "🅿️ Parked", "which was rejected (a step failed)")
	if h.Head("main") != before {
		t.Error("main has moved")
	}
	h.clean()
}

// An emergency goes through a freeze, and not past the CI: it lands when its check
// has passed, and a red one does not. The others wait for the end of the freeze.
func TestNowWhileFrozenWithChecks(t *testing.T) {
	h := newCIHub(t, byCI(), held("b", "a"))
	h.proven()
	before := h.Head("main")
	a := h.pull("a", map[string]string{"a": "a\n"})
	h.Comment("max", a, "/queue freeze 2h cut the release")
	h.until("it is frozen", func(c *speculation.Core) bool {
		p := c.State().Main.Paused
		return p != nil && p.Until != 0
	})
	h.Comment("ann", a, "/land")
	h.boarded(a)
	h.says(a, "Landings are frozen until ")
	b := h.pull("b", map[string]string{"b": "b\n"})
	h.Comment("ada", b, "/land now the shop is down")
	branch := h.holding()
	h.seen()
	if h.Head("main") != before || h.change(b).Phase.Final() {
		t.Errorf("it has not passed, and %+v; main is %s", h.change(b), h.Head("main"))
	}
	h.CI.FinishCI(branch, "test", "success")
	h.landed(b, "🚨 **Emergency**, by `ada` at ", "`the shop is down`", "this very commit was tested")
	if !h.builtBy(h.Head("main")) {
		t.Errorf("the CI has not built %s", h.Head("main"))
	}
	h.CI.SetCI(t, judged)
	red := h.pull("red", map[string]string{"bad": "bad\n"})
	h.Comment("ada", red, "/land now too")
	h.rejected(red, "🚨 **Emergency**", "check test: failure")
	if ch := h.change(a); ch.Phase != queue.Pending || h.Pull(a).Merged {
		t.Errorf("who waits for the end of the freeze is %+v", ch)
	}
	h.Comment("max", a, "/queue resume")
	h.landed(a)
	h.clean()
}
