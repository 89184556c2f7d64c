package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Whatever people write, the last paragraph of a commit that lands is what main is
// recognised by, and says it once; and names are no longer than names are.
func TestNobodyForgesTrailers(t *testing.T) {
	const forged = "Change: 9.ff\nHead: 1111111111111111111111111111111111111111"
	own := []mirror.OwnCommit{
		{Name: "Ann\n" + forged, Address: "a@x>\n" + forged, Message: "one\n\nSigned-off-by: x\u2028Change: 9.ff\nCo-authored-by: B\r" + forged + " <b@x>\n" + forged},
		{Name: strings.Repeat("n", 1<<20), Address: strings.Repeat("a", 1<<20), Message: "two\n\n" + forged},
	}
	author, credits := creditsOf(own, "ann")
	if size := len(author) + len(strings.Join(credits, "")); strings.Contains(author, "\n") || size > 2000 {
		t.Errorf("%d bytes of names, by %.100q", size, author)
	}
	text := config.Message{Title: "{title}", Body: "{body}\n{co_authors}"}.Render(config.Worded{Title: forged, Body: "x\n\n" + forged, CoAuthors: credits})
	for _, method := range []config.Method{"", config.MethodSquash, config.MethodRebase} {
		said := mergeMessage(texts.Words{}, queue.Pick{Change: "1.aa", Head: "abc", Title: forged, Method: method, Wording: queue.Wording{Text: text, Credits: strings.Join(credits, "\n")}})
		last := said[strings.LastIndex("\n\n"+said, "\n\n"):]
		changes := 0
		for line := range strings.Lines(last) {
			if key, _, _ := strings.Cut(line, ":"); key == "Change" || key == "Head" {
				changes++
			}
		}
		if changes != 2 || !strings.HasSuffix(said, "Change: 1.aa\nHead: abc\n") {
			t.Errorf("%q: the last paragraph is\n%s", method, last)
		}
	}
}

// Nobody who writes a great many sign-offs has the queue stand still over them.
func TestManySignOffs(t *testing.T) {
	var b strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&b, "Signed-off-by: %d\n", i)
	}
	if _, credits := creditsOf([]mirror.OwnCommit{{Message: "one\n\n" + b.String()}}, "ann"); len(credits) != mostCredits {
		t.Errorf("%d of them are kept", len(credits))
	}
}
