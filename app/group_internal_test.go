package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// wreck is a forge that panics when it is asked where its repository is.
type wreck struct{ forge.Forge }

func (wreck) Capabilities() forge.Capabilities { return forge.Capabilities{} }

func (wreck) Remote(context.Context) (forge.Remote, error) { panic("wrecked") }

// What panics while a group is merged fails each of its actions, and the process
// lives.
func TestMergingThatPanicsFailsTheGroup(t *testing.T) {
	m, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p := newPerformer(NewOwner(OwnerOptions{Forge: wreck{}, Mirror: m, Now: time.Now, Log: slog.New(slog.DiscardHandler)}), ownership{})
	p.launch(t.Context(), []*queue.Action{
		{Key: "one", Task: queue.Resolve{Picks: []queue.Pick{{Number: 1}}}},
		{Key: "two", Task: queue.Analyze{Pick: queue.Pick{Number: 2}}},
	})
	p.wait()
	failed := map[string]bool{}
	for range 2 {
		if f, ok := (<-p.owner.events).Body.(queue.Failed); ok && strings.Contains(f.Error, "wrecked") {
			failed[f.Action] = true
		}
	}
	if !failed["one"] || !failed["two"] {
		t.Errorf("failed: %v, want both actions", failed)
	}
}
