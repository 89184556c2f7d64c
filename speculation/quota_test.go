package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Many changes above their quota do not keep others from being planned for,
// whether slots are lent or not.
func TestQuotaKeepsTheWindow(t *testing.T) {
	for _, when := range []config.When{config.WhenAlways, config.WhenContended} {
		l := law{needs: map[string][]string{}}
		files := tree{barrier: "go1", unowned: "data", stepsFile: unit}
		for i := range 20 {
			l.targets = append(l.targets, fmt.Sprintf("t%02d", i))
			files[fileOf(l.targets[i])] = "base"
		}
		w := newWorld(t, l, files, rulesOf(config.Rules{Quotas: []config.Quota{{Name: "bots", Authors: []string{"bot"}, Builds: 1, When: when}}}))
		w.tell(queue.Capacity{Slots: 2})
		w.quiesce()
		for i, target := range l.targets {
			p := w.open(w.main, edit{fileOf(target): "fine"})
			if i < len(l.targets)-1 {
				p.author = "bot"
			}
			w.now = w.now.Add(time.Second)
			w.step(w.say(p, "dev", "/land"))
		}
		w.settleDown()
		if when == config.WhenContended { // both slots were lent before the last one was there
			w.tell(w.advance(w.going()[0])...)
			w.settleDown()
		}
		last := w.change(w.pulls[len(l.targets)])
		if !slices.ContainsFunc(w.going(), func(r *run) bool { return r.build.Change == last.ID }) {
			t.Errorf("%s: the change behind those of the bot is not built: %v", when, w.waitsOf(last.ID))
		}
	}
}
