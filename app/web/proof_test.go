package web_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
)

// The page of a landed change claims no proof that there was not: the forge may have merged
// it where somebody else had pushed meanwhile, and a change may add no check.
func TestPageClaimsNoProofThatThereIsNot(t *testing.T) {
	for want, verdict := range map[string]queue.Verdict{
		"Not proven":              {ByForge: true, Unproven: true},
		"It adds nothing that a ": {},
		"The check that it added": {Keys: 1},
	} {
		q := busyQueue()
		v := q.Order[2]
		v.Change.Phase, v.Change.Reason = queue.Landed, queue.Reason{Code: queue.ReasonLanded}
		verdict.Commit = "c0ffee"
		v.Change.Verdict = &verdict
		var page strings.Builder
		if err := web.New(web.Options{Words: words{}}).Change(&page, web.Change{Queue: q, View: v}, noon()); err != nil {
			t.Fatal(err)
		}
		if text := page.String(); !strings.Contains(text, want) || strings.Contains(text, "Each of the 0 checks") {
			t.Errorf("no %q on the page, or a proof of nothing: %t", want, strings.Contains(text, "Each of the 0 checks"))
		}
	}
}
