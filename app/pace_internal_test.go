package app

import (
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// A verdict is told before anything else, and what has no news after all else.
func TestVerdictsAreToldFirst(t *testing.T) {
	p := &pacer{told: map[int]telling{7: {gist: "building"}}}
	for what, c := range map[string]struct {
		say  forge.Publication
		gist string
		want forge.Urgency
	}{
		"a verdict":         {forge.Publication{Number: 7, Ended: true}, "landed", forge.Urgently},
		"news":              {forge.Publication{Number: 7}, "parked", forge.Usually},
		"progress":          {forge.Publication{Number: 7}, "building", forge.Patiently},
		"the first message": {forge.Publication{Number: 8}, "building", forge.Usually},
	} {
		if got := forge.UrgencyOf(p.urgently(t.Context(), c.say, c.gist)); got != c.want {
			t.Errorf("%s is told with urgency %d, want %d", what, got, c.want)
		}
	}
}

// What becomes known of a landing after it was told is news: the comment has said otherwise,
// and nothing comes after it that would have it written again. The forge's word that it shows
// a pull request as closed comes then, and the event of a branch that we have moved may.
func TestWhatIsKnownLateOfALandingIsNews(t *testing.T) {
	s := queue.NewState("main")
	s.Pulls[1] = &queue.Pull{Number: 1, Last: "1.aa"}
	ch := &queue.Change{ID: "1.aa", Number: 1, Phase: queue.Landed}
	ch.Verdict = &queue.Verdict{Commit: "c"}
	s.Changes[ch.ID] = ch
	core := speculation.New(s)
	before, _ := gistOf(core, 1)
	for _, v := range []queue.Verdict{{Commit: "c", Along: true}, {Commit: "c", Along: true, Closed: true}, {Commit: "c", ByForge: true}} {
		ch.Verdict = &v
		now, _ := gistOf(core, 1)
		if now == before {
			t.Errorf("the comment is not written again for %+v: %s", v, now)
		}
		before = now
	}
}
