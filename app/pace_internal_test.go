package app

import (
	"testing"

	"github.com/submitqueue/submitqueue/forge"
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
