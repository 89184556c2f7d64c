package app_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/queue"
)

// A branch is asked to land while no queue takes that in, and is pushed to: what lands is
// what was asked for, or nothing. That is so of what the forge remembers, and of a
// command that was stored.
func TestPushedBeforeItWasTakenIn(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"the forge remembers": false, "the command is stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "true\n"})
			before := r.main()
			r.stop()
			r.branch("topic", "main", map[string]string{"a": "seen\n"})
			f := must(local.New(t.Context(), r.bare, "main"))
			n := must(f.Open(t.Context(), "topic", "ann"))
			r.branch("topic", "main", map[string]string{"a": "unseen\n"})
			if stored {
				mustNot(t, r.store.Append(t.Context(), rigQueue, queue.Event{ID: "asked", At: queue.At(time.Now()),
					Body: queue.Commented{Number: n, Comment: forge.RequestComment(n, queue.PlainLand), Author: "ann", Body: "/land"}}))
			}
			r.start()
			r.until(n, "refused", func(v queue.View) bool { return v.Notice.Code == queue.ReasonPushed })
			if got := r.main(); got != before {
				t.Errorf("main has moved to %s", git(t, r.bare, "log", "--oneline", "-3", "main"))
			}

			// It is heard that the branch has moved, and the command comes after that; the
			// request may have ended by now, since it was refused.
			tip := queue.CommitID(git(t, r.bare, "rev-parse", "topic"))
			mustNot(t, r.store.Append(t.Context(), rigQueue, queue.Event{ID: "moved", At: queue.At(time.Now()), Body: queue.HeadMoved{Number: n, Head: tip}}))
			r.say(n, "/land")
			r.until(n, "refused again", func(v queue.View) bool {
				return v.Notice.Code == queue.ReasonForge || v.Notice.Code == queue.ReasonNotOpen
			})

			n = must(f.Open(t.Context(), "topic", "ann")) // at what it is now
			mustNot(t, f.Stop())
			r.say(n, "/land")
			if ch := r.verdict(n); ch.Phase != queue.Landed {
				t.Errorf("asked for again: %s, %+v", ch.Phase, ch.Reason)
			}
		})
	}
}
