package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// asked counts how often it is asked where its repository is.
type asked struct {
	forge.Forge
	times atomic.Int32
}

func (*asked) Capabilities() forge.Capabilities { return forge.Capabilities{} }

func (f *asked) Remote(context.Context) (forge.Remote, error) {
	f.times.Add(1)
	return forge.Remote{}, errors.New("nowhere")
}

// What is no longer wanted while it waits for its turn is not begun: many that
// end at once would all be carried out together.
func TestWhatEndsBeforeItsTurnIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &asked{}
		p := newPerformer(NewOwner(OwnerOptions{Forge: f, Now: time.Now, Log: slog.New(slog.DiscardHandler)}), ownership{})
		for range cap(p.places[inGit]) {
			p.places[inGit] <- struct{}{}
		}
		p.launch(t.Context(), []*queue.Action{{Key: "one", Task: queue.Observe{}}})
		synctest.Wait() // it waits for its turn
		p.end([]string{"one"})
		p.wait()
		if n := f.times.Load(); n != 0 {
			t.Errorf("begun %d times", n)
		}
	})
}
