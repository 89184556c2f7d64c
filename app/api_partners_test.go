package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// partnered is a small queue in which #8 and #9 have #7, whose title is hostile,
// as partner, and #5 has landed with it.
func partnered() queue.QueueView {
	v := smallQueue()
	rollup := queue.View{Change: queue.Change{ID: "8.cccccccc", Number: 8, Title: "Eight", Phase: queue.Pending}, Rollup: []queue.ChangeID{"7.aaaaaaaa", "9.dddddddd"}}
	shares := queue.View{Change: queue.Change{ID: "9.dddddddd", Number: 9, Title: "Nine", Phase: queue.Pending},
		Builds: []queue.BuildView{{Build: queue.Build{ID: "b2", Change: "9.dddddddd", Also: []queue.ChangeID{"7.aaaaaaaa"}}}}}
	v.Order = append(v.Order, rollup, shares)
	v.Recent[0].Phase, v.Recent[0].Reason = queue.Landed, queue.Reason{Code: queue.ReasonLanded}
	v.Recent[0].Verdict = &queue.Verdict{Commit: "beef", Together: []queue.ChangeID{"7.aaaaaaaa"}}
	return v
}

// TestAPINamesPartners holds that a change, alone and in a list, has those it is
// built or lands with, as data and in the words of the comment.
func TestAPINamesPartners(t *testing.T) {
	w := newWindow(t, nil)
	w.source.set(partnered())
	want := map[int]*api.Partners{
		7: nil,
		8: {Rollup: []string{"7.aaaaaaaa", "9.dddddddd"}, Text: "Many changes wait for few builds, so it is built with #7 and #9 and is to land together with them in one merge. " +
			"Each has its own verdict: if that merge fails, it is split until it is known through whom."},
		9: {Shares: []string{"7.aaaaaaaa"}, Text: "It shares a build with #7. Each has its own verdict, and lands by itself."},
		5: {Rollup: []string{"7.aaaaaaaa"}, Text: "It landed together with #7 in one merge; the checks are of that merge."},
	}
	_, _, body := w.get(t, "/api/changes")
	for _, listed := range mustDecode[[]api.Change](t, body) {
		_, _, body = w.get(t, "/api/change?id="+listed.ID)
		for _, ch := range []api.Change{listed, mustDecode[api.Change](t, body)} {
			if diff := cmp.Diff(want[ch.Number], ch.Partners); diff != "" {
				t.Errorf("#%d (-want +got):\n%s", ch.Number, diff)
			}
		}
		delete(want, listed.Number)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// TestServerPageNamesPartners holds that a change's page says the same, with the
// partners' titles as text.
func TestServerPageNamesPartners(t *testing.T) {
	w := newWindow(t, nil)
	w.source.set(partnered())
	for id, want := range map[string]string{"8": "is to land together with them in one merge", "9": "It shares a build with #7.", "5": "It landed together with #7 in one merge"} {
		_, _, page := w.get(t, "/change?id="+id)
		if !strings.Contains(page, want) || !strings.Contains(page, `title="&lt;script&gt;alert(1)`) || strings.Contains(page, hostileTitle) {
			t.Errorf("the page of #%s, which is to hold %q and #7's title:\n%s", id, want, page)
		}
	}
}
