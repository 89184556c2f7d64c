package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Somebody asks for more while a change is being pushed: that it goes first, in another lane, or
// by another method. The command is accepted. The push does not move main: the command counts.
func TestCommandDuringAPushThatIsLost(t *testing.T) {
	for _, said := range []string{"/land now it burns", "/land priority=high", "/land method=squash"} {
		for _, restart := range []bool{false, true} {
			t.Run(said, func(t *testing.T) {
				rules := config.Rules{}
				rules.Methods, rules.Lanes, rules.DefaultLane = []config.Method{config.MethodMerge, config.MethodSquash}, []config.Lane{{Name: "high", Least: "write"}, {Name: "normal"}}, "normal"
				w := quiet(t, unit, rules)
				w.roles = map[string]string{"boss": "admin"}
				p := w.land(edit{"a/code": "one"})
				w.untilPush()
				w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "outside"}))
				lost := w.mustTake("land")
				w.step(w.say(p, "boss", said))
				w.settleDown()
				if n := w.core.s.Pulls[p.number].Notice; n.Code != "" {
					t.Fatalf("said %+v", n)
				}
				if restart {
					w.mustRestart()
				}
				w.tell(lost...)
				w.settleDown()
				ch := w.change(p)
				switch said {
				case "/land now it burns":
					if ch.Now == nil {
						t.Errorf("it is no emergency: %+v", ch)
					}
				case "/land priority=high":
					if ch.Lane != "high" {
						t.Errorf("it is in lane %q", ch.Lane)
					}
				default:
					if ch.Method != config.MethodSquash {
						t.Errorf("it lands by %q", ch.Method)
					}
				}
				w.waitOut()
				w.mustBe(p, queue.Landed)
			})
		}
	}
}

// Somebody asks for more while a change is being pushed, and another person pushes to it meanwhile.
// The push of main is lost: what was pushed to the change does not land.
func TestCommandAndHeadDuringAPushThatIsLost(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "one"})
	w.untilPush()
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "outside"}))
	lost := w.mustTake("land")
	w.step(w.say(p, "boss", "/land now it burns"))
	w.settleDown()
	moved := w.headMoves(p, edit{"a/code": "two"})
	moved.Body = queue.HeadMoved{Number: p.number, Head: p.head, By: "eve"}
	w.step(moved)
	w.settleDown()
	w.tell(lost...)
	w.waitOut()
	if ch := w.mustBe(p, queue.Cancelled); ch.Reason.Code != queue.ReasonPushed {
		t.Errorf("%+v", ch.Reason)
	}
}
