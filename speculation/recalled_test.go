package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Somebody asks to land a change, and that is not heard; then to cancel it, and that is. The first
// command is found later: it was taken back.
func TestLandIsFoundAfterItsCancel(t *testing.T) {
	for _, queued := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "one"})
		if queued { // by another person, who was heard
			w.step(w.say(p, "dev", "/land"))
			w.step(w.say(p, "boss", "/queue pause wait"))
			w.settleDown()
		}
		w.step(w.say(p, "dev", "/land cancel"))
		w.settleDown()
		w.step(w.foundLater(p, "dev", "/land", time.Hour))
		w.step(w.say(p, "boss", "/queue resume"))
		w.waitOut()
		if ch := w.change(p); ch != nil && ch.Phase != queue.Cancelled {
			t.Errorf("queued %v: it is %s", queued, ch.Phase)
		}
	}
}
