package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// GitLab tells of a label by a webhook, and the list of labels has it once more, under another
// id. It was heard when it was set, and its change has its verdict by the time at which the list
// is read: nobody is told that it was not heard, and nothing is done again.
func TestLabelThatIsFoundOnceMore(t *testing.T) {
	for _, good := range []string{"fine", "bad"} {
		w := quiet(t, byStep, config.Rules{}, rule{target: "a", all: []string{"bad"}})
		p := w.open(w.main, edit{"a/code": good})
		at := w.now
		w.tell(queue.Labeled{Number: p.number, Label: "land", Actor: "dev", On: true})
		w.waitOut()
		before := w.change(p)
		if before == nil || !before.Phase.Final() {
			t.Fatalf("%+v", before)
		}
		p.changed = w.now // by our own comment, at the latest
		w.tell(queue.Labeled{Number: p.number, Label: "land", Actor: "dev", On: true, Made: at, Late: true})
		w.waitOut()
		if n := w.core.s.Pulls[p.number].Notice; n.Code != "" {
			t.Errorf("%s: dev is told %+v", before.Phase, n)
		}
		if after := w.change(p); after.ID != before.ID {
			t.Errorf("%s: there is another change: %+v", before.Phase, after)
		}
	}
}

// Somebody asks for the landing, and pushes something else long after that, before the forge has
// answered what the head is: nobody has asked to land what was pushed.
func TestPushLongAfterACommandThatWaits(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "dev", "/land"))
	w.mustTake("inspect") // the forge does not answer
	w.now = w.now.Add(20 * time.Minute)
	moved := w.headMoves(p, edit{"a/code": "finer"})
	moved.Body = queue.HeadMoved{Number: p.number, Head: p.head, By: "dev"}
	w.step(moved)
	w.waitOut()
	if n := len(w.core.s.Changes); n > 0 {
		t.Errorf("%+v", w.change(p))
	}
	if why := w.core.s.Pulls[p.number].Notice.Code; why != queue.ReasonPushed {
		t.Errorf("said %q", why)
	}
}

// Commands for the whole queue that were found later are followed in the order in which they were
// given, though GitLab lists them by merge request: a queue that somebody has resumed goes on.
func TestPauseAndResumeThatAreFoundLater(t *testing.T) {
	for _, turns := range []int{1, 2} {
		w := quiet(t, unit, config.Rules{})
		w.roles = map[string]string{"boss": "admin"}
		one, two := w.open(w.main, edit{"a/code": "one"}), w.open(w.main, edit{"b/code": "one"})
		w.settleDown()
		late := func(p *pull, text string, ago time.Duration) queue.Event {
			e := w.say(p, "boss", text)
			b := e.Body.(queue.Commented)
			b.Made, b.Late = e.At.Add(-ago), true
			e.Body = b
			return e
		}
		resume, pause := late(two, "/queue resume", time.Hour), late(one, "/queue pause it burns", 2*time.Hour)
		if turns == 1 {
			w.step(resume, pause)
		} else { // the answer about the first is the last to come
			w.step(pause, resume)
			first := w.mustTake("inspect")
			w.settleDown()
			w.tell(first...)
		}
		w.waitOut()
		if p := w.core.s.Main.Paused; p != nil {
			t.Errorf("it is paused: %+v", p)
		}
	}
}
