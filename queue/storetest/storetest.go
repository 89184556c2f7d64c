// Package storetest is the conformance suite of queue.Store, queue.Archive, queue.Feed and
// queue.Past. Every store passes it, and a store promises no more than it tests.
package storetest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Harness is a store under test, empty at first. It is a queue.Archive, a queue.Feed and a queue.Past, too.
type Harness struct {
	Store queue.Store
	// Other is a second client of the same data, as another replica has it. Nil:
	// Store is used twice.
	Other queue.Store
	// Advance moves the clock that leases and expiries follow. Nil: they follow
	// the real clock.
	Advance func(time.Duration)
	// Bounded returns an empty store of the same kind with other bounds of the event
	// archive. Nil: there is none.
	Bounded func(t *testing.T, b queue.PastBounds) queue.Store
}

// Run runs the suite; each of its tests asks for a new harness.
func Run(t *testing.T, harness func(t *testing.T) Harness) {
	for _, suite := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"inbox/order", inboxOrder},
		{"inbox/dedupe", inboxDedupe},
		{"inbox/dedupe expires", inboxDedupeExpires},
		{"inbox/after", inboxAfter},
		{"inbox/eat", inboxEat},
		{"inbox/wait", inboxWait},
		{"inbox/wake", inboxWake},
		{"inbox/cancel", inboxCancel},
		{"inbox/bodies", inboxBodies},
		{"inbox/concurrent", inboxConcurrent},
		{"inbox/unstorable", inboxUnstorable},
		{"lease/exclusive", leaseExclusive},
		{"lease/extension", leaseExtension},
		{"lease/expiry", leaseExpiry},
		{"lease/release", leaseRelease},
		{"lease/race", leaseRace},
		{"turn/fencing", turnFencing},
		{"turn/version", turnVersion},
		{"turn/race", turnRace},
		{"turn/whole", turnWhole},
		{"turn/refused", turnRefused},
		{"turn/invalid", turnInvalid},
		{"state/kinds", stateKinds},
		{"state/replace and delete", stateReplace},
		{"state/hostile", stateHostile},
		{"state/big", stateBig},
		{"state/isolation", stateIsolation},
		{"archive/known", archiveKnown},
		{"archive/passes only", archivePassesOnly},
		{"archive/expiry", archiveExpiry},
		{"archive/find", archiveFind},
		{"archive/find many", archiveFindMany},
		{"archive/renew", archiveRenew},
		{"history/order", historyOrder},
		{"history/trimmed", historyTrimmed},
		{"past/pages", pastPages},
		{"past/whole", pastWhole},
		{"past/bounds", pastBounds},
		{"feed/follow", feedFollow},
		{"feed/pages", feedPages},
		{"feed/trimmed", feedTrimmed},
	} {
		t.Run(suite.name, func(t *testing.T) {
			h := harness(t)
			if h.Other == nil {
				h.Other = h.Store
			}
			suite.test(t, h)
		})
	}
}

// Need skips a test if its requirement is not present, and fails it where the
// environment's SUBMITQUEUE_REQUIRE, a comma-separated list, demands that
// requirement: a machine that should run everything must not skip in silence.
// The programs of others that such tests start are slow. So where one is present and not
// demanded, the test is one of three that are alike ([OneOf]).
func Need(t testing.TB, what string, present bool) {
	t.Helper()
	switch {
	case !present && Required(what):
		t.Fatalf("%s is required by SUBMITQUEUE_REQUIRE and is not there", what)
	case !present:
		t.Skipf("needs %s", what)
	case !Required(what):
		OneOf(t, 3)
	}
}

// Required says whether SUBMITQUEUE_REQUIRE names a requirement.
func Required(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("SUBMITQUEUE_REQUIRE"), ","), what)
}

const (
	main  = "owner/name@main"
	long  = time.Hour
	short = 100 * time.Millisecond // a lease to wait for on the real clock
)

// elapse lets d pass on the store's clock. If that is the real one, it waits
// for a lease on another queue to expire.
func (h Harness) elapse(t *testing.T, d time.Duration) {
	t.Helper()
	if h.Advance != nil {
		h.Advance(d)
		return
	}
	h.mustAcquire(t, "clock", "a", d)
	deadline := time.Now().Add(d + 10*time.Second)
	for time.Now().Before(deadline) {
		token, err := h.Store.Acquire(t.Context(), "clock", "b", d)
		if err == nil {
			h.must(t, h.Store.Release(t.Context(), "clock", token))
			return
		}
	}
	t.Fatalf("no lease expired within %v of its end", 10*time.Second)
}

func (h Harness) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h Harness) mustAcquire(t *testing.T, name, owner string, ttl time.Duration) int64 {
	t.Helper()
	token, err := h.Store.Acquire(t.Context(), name, owner, ttl)
	h.must(t, err)
	return token
}

func (h Harness) mustAppend(t *testing.T, name string, events ...queue.Event) {
	t.Helper()
	h.must(t, h.Store.Append(t.Context(), name, events...))
}

func (h Harness) mustCommit(t *testing.T, turn queue.Turn) {
	t.Helper()
	h.must(t, h.Store.Commit(t.Context(), turn))
}

// mustInbox reads without waiting.
func (h Harness) mustInbox(t *testing.T, name, after string, limit int) []queue.Arrived {
	t.Helper()
	got, err := h.Store.Inbox(t.Context(), name, after, limit, 0)
	h.must(t, err)
	return got
}

// mustLoad returns the records as a map, and their version.
func (h Harness) mustLoad(t *testing.T, name string) (map[queue.Ref]string, int64) {
	t.Helper()
	records, version, err := h.Store.Load(t.Context(), name)
	h.must(t, err)
	found := map[queue.Ref]string{}
	for _, r := range records {
		if _, twice := found[r.Ref]; twice {
			t.Errorf("record %v twice", r.Ref)
		}
		found[r.Ref] = string(r.Data)
	}
	return found, version
}

// event returns an event that differs from others by its number.
func event(id string, number int) queue.Event {
	return queue.Event{ID: id, At: queue.Instant(1000 + number), Body: queue.HeadMoved{Number: number, Head: "abc"}}
}

func ids(arrived []queue.Arrived) []string {
	var names []string
	for _, a := range arrived {
		names = append(names, a.Event.ID)
	}
	return names
}

func record(kind queue.Kind, id, data string) queue.Record {
	return queue.Record{Ref: queue.Ref{Kind: kind, ID: id}, Data: []byte(data)}
}

func expired(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}
