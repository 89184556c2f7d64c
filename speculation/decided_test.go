package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The head of a verdict is there again, after another one that is in the queue by now. A command from
// before the verdict, which is found later, has had its answer: it enters no head that may have been pushed
// since it was given.
func TestFoundLaterForAnEarlierVerdict(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
	p := w.open(w.main, edit{"a/code": "bad"})
	first := p.head
	said := w.now
	w.now = w.now.Add(minute)
	w.step(w.say(p, "dev", "/land"))
	w.waitOut()
	w.mustBe(p, queue.Rejected)
	w.step(w.say(p, "boss", "/queue pause wait"))
	w.headIsNow(p, edit{"a/code": "fine"})
	w.step(w.say(p, "dev", "/land"))
	w.settleDown()
	p.head, p.changed = first, w.now // somebody pushes by force, and the event is still to come
	w.step(w.foundLater(p, "boss", "/land", w.now.Sub(said)))
	w.settleDown()
	for _, ch := range w.core.s.Changes {
		if ch.Requester == "boss" {
			t.Errorf("%s of %s has come in, %+v", ch.Phase, ch.Head, ch.Reason)
		}
	}
}
