package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// During a push main is to be surveyed, and another server has taken over that does not know the
// version of the analyzer in force: it is not asked again and again until the push has its answer.
func TestSurveyByAnotherVersionDuringAPush(t *testing.T) {
	w := versioned(t, unit)
	p := w.land(edit{"a/code": "fine"})
	w.mustReachPush()
	pushed := w.mustTake("land")
	w.versions = []string{"go/2"}
	w.mustRestart()
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue forget target=b"))
	surveys, began := 0, w.now
	for range 200 {
		if len(w.waits) == 0 {
			break
		}
		if _, is := w.waits[0].Task.(queue.Survey); is {
			surveys++
			w.now = max(w.now, w.waits[0].NotBefore)
		}
		if _, is := w.waits[0].Task.(queue.Land); is {
			w.waits = w.waits[1:]
			continue
		}
		w.now++
		w.work(0)
	}
	if took := w.now.Sub(began); surveys > 20 && took < 5*minute {
		t.Errorf("%d surveys in %v", surveys, took)
	}
	w.tell(pushed...)
	w.waitOut()
	w.mustBe(p, queue.Landed)
}
