package app_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// A server packs its mirror when there are many packs, without waiting for its hour.
func TestMirrorIsPackedWhenItIsCrowded(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.proven()
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n)
	tip := queue.CommitID(h.Head("main"))
	head := queue.CommitID(h.push("ann", "other", map[string]string{"b": "b\n"}))
	remote := must(h.adapter.Remote(t.Context()))
	mustNot(t, h.mirror.Remotes.FetchHead(t.Context(), remote, "refs/heads/other", head))
	packs := func() int {
		return len(must(filepath.Glob(filepath.Join(h.mirror.Dir(), "objects", "pack", "*.pack"))))
	}
	most := 0
	for i := range 120 {
		var picks []mirror.Pick
		for k := range 4 {
			picks = append(picks, mirror.Pick{Parent: tip, Head: head, Message: fmt.Sprintf("%d, %d", i, k)})
		}
		must(h.mirror.Merges.MergeWave(t.Context(), picks))
		mustNot(t, h.mirror.Objects.Flush(t.Context()))
		most = max(most, packs())
	}
	limit, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for packs() >= 40 {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%d packs stay", packs())
		}
	}
	if most < 50 {
		t.Errorf("there were %d packs at most, which are few", most)
	}
	h.landed(n)
}
