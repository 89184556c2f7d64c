package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// Two labels of a rule are taken off while its change is being pushed, and one is put back. The push
// is lost: the other one is still off, so the change does not land.
func TestTwoLabelsOffDuringAPushThatIsLost(t *testing.T) {
	for _, back := range []string{"ready", "extra", "both"} {
		t.Run(back, func(t *testing.T) {
			rules := autoRules("high")
			rules.Auto[0].Labels = []string{"ready", "extra"}
			w := quiet(t, unit, rules)
			p := w.open(w.main, edit{"a/code": "one"})
			p.labels = []string{"ready", "extra"}
			w.tell(w.offer(p))
			w.untilPush()
			w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
			lost := w.mustTake("land")
			p.labels = nil
			w.tell(queue.Labeled{Number: p.number, Label: "ready", Actor: "dev"}, queue.Labeled{Number: p.number, Label: "extra", Actor: "dev"}, w.offer(p))
			w.settleDown()
			for _, l := range []string{"ready", "extra"} {
				if back == l || back == "both" {
					p.labels = append(p.labels, l)
					w.tell(queue.Labeled{Number: p.number, Label: l, On: true, Actor: "dev"}, w.offer(p))
				}
			}
			w.settleDown()
			w.tell(lost...)
			w.waitOut()
			if ch := w.change(p); (ch.Phase == queue.Landed) != (back == "both") {
				t.Errorf("%s %+v", ch.Phase, ch.Reason)
			}
		})
	}
}
