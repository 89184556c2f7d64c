package speculation

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/config"
)

// TestAnyHistoryOfRollups is TestAnyHistory where rollups are likely: many
// changes of few targets wait for one slot or two, and are taken to be good. The
// same must hold under any events of the members and of main.
func TestAnyHistoryOfRollups(t *testing.T) {
	together := 0
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.rules.Batch, h.rules.BatchMax = config.BatchRollup, 2+h.pick(3, "most")
		h.rules.Quotas = nil
		h.core.facts.Beliefs.Ask(trusting{})
		h.relation(0)
		h.begin(1 + h.pick(2, "slots"))
		words := []string{"p", "q", "r", "bad", "heal", "danger", "ugly", "-base", "deleted"}
		for i := range 3 + h.pick(4, "pulls") {
			e := edit{fileOf(h.targets[h.pick(2, "target")]): fmt.Sprint("own", i)}
			if h.chance(30, "a word") {
				e[fileOf(h.targets[h.pick(2, "target")])] += " " + words[h.pick(len(words), "word")]
			}
			if h.chance(5, "text") {
				e["x/a"] = fmt.Sprint("text", i)
			}
			h.step(h.say(h.open(h.main, e), "dev", "/land"))
		}
		h.settleDown()
		for range rapid.IntRange(0, 15).Draw(rt, "events") {
			h.happen()
		}
		h.calm()
		h.audit.final()
		for _, c := range h.line(h.main) {
			if len(c.also) > 0 {
				together++
			}
		}
	})
	t.Logf("%d merges of several changes have landed", together)
}
