package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

func TestLandOnGitHub(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n, "tested")
	if c := h.Comments(n); !strings.HasSuffix(c[0].Body, "/land") || len(c[0].Reactions) == 0 {
		t.Errorf("the command is not acknowledged: %+v", c)
	}
}

func TestFailingChangeIsRejected(t *testing.T) {
	h := newHub(t, hubOptions{})
	before := h.Head("main")
	n := h.land("topic", map[string]string{"bad": "bad\n"})
	h.rejected(n, "failed in `test`", "bad is bad")
	if h.Head("main") != before {
		t.Error("main has moved")
	}
	h.push("ann", "topic", map[string]string{"bad": ""})
	h.push("ann", "topic", map[string]string{"good": "good\n"})
	h.Comment("ann", n, "/land")
	h.landed(n)
}

func TestIndependentChangesLandInOnePush(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	a, b := h.pull("a", map[string]string{"api/a": "a\n"}), h.pull("b", map[string]string{"web/b": "b\n"})
	h.paused(a)
	h.Comment("ann", a, "/land")
	h.Comment("bob", b, "/land")
	h.boarded(a, b)
	pushes := len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack"))
	h.Comment("max", a, "/queue resume")
	h.landed(a)
	h.landed(b)
	if n := len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack")) - pushes; n != 1 {
		t.Errorf("%d pushes, want 1", n)
	}
}

func TestPairThatIsGreenAloneAndRedTogether(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{"test.sh": "test ! -e x || test ! -e y || { echo x and y do not go together; exit 1; }\n"}})
	a, b := h.land("x", map[string]string{"x": "x\n"}), h.land("y", map[string]string{"y": "y\n"})
	winner, loser := h.decided(a, b)
	h.landed(winner)
	h.rejected(loser, "x and y do not go together")
	h.green()
}

func TestMergeConflictIsRejected(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{"word": "one\n"}})
	a, b := h.land("x", map[string]string{"word": "two\n"}), h.land("y", map[string]string{"word": "three\n"})
	winner, loser := h.decided(a, b)
	h.landed(winner)
	h.rejected(loser, "does not merge", "`word`")
	h.green()
}

func TestNothingToLand(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.push("ada", "main", map[string]string{"a": "a\n"})
	h.Comment("ann", n, "/land")
	h.says(n, "Nothing to land", "on `main` already")
	h.check(n, "neutral")
}

// A change whose revert is on main merges to nothing, which is said; the revert
// of the revert lands, by what the ledger knows of its keys.
func TestLandAgainAfterARevert(t *testing.T) {
	h := newHub(t, hubOptions{})
	first := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(first)
	revert := h.land("revert", map[string]string{"a": ""})
	h.landed(revert)

	h.push("ann", "topic", map[string]string{"b": "b\n"})
	h.push("ann", "topic", map[string]string{"b": ""})
	again := must(h.OpenPull("ann", "topic", "main", "Once more"))
	h.Comment("ann", again, "/land")
	h.says(again, "Nothing to land", "revert the revert")

	anew := h.land("anew", map[string]string{"a": "a\n"})
	h.landed(anew)
	h.green()
}

func TestForkLands(t *testing.T) {
	h := newHub(t, hubOptions{})
	fork := must(h.Fork("eve"))
	must(fork.Commit("eve", forgetest.Commit{Branch: "gift", Files: map[string]string{"gift": "gift\n"}}))
	n := must(h.OpenPull("eve", "eve:gift", "main", "A gift"))
	h.Comment("eve", n, "/land")
	h.says(n, "Sorry, `eve`", "`write`")
	h.Comment("ann", n, "/land")
	h.landed(n)
	if got := git(t, h.Dir(), "show", "main:gift"); got != "gift" {
		t.Errorf("main's file says %q", got)
	}
}

func TestMainIsPushedMeanwhile(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.boarded(n)
	h.seen()
	h.github.HoldWebhooks() // the queue is not told
	outside := h.push("ada", "main", map[string]string{"b": "b\n"})
	mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "resume", At: queue.At(time.Now()), Body: queue.Commented{Number: n, Comment: "1", Author: "max", Body: "/queue resume"}}))
	h.landed(n)
	h.github.ReleaseWebhooks()
	if parent := git(t, h.Dir(), "rev-parse", "main^"); parent != outside {
		t.Errorf("landed on %s, not on the outside push %s", parent, outside)
	}
	if got := h.notes("lost-race"); got != 1 {
		t.Errorf("%d races lost, want 1", got)
	}
	h.green()
}

// Somebody else's push breaks what the change needs, between its build and its
// landing: it is judged again and does not land.
func TestMainIsPushedMeanwhileAndBreaksIt(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{"test.sh": "test ! -e x || test ! -e y || { echo x and y do not go together; exit 1; }\n"}})
	n := h.pull("topic", map[string]string{"x": "x\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.boarded(n)
	h.seen()
	h.github.HoldWebhooks()
	outside := h.push("ada", "main", map[string]string{"y": "y\n"})
	mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "resume", At: queue.At(time.Now()), Body: queue.Commented{Number: n, Comment: "1", Author: "max", Body: "/queue resume"}}))
	h.rejected(n, "x and y do not go together")
	if h.Head("main") != outside {
		t.Error("main has moved")
	}
	h.github.ReleaseWebhooks()
	h.green()
}

func TestForcedPushPauses(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue", "ada"}, AllowForce: true})
	first := h.Head("main")
	h.landed(h.land("a", map[string]string{"a": "a\n"}))
	must(h.Commit("ada", forgetest.Commit{Branch: "main", From: first, Files: map[string]string{"rewritten": "1\n"}}))
	h.until("the queue is paused", func(c *speculation.Core) bool {
		p := c.State().Main.Paused
		return p != nil && p.Code == queue.ReasonForced
	})
	n := h.land("b", map[string]string{"b": "b\n"})
	h.says(n, "landings are paused", "force-pushed")
	h.Comment("ann", n, "/queue resume")
	h.says(n, "Sorry, `ann`", "`maintain`")
	h.Comment("max", n, "/queue resume")
	h.landed(n)
	h.green()
}

// The branch takes no push of ours: that is said, nobody is parked for it, and all land
// when it does again.
func TestBranchThatTakesNothing(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(areas(), "require_checks: enter")})
	h.proven()
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue", "ada"}, RequiredChecks: []string{"ci"}})
	n := h.land("a", map[string]string{"api/a": "a\n"})
	h.says(n, "⏸️ 1st of 1 in the queue: the forge refuses every push", `Required status check "ci" is expected`, "/queue resume")
	h.check(n, "queued")
	other := h.land("b", map[string]string{"web/b": "b\n"})
	h.says(other, "the forge refuses every push")
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue", "ada"}})
	h.Comment("max", n, "/queue resume")
	h.landed(n)
	h.landed(other)
}

// What fails only where main itself is red is not the author's fault: it is
// parked, and comes back by itself once somebody has repaired main.
func TestRedMain(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	h.push("ada", "main", map[string]string{"api/bad": "bad\n"})
	h.until("main is red", func(c *speculation.Core) bool { return len(c.Queue(hubQueue).Red) > 0 })
	n := h.land("victim", map[string]string{"api/a": "a\n"})
	h.says(n, "🅿️ Parked: `main` itself is red", "`api`")
	repair := h.land("repair", map[string]string{"api/bad": ""})
	h.landed(repair)
	h.landed(n)
}

// Of several commits pushed past the queue, the one that turned main red is named: to
// whoever asks over HTTP, and on the queue's page.
func TestRedMainNamesItsCulprit(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	h.push("ada", "main", map[string]string{"api/one": "1\n"})
	h.push("ada", "main", map[string]string{"api/bad": "bad\n"})
	h.push("ada", "main", map[string]string{"api/three": "3\n"})
	h.until("the culprit is named", func(c *speculation.Core) bool { return len(c.Blame().Culprits) == 1 })
	h.shows("/api/blame", `"failed_build"`)
	var b api.Blame
	res := must(http.Get("http://" + h.server.Addr() + "/api/blame"))
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&b); err != nil {
		t.Fatal(err)
	}
	if len(b.Hunts) != 1 || len(b.Hunts[0].Culprits) != 1 {
		t.Fatalf("%+v", b)
	}
	x := b.Hunts[0].Culprits[0]
	if x.Author == "" || x.Subject == "" || x.FailedBuild == "" || x.GreenBuild == "" || !slices.Equal(x.Targets, []string{"api"}) || !strings.Contains(b.Text, x.Commit[:10]) {
		t.Errorf("%+v\n%s", x, b.Text)
	}
	line, _, err := h.mirror.History.Past(t.Context(), queue.CommitID(b.Hunts[0].Tip), 3)
	if err != nil {
		t.Fatal(err)
	}
	paths := must(h.mirror.Objects.ChangedPaths(t.Context(), line[slices.IndexFunc(line, func(l mirror.PastCommit) bool { return string(l.Commit) == x.Commit })].Parent, queue.CommitID(x.Commit)))
	if !slices.Contains(paths, "api/bad") {
		t.Errorf("%s changes %v", x.Commit, paths)
	}
	h.shows("/queue?queue="+hubQueue, "Who turned main red")
}
