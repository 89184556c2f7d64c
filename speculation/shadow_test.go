package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// CI runs everything and says only that it failed. Main is red for a; the next commit touches b,
// and its check fails because of a. That commit is not made the culprit of b, and what broke a is
// found all the same.
func TestCulpritInAShadow(t *testing.T) {
	w, pushed := redWorld(t, "ci:exit-code:targets:test:tree", 0, 4, edit{"a/code": "bad"})
	w.settleDown() // the build of a is under way
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "1"}))
	innocent := w.main
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if got := w.accused(innocent); len(got) > 0 {
		t.Errorf("%s is accused of %v, and only a is red", innocent, got)
	}
	if got := w.accused(pushed[0]); len(got) == 0 {
		t.Error("nobody is the culprit of a any more")
	}

	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "heal"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	for _, h := range w.core.Hunts() {
		if h.Lives() {
			t.Errorf("main is green, and the hunt %s goes on", h.ID)
		}
	}
}
