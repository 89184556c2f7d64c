package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// foundLater is what was said on a pull request some time ago and is heard only now.
func (w *world) foundLater(p *pull, user, text string, ago time.Duration) queue.Event {
	said := w.say(p, user, text)
	b := said.Body.(queue.Commented)
	b.Made, b.Late = w.now.Add(-ago), true
	said.Body = b
	return said
}

// A command that is found later on a member of the forge's own stack counts for no member below
// that may have been pushed to since.
func TestHeardLateOfAStack(t *testing.T) {
	for _, changed := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		low := w.open(w.main, edit{"a/code": "one"})
		low.native = low.number
		high := w.openOn(low, edit{"b/code": "two"})
		high.native = low.number
		if changed {
			low.changed = w.now.Add(-minute)
		}
		w.step(w.foundLater(high, "dev", "/land", time.Hour))
		w.settleDown()
		if ch := w.change(low); (ch == nil) != changed {
			t.Errorf("changed %v, and the member below: %+v", changed, ch)
		}
	}
}
