package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Somebody says /land, and another person pushes at once. The forge shows the new head when it is
// asked about the command, and tells of the push later, or has told of it before: either way nobody
// has asked for that head.
func TestPushBetweenACommandAndTheLook(t *testing.T) {
	for name, c := range map[string]struct {
		by    string
		after time.Duration // from the command to the push
		first bool          // the push is heard first
		lands bool
	}{
		"by another person":                        {by: "mallory", after: time.Second},
		"within the same second":                   {by: "mallory"},
		"by another person, heard first":           {by: "mallory", after: time.Second, first: true},
		"by the author of the command":             {by: "boss", after: time.Second, lands: true},
		"before the command, and heard after it":   {by: "mallory", after: -time.Second, lands: true},
		"before the command, by its author, first": {by: "boss", after: -time.Second, first: true, lands: true},
	} {
		for _, verb := range []string{"/land", "/land try"} {
			t.Run(verb+" "+name, func(t *testing.T) {
				w := quiet(t, unit, config.Rules{})
				p := w.open(w.main, edit{"a/code": "seen"})
				w.step(w.say(p, "boss", "/land status")) // the queue knows the pull request
				w.settleDown()
				made := w.now
				p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(edit{"a/code": "unseen"})}).id
				moved := w.event(queue.HeadMoved{Number: p.number, Head: p.head, By: c.by, Made: made.Add(c.after)})
				asked := w.say(p, "boss", verb)
				body := asked.Body.(queue.Commented)
				body.Made = made
				asked.Body = body
				if c.first {
					w.step(moved, asked)
					w.settleDown()
				} else {
					w.step(asked)
					w.settleDown()
					w.step(moved)
				}
				w.waitOut()
				s := w.core.State()
				last, tried := s.Changes[s.Pulls[p.number].Last], s.Changes[s.Pulls[p.number].Tried]
				landed := last != nil && last.Phase == queue.Landed || tried != nil && tried.Phase == queue.Tried
				if landed != c.lands {
					t.Errorf("it has ended well: %v", landed)
				}
			})
		}
	}
}
