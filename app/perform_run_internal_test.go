package app

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// A head that has moved on to where the mirror does not know it yet is no reason
// not to build.
func TestHeadThatCannotBeCompared(t *testing.T) {
	clone, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer clone.Close()
	s := queue.NewState("main")
	s.Changes["1"] = &queue.Change{ID: "1", Head: "1111111111111111111111111111111111111111"}
	o := NewOwner(OwnerOptions{Mirror: clone, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	o.publishCore(speculation.New(s))
	p := newPerformer(o, ownership{}).passes
	b := &queue.Build{Change: "1", Commit: "2222222222222222222222222222222222222222", Jobs: []queue.Job{{Step: config.Step{Checks: []config.Check{{Name: "test"}}, Earlier: config.EarlierCount}}}}
	if err := p.sameTree(t.Context(), b); err != nil || b.Same != "" {
		t.Errorf("%q, %v", b.Same, err)
	}
}
