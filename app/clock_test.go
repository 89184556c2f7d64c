package app_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// A replica whose clock runs hours ahead takes in a command. The owner's time stays
// its own, so that deadlines pass as they should.
func TestReplicaWhoseClockRunsAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": "version: 1\nsteps:\n  - {name: test, run: 'true', timeout: 1m}\n", "a": "a\n"})
	r.branch("topic", "main", map[string]string{"b": "b\n"})
	n := must(r.forge.Open(t.Context(), "topic", "ann"))
	mustNot(t, r.store.Append(t.Context(), rigQueue, queue.Event{ID: "ahead", At: queue.At(time.Now().Add(5 * time.Hour)),
		Body: queue.Commented{Number: n, Comment: "ahead", Author: "ann", Body: "/land"}}))
	v := r.until(n, "landed", func(v queue.View) bool { return v.Change.Phase == queue.Landed })
	if now := queue.At(time.Now()); v.Change.Arrival > now || v.Change.Decided > now {
		t.Errorf("it arrived %v and landed %v from now", v.Change.Arrival.Sub(now), v.Change.Decided.Sub(now))
	}
}
