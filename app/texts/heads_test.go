package texts_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// The history and the proof name the results of a change's own head.
func TestWhatIsSaidOfHeads(t *testing.T) {
	for what, c := range map[string]struct {
		names []string
		want  string
	}{
		"head-proven":  {[]string{"1"}, "Passed on its own head: 1 check of the head's tree counts wherever the branch with it has the same"},
		"head-doubted": {[]string{"unit", "ci.yml: it uses\na cache", "", "no configuration"}, "The passes on its own head do not count: step unit: ci.yml: it uses a cache; no configuration"},
	} {
		title, more := texts.Words{}.Note(queue.Change{}, queue.Note{What: what, Reason: queue.Reason{Names: c.names}})
		if got := title + ": " + more; got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	for want, v := range map[string]queue.Verdict{
		"all 4 checks (a step on a target) had passed on other commits at exactly this content, by the CI of pull requests on their own heads, and in no build": {Keys: 4, Heads: 4},
		"on other commits at exactly this content, 3 of them by the CI of pull requests on their own heads, 1 in builds made for something else.":               {Keys: 4, Heads: 3, Reused: 1},
		"on other commits at exactly this content, 3 of them by the CI of pull requests on their own heads.":                                                    {Keys: 4, Heads: 3},
		"this very commit was tested; of its 4 checks, 3 had passed before":                                                                                     {Keys: 4, Heads: 2, Reused: 1, Tested: true},
	} {
		got := texts.Comment(queue.View{Change: queue.Change{Number: 7, Phase: queue.Landed, Reason: queue.Reason{Code: queue.ReasonLanded}, Ending: queue.Ending{Verdict: &v}}}, textOptions())
		if !strings.Contains(got, want) {
			t.Errorf("%+v: %s", v, got)
		}
	}
}
