package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// A push that is ended while the branch is locked leaves no lock: nobody could push to a
// repository on this machine any more.
func TestEndedPushLeavesNoLock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	next := r.commit("next", "next", files{"f": "2"}, base)
	m := r.fetched("main", "next")
	locked, unhook := r.holdsLocks(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := m.Remotes.Push(ctx, r.remote(), "main", base, next)
		ended <- err
	}()
	awaitLock(t, locked, ended)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	unhook()
	if outcome, err := m.Remotes.Push(t.Context(), r.remote(), "main", base, next); err != nil || !outcome.Moved {
		t.Errorf("%+v %v", outcome, err)
	}
}

// holdsLocks makes the repository hold the locks of whatever it moves for as long as the
// push lives. It returns a file that is there once they are held.
func (r *repo) holdsLocks(t *testing.T) (locked string, unhook func()) {
	t.Helper()
	locked = filepath.Join(t.TempDir(), "locked")
	hook := filepath.Join(r.dir, "hooks", "reference-transaction")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nif [ \"$1\" = prepared ]; then touch '"+locked+"'; exec sleep 600; fi\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return locked, func() {
		t.Helper()
		if err := os.Remove(hook); err != nil {
			t.Fatal(err)
		}
	}
}

func awaitLock(t *testing.T, locked string, ended <-chan error) {
	t.Helper()
	for _, err := os.Stat(locked); err != nil; _, err = os.Stat(locked) {
		select {
		case err := <-ended:
			t.Fatalf("the push has ended before it had the lock: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A lock that somebody who was killed has left is taken away, and the push is tried again;
// one that is held stays, however old it is within reason.
func TestLockThatNobodyHoldsIsTakenAway(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("needs /proc to see who works in a repository")
	}
	for _, name := range []string{"refs/heads/main", "HEAD"} {
		r := newRepo(t)
		base := r.commit("main", "base", files{"f": "1"})
		next := r.commit("next", "next", files{"f": "2"}, base)
		m := r.fetched("main", "next")
		lock := filepath.Join(r.dir, filepath.FromSlash(name)+".lock")
		if err := os.WriteFile(lock, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		var transient *forge.Transient
		outcome, err := m.Remotes.Push(t.Context(), r.remote(), "main", base, next)
		if !errors.As(err, &transient) || !strings.Contains(fmt.Sprint(err), "File exists") {
			t.Errorf("%s: a new lock: %+v %v", name, outcome, err)
		}
		if _, err := os.Stat(lock); err != nil {
			t.Errorf("%s: a lock that may be held: %v", name, err)
		}
		old := time.Now().Add(-time.Minute)
		if err := os.Chtimes(lock, old, old); err != nil {
			t.Fatal(err)
		}
		if outcome, err = m.Remotes.Push(t.Context(), r.remote(), "main", base, next); !errors.As(err, &transient) || !strings.Contains(fmt.Sprint(err), "nobody held "+lock) {
			t.Errorf("%s: a stale lock: %+v %v", name, outcome, err)
		}
		if outcome, err = m.Remotes.Push(t.Context(), r.remote(), "main", base, next); err != nil || !outcome.Moved {
			t.Errorf("%s: after it: %+v %v", name, outcome, err)
		}
	}
}

func TestHeldLockStays(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("needs /proc to see who works in a repository")
	}
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	next := r.commit("next", "next", files{"f": "2"}, base)
	m := r.fetched("main", "next")
	locked, unhook := r.holdsLocks(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := m.Remotes.Push(ctx, r.remote(), "main", base, next)
		ended <- err
	}()
	defer func() { cancel(); <-ended }()
	awaitLock(t, locked, ended)
	unhook() // for the second push only
	lock, old := filepath.Join(r.dir, "refs", "heads", "main.lock"), time.Now().Add(-5*time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	var transient *forge.Transient
	if outcome, err := m.Remotes.Push(t.Context(), r.remote(), "main", base, next); !errors.As(err, &transient) {
		t.Errorf("%+v %v", outcome, err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("a lock that is held: %v", err)
	}
}
