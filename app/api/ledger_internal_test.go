package api

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// The API tells of a pass its renewals and its host, by the name that people know; of
// an older version's record, the agent's.
func TestLedgerKeyTellsHostAndRenewals(t *testing.T) {
	e := queue.Entry{Passed: 1000, Confirmed: 5000, Machine: "m1-2", Host: "m1", Failures: []queue.Failure{{Machine: "m2-1", Host: "m2"}, {Machine: "old-1"}}}
	k := ledgerKeyOf(LedgerKey{Entry: e})
	if k.Host != "m1" || k.Confirmed.UnixMilli() != 5000 || k.Failures[0].Host != "m2" || k.Failures[1].Host != "old-1" {
		t.Errorf("%+v", k)
	}
	e.Host, e.Confirmed = "", 0
	if k := ledgerKeyOf(LedgerKey{Entry: e}); k.Host != "m1-2" || !k.Confirmed.IsZero() {
		t.Errorf("%+v", k)
	}
}
