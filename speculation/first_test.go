package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

const unit = "unit:go-test-json:targets:test"

func plain(targets ...string) (law, tree) {
	l := law{targets: targets, needs: map[string][]string{}}
	t := tree{stepsFile: unit, barrier: "go1", unowned: "data"}
	for _, n := range targets {
		t[fileOf(n)] = "base"
	}
	return l, t
}

func TestOneChangeLands(t *testing.T) {
	l, files := plain("a", "b")
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	defer func() {
		for _, x := range w.log {
			t.Log(x)
		}
	}()
	w.begin(4)
	p := w.open(w.main, edit{"a/code": "new"})
	w.step(w.say(p, "dev", "/land"))
	w.waitOut()
	w.audit.final()
	if got := w.change(p).Phase; got != queue.Landed {
		t.Errorf("phase = %s", got)
	}
}
