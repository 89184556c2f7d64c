package texts_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// What a change is on top of is said with the stack of GitHub's, where only GitHub can
// change what it asks for.
func TestOnTop(t *testing.T) {
	w := texts.Words{Branch: "main"}
	for want, b := range map[string]queue.Basis{
		"": {Stack: 7},
		"It is on top of #3: it lands after that one, and not without it.":                                    {Parent: 3, Base: "low"},
		"It is on top of #3, in GitHub's stack 7: it lands after that one, once GitHub has moved it to main.": {Parent: 3, Base: "low", Stack: 7},
	} {
		if got := w.OnTop(queue.Change{Basis: b}); got != want {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
	}
}

// GitLab's merge requests are !7 there: #7 is an issue.
func TestNumbersAsTheForgeWritesThem(t *testing.T) {
	r := queue.Reason{Code: queue.ReasonWaitsAhead, Names: []string{"12.ab", "3.cd"}}
	for mark, want := range map[string]string{"": "#12", "!": "!12"} {
		w := texts.Words{Mark: mark}
		if got := w.Reason(queue.Change{}, r); !strings.Contains(got, want) {
			t.Errorf("the mark %q: %s", mark, got)
		}
		if got := w.Notice(queue.Change{}, queue.Note{Change: "12.ab", Number: 12}); !strings.HasPrefix(got, want+". ") {
			t.Errorf("the mark %q: %s", mark, got)
		}
	}
}
