package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// TestAPIExplains holds that explanations are data at the API, and that lists
// have the plan's answer without what is believed.
func TestAPIExplains(t *testing.T) {
	w := newWindow(t, nil)
	v := smallQueue()
	v.Trust = queue.Trust{Accuracy: 0.9, Threshold: 0.25, Single: 0.3}
	x := queue.Worth{Kind: queue.WorthFlip, Needed: 0.5, Odds: 0.25, Aging: 2, Lane: 1, Project: 4, Threshold: 0.3, Rank: 2, Rivals: 3, Running: 1, Slots: 4, Fails: 1,
		Assumes: []queue.Assumption{{Change: "5.bbbbbbbb", Chance: 0.2, Flipped: true}}, Least: []queue.Need{{Target: hostileTitle, Chance: 0.4}}, Covers: queue.Coverage{Asked: 1, Left: 2}}
	c := &v.Order[0]
	c.Builds[0].Build.Worth, c.Builds[0].Build.Why, c.Builds[0].Build.Value = x, "", 1
	until := queue.At(noon().Add(time.Minute))
	next := queue.Next{Code: queue.ReasonWaitsTime, Until: until, For: []queue.ChangeID{"5.bbbbbbbb"}}
	c.Outlook = queue.Outlook{Next: next}
	c.Waits = append(c.Waits, next.Reason())
	w.source.set(v)
	w.source.notes = []queue.Note{{At: queue.At(noon()), Change: "7.aaaaaaaa", Number: 7, What: "build-asked", Build: "b1", Worth: x}}

	want := api.Worth{Kind: "flip", Value: 1, Threshold: 0.3, Rank: 2, Rivals: 3, Running: 1, Slots: 4, Fails: 1,
		Parts: []api.Part{{Name: "needed", Factor: 0.5, Text: "chance that its results decide it"}, {Name: "odds", Factor: 0.25, Text: "odds against the likeliest future"},
			{Name: "aging", Factor: 2, Text: "has waited 1 h"}, {Name: "project", Factor: 4, Text: "benefit of its project"}},
		Assumes: []api.Assumption{{Change: "5.bbbbbbbb", Chance: 0.2, Flipped: true}}, Least: []api.Need{{Target: hostileTitle, Chance: 0.4}},
		Covers: api.Coverage{Asked: 1, Left: 2}, Coverage: "1 of 3 targets (2 unlikely to be needed)"}
	_, _, body := w.get(t, "/api/queue?full=1")
	q := mustDecode[api.Queue](t, body)
	if diff := cmp.Diff(api.Trust{Accuracy: 0.9, Threshold: 0.25, Single: 0.3}, q.Trust); diff != "" {
		t.Errorf("trust:\n%s", diff)
	}
	got := q.Order[0]
	if diff := cmp.Diff(&want, got.Builds[0].Worth); diff != "" || got.Builds[0].Why != "in case #5 does not land" {
		t.Errorf("%q, worth:\n%s", got.Builds[0].Why, diff)
	}
	if got.Outlook != nil || got.Next == nil || got.Next.Reason.Code != "early" || !got.Next.Reason.Until.Equal(until.Time()) || got.Next.For[0] != "5.bbbbbbbb" ||
		!got.Waits[1].Until.Equal(until.Time()) {
		t.Errorf("outlook %+v, next %+v, waits %+v", got.Outlook, got.Next, got.Waits)
	}
	_, _, body = w.get(t, "/api/history?id=7")
	if n := mustDecode[[]api.Note](t, body)[0]; n.Text != "in case #5 does not land" || cmp.Diff(&want, n.Worth) != "" {
		t.Errorf("note %+v", n)
	}

	c.Outlook = queue.Outlook{Chance: 0.9, Arrived: 0.8, Good: 0.95, Tested: 1, Targets: 2, Ahead: []queue.Rival{{Change: "5.bbbbbbbb", Chance: 0.7, Ends: until, Red: 0.1, Shared: 1}},
		Pairs: []queue.Pair{{With: "5.bbbbbbbb", Chance: 0.1, Landed: true}}, Doubts: []queue.Suspect{{Pair: "5.bbbbbbbb", Chance: 0.2, Others: []queue.ChangeID{"4.cc"}}}, Trust: v.Trust}
	w.source.set(v)
	_, _, body = w.get(t, "/api/change?id=7")
	outlook := api.Outlook{Chance: 0.9, Arrived: 0.8, Good: 0.95, Tested: 1, Targets: 2, Ahead: []api.Rival{{Change: "5.bbbbbbbb", Chance: 0.7, Ends: until.Time(), Red: 0.1, Shared: 1}},
		Pairs: []api.Pair{{With: "5.bbbbbbbb", Chance: 0.1, Landed: true}}, Doubts: []api.Suspect{{Pair: "5.bbbbbbbb", Chance: 0.2, Others: []string{"4.cc"}}},
		Trust: api.Trust{Accuracy: 0.9, Threshold: 0.25, Single: 0.3}}
	if diff := cmp.Diff(&outlook, mustDecode[api.Change](t, body).Outlook); diff != "" {
		t.Errorf("outlook:\n%s", diff)
	}
}
