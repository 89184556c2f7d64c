package derived

import (
	"github.com/submitqueue/submitqueue/queue"
)

// Passed reports whether a key has passed: by the ledger, and nothing else.
func (fs *Ledger) Passed(k queue.Key) bool {
	e := fs.s.Ledger[k.ID()]
	return e != nil && e.Passed != 0
}
