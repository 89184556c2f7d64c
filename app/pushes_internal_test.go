package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Whether a pull request's branch has come along is known when its push has ended,
// which whoever speaks of a landing waits for.
func TestLandingIsSaidWhenItsPushHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerformer(NewOwner(OwnerOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)}), ownership{}).pushes
		squashed := func() *queue.Change {
			return &queue.Change{ID: "7.head", Phase: queue.Landed, Manner: queue.Manner{Method: config.MethodSquash}, Ending: queue.Ending{Verdict: &queue.Verdict{}}}
		}
		if ch := squashed(); p.seeMoved(t.Context(), ch) != nil || ch.Verdict.Along {
			t.Error("without a push: it waits, or the branch has moved")
		}
		end := p.begin([]queue.ChangeID{"6.head", "7.head"})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.seeMoved(ctx, squashed()); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled, it says %v", err)
		}
		ch, said := squashed(), make(chan error, 1)
		before := ch.Verdict
		go func() { said <- p.seeMoved(t.Context(), ch) }()
		synctest.Wait()
		if len(said) > 0 {
			t.Fatal("it does not wait for the push")
		}
		p.alongMoved([]queue.ChangeID{"7.head"})
		end()
		if err := <-said; err != nil || !ch.Verdict.Along || before.Along {
			t.Errorf("after the push: %v, %+v; the state's own was %+v", err, ch.Verdict, before)
		}
		p.begin([]queue.ChangeID{"6.head", "7.head"})
		if err := p.seeMoved(t.Context(), squashed()); err != nil {
			t.Errorf("a push without an end: %v", err)
		}
		merged, other := squashed(), squashed()
		merged.Method, other.ID = config.MethodMerge, "5.head"
		at := time.Now()
		if err := errors.Join(p.seeMoved(t.Context(), merged), p.seeMoved(t.Context(), other)); err != nil || time.Since(at) > 0 {
			t.Errorf("a merge, which needs no branch moved, and what landed before wait %s: %v", time.Since(at), err)
		}
	})
}
