package texts_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// An explanation says each thing once: in the comment, and for the command line.
func TestExplanationsSayNothingTwice(t *testing.T) {
	v := textStates()["explain"]
	v.Change.URL = "" // plain numbers
	v.Ahead = append(v.Ahead, "13.bb", "14.cc")
	v.Conflicts = append(v.Conflicts, queue.Conflict{With: "13.bb", Kind: queue.ConflictClash, Witnesses: []string{"go.sum"}},
		queue.Conflict{With: "15.dd", Kind: queue.ConflictReadWrite, Witnesses: []string{"./tax"}}, queue.Conflict{With: "16.ee", Kind: queue.ConflictClash})
	v.Waits = append([]queue.Reason{{Code: queue.ReasonPaused, Names: []string{"carol"}, Detail: "release"}}, v.Waits...)
	v.Builds[0].Build.Chain = nil // else its line names #12, too
	plain := textOptions()
	plain.BaseURL = "" // no links
	for where, text := range map[string]string{
		"comment": texts.Comment(v, plain), "command line": strings.Join(texts.Words{}.Answer(v), "\n"),
	} {
		text = strings.ReplaceAll(text, "`", "")
		for _, part := range []string{
			"#12", "#13", "#14", "#15", "#16", "./core", "./tax", "go.sum", "carol",
			"Waits for #12, ahead of it: both change ./core", "Waits for #14, ahead of it", "#15, behind it: one starts to depend on",
			"It does not merge with #13", "Behind it, and they do not merge with it: #16",
		} {
			if n := strings.Count(text, part); n != 1 {
				t.Errorf("the %s says %q %d times:\n%s", where, part, n, text)
			}
		}
	}
	v.Waits, v.Ahead, v.Builds, v.Conflicts, v.Outlook = nil, nil, nil, nil, queue.Outlook{}
	if got := (texts.Words{}).Answer(v); len(got) != 1 {
		t.Errorf("of what nothing is known: %q", got)
	}
}
