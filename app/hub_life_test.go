package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// heads names commits in the order in which they are first seen.
type heads struct {
	*hub
	n     int
	known []string
}

// stands waits until the bot's comment begins with a headline and holds texts,
// and until the check runs of all heads so far are these, oldest first:
// "<head> <state> <title up to its colon>".
func (h *heads) stands(headline string, checks []string, texts ...string) {
	h.Helper()
	said := h.says(h.n, append(texts, headline)...)
	if !strings.Contains(strings.SplitN(said, "\n", 2)[0], headline) {
		h.Errorf("the comment begins otherwise than with %q:\n%s", headline, said)
	}
	if head := h.Pull(h.n).Head; !slices.Contains(h.known, head) {
		h.known = append(h.known, head)
	}
	h.quiet()
	var got []string
	for i, head := range h.known {
		for _, c := range h.CI.Checks(head) {
			state := c.Conclusion
			if state == "" {
				state = c.Status
			}
			title, _, _ := strings.Cut(c.Title, ":")
			title, _, _ = strings.Cut(title, " as ") // a commit
			got = append(got, fmt.Sprintf("%d %s %s", i+1, state, title))
			if c.Name != "submitqueue" || c.App != "submitqueue" || c.Summary == "" {
				h.Errorf("a check of another kind: %+v", c)
			}
		}
	}
	if !slices.Equal(got, checks) {
		h.Errorf("%s: the checks are\n%s\nnot\n%s", headline, strings.Join(got, "\n"), strings.Join(checks, "\n"))
	}
}

// silent checks that the bot has said nothing yet.
func (h *heads) silent() {
	h.Helper()
	h.seen()
	h.quiet()
	if w := h.Writes(); len(w) > 0 {
		h.Errorf("the bot spoke unasked: %+v", w)
	}
}

// TestLifeOfAPullRequest goes through all that people do to a pull request. What
// the bot says and shows is asserted after each step; in the end it has said
// nothing else.
func TestLifeOfAPullRequest(t *testing.T) {
	h := &heads{hub: newHub(t, hubOptions{http: true})}
	h.proven()

	// Opened, approved and talked about: nobody asked us.
	h.push("ann", "topic", map[string]string{"bad": "bad\n"})
	h.n = must(h.OpenPull("ann", "topic", "main", "A topic"))
	h.Review("bob", h.n, "APPROVED", "", "Fine.")
	h.Comment("bob", h.n, "Nice. When it lands, tell me.")
	h.Label("ann", h.n, "good-first-issue")
	h.silent()

	// It fails.
	h.Comment("ann", h.n, "/land")
	h.stands("❌ Rejected", []string{"1 failure Rejected"}, "bad is bad", "`test`")

	// What is pushed then is not asked for. It is mended, and waits.
	h.push("ann", "topic", map[string]string{"bad": "", "good": "good\n"})
	h.seen()
	h.stands("❌ Rejected", []string{"1 failure Rejected"})
	h.paused(h.n)
	h.Comment("ann", h.n, "/land")
	h.boarded(h.n)
	h.stands("1st of 1 in the queue", []string{"1 failure Rejected", "2 queued 1st of 1 in the queue"}, "landings are paused")

	// A push takes it out.
	h.push("ann", "topic", map[string]string{"more": "more\n"})
	h.stands("Out of the queue: new commits were pushed", []string{"1 failure Rejected", "2 cancelled Out of the queue"})

	// It is renamed and asked for again, then closed.
	h.Retitle("ann", h.n, "A better topic")
	h.Comment("bob", h.n, "/land")
	h.boarded(h.n)
	h.stands("1st of 1 in the queue", []string{"1 failure Rejected", "2 cancelled Out of the queue", "3 queued 1st of 1 in the queue"}, "asked for by `bob`")
	h.ClosePull("ann", h.n)
	h.stands("Out of the queue: the pull request was closed", []string{"1 failure Rejected", "2 cancelled Out of the queue", "3 cancelled Out of the queue"})

	// Open again, it needs to be asked for anew; a force push takes it out, too.
	h.Reopen("ann", h.n)
	h.seen()
	h.stands("Out of the queue: the pull request was closed", []string{"1 failure Rejected", "2 cancelled Out of the queue", "3 cancelled Out of the queue"})
	h.Comment("ann", h.n, "/land")
	h.boarded(h.n)
	h.stands("1st of 1 in the queue", []string{"1 failure Rejected", "2 cancelled Out of the queue", "3 cancelled Out of the queue", "3 queued 1st of 1 in the queue"})
	forced := must(h.Commit("ann", forgetest.Commit{Branch: "topic", From: "main", Files: map[string]string{"good": "better\n"}}))
	h.stands("Out of the queue: new commits were pushed", []string{"1 failure Rejected", "2 cancelled Out of the queue", "3 cancelled Out of the queue", "3 cancelled Out of the queue"})

	// It passes and lands.
	h.Comment("ann", h.n, "/land")
	h.Comment("max", h.n, "/queue resume")
	h.landed(h.n)
	h.stands("✅ Landed", []string{"1 failure Rejected", "2 cancelled Out of the queue", "3 cancelled Out of the queue", "3 cancelled Out of the queue", "4 success Landed"},
		"asked for by `ann`")
	if got := git(t, h.Dir(), "log", "-1", "--format=%s %P", "main"); !strings.HasPrefix(got, fmt.Sprintf("Merge #%d: A better topic ", h.n)) || !strings.HasSuffix(got, forced) {
		t.Errorf("main is %s", got)
	}
	if got := git(t, h.Dir(), "show", "main:good"); got != "better" {
		t.Errorf("landed: %q", got)
	}

	// One comment, a new one in its place for the rejection, one reaction for each command, and
	// nothing else.
	var kinds = map[string]int{}
	for _, w := range h.Writes() {
		if w.Kind != "check run" && w.Kind != "check run update" && w.Number != h.n {
			t.Errorf("said elsewhere: %+v", w)
		}
		kinds[w.Kind]++
	}
	if kinds["comment"] != 2 || kinds["check run"] != 5 || kinds["label"] != 0 || kinds["pull request"] != 0 {
		t.Errorf("the bot wrote %v", kinds)
	}
	for _, c := range h.Comments(h.n) {
		want := 0
		if strings.HasPrefix(c.Body, "/") {
			want = 1
		}
		if len(c.Reactions) != want || want == 1 && c.Reactions[0] != (forgetest.Reaction{User: "submitqueue[bot]", Content: "eyes"}) {
			t.Errorf("%q has the reactions %v", c.Body, c.Reactions)
		}
	}
	for _, d := range h.github.Deliveries() {
		if d.StatusCode/100 != 2 {
			t.Errorf("%s %s was answered %d", d.Event, d.Action, d.StatusCode)
		}
	}
}
