package forge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A push that is ended while the branch is locked leaves no lock: nobody could push to a
// repository on this machine any more.
func TestEndedPushLeavesNoLock(t *testing.T) {
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	next := r.commit("next", "next", files{"f": "2"}, base)
	m := r.fetched("main", "next")
	locked := filepath.Join(t.TempDir(), "locked")
	hook := filepath.Join(r.dir, "hooks", "reference-transaction")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nif [ \"$1\" = prepared ]; then touch '"+locked+"'; exec sleep 600; fi\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := m.Push(ctx, r.remote(), "main", base, next)
		ended <- err
	}()
	for _, err := os.Stat(locked); err != nil; _, err = os.Stat(locked) {
		select {
		case err := <-ended:
			t.Fatalf("the push has ended before it had the lock: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	if outcome, err := m.Push(t.Context(), r.remote(), "main", base, next); err != nil || !outcome.Moved {
		t.Errorf("%+v %v", outcome, err)
	}
}
