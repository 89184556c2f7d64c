package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// People correct a title that a required check refuses, and a description, while their
// pull request waits for that check: what lands has the words that were let in.
func TestWordsOfWhatWaitsAreItsNewest(t *testing.T) {
	for name, c := range map[string]struct{ rules, title string }{
		"squash": {"method: squash", "feat: a thing (#%d)"},
		"merge":  {"method: merge", "Merge #%d: feat: a thing"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubOptions{files: methods(c.rules)})
			h.asks(forgetest.Protection{RequiredChecks: []string{"title"}})
			n := h.pull("topic", map[string]string{"a": "a\n"})
			h.Redescribe("ann", n, "Todo.")
			h.Comment("ann", n, "/land")
			h.waiting(n, "`title`")
			h.Retitle("ann", n, "feat: a thing")
			h.Redescribe("ann", n, "Why.")
			h.CI.SetCheck("actions", h.Pull(n).Head, "title", "success")
			h.landed(n)
			message, _ := h.tip()
			_, message, _ = strings.Cut(message, "\n")
			if title, _, _ := strings.Cut(message, "\n"); title != fmt.Sprintf(c.title, n) || strings.Contains(message, "Todo.") {
				t.Errorf("main's commit says\n%s", message)
			}
		})
	}
}

// Whoever gives the command once more has the words that the pull request has by then.
func TestWordsOfWhatIsAskedForAgain(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [squash]")})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("ann", n, "/land method=squash")
	h.waiting(n)
	h.seen()
	h.github.HoldWebhooks() // nobody tells of the review
	h.Retitle("ann", n, "Better words")
	h.Review("bob", n, "APPROVED", "", "")
	h.github.ReleaseWebhooks()
	h.Comment("ann", n, "/land")
	h.landed(n, "by squash")
	if message, _ := h.tip(); !strings.Contains(message, fmt.Sprintf("\nBetter words (#%d)\n", n)) {
		t.Errorf("main's commit says\n%s", message)
	}
}

// A change whose merges are made keeps the words that they have, though it waits once more.
func TestWordsOfWhatWasMergedStay(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	review := h.Review("bob", n, "APPROVED", "", "")
	h.Comment("ann", n, "/land")
	h.boarded(n)
	h.DismissReview("max", n, review)
	h.waiting(n, "It has 0 of the 1")
	h.Retitle("ann", n, "Other words")
	h.Review("bob", n, "APPROVED", "", "")
	h.boarded(n)
	h.Comment("max", n, "/queue resume")
	h.landed(n)
	if message, _ := h.tip(); !strings.Contains(message, fmt.Sprintf("\nChange topic (#%d)\n", n)) {
		t.Errorf("main's commit says\n%s", message)
	}
}

// Whoever is named at the end of the description is named at the end of the commit, where
// forges and git look for it. Comments, which templates and programs leave there, are no end.
func TestDescriptionNamesCoAuthors(t *testing.T) {
	const two = "Co-authored-by: Rea <rea@example.org>\r\nSigned-off-by: Ann <ann@example.org>\r\n"
	for name, c := range map[string]struct{ body, want string }{
		"at the end":       {"Why.\r\n\r\n" + two, two},
		"before a comment": {"Why.\r\n\r\n" + two + "\r\n<!-- Made by a program. -->\r\n", two},
		"in a comment":     {"Why.\r\n\r\n<!-- Name those who helped:\r\nCo-authored-by: NAME <name@example.org>\r\n-->\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubOptions{files: methods("method: squash")})
			h.push("ann", "topic", map[string]string{"a": "a\n"})
			n := must(h.Open(forgetest.Pull{Author: "ann", Branch: "topic", Base: "main", Title: "A pair's work", Body: c.body}))
			h.Comment("ann", n, "/land")
			h.landed(n)
			said := git(t, h.Dir(), "log", "-1", "--format=%(trailers:key=Co-authored-by,key=Signed-off-by,unfold)", "main")
			if want := strings.TrimSpace(strings.ReplaceAll(c.want, "\r", "")); said != want {
				t.Errorf("the trailers are\n%s\nwant\n%s", said, want)
			}
			message, _ := h.tip()
			if _, message, _ = strings.Cut(message, "\n"); strings.Count(message, "-by:") != strings.Count(c.want, "-by:") {
				t.Errorf("they are named more than once:\n%s", message)
			}
		})
	}
}
