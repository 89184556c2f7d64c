package mirror

import (
	"sync"

	"github.com/submitqueue/submitqueue/queue"
)

// History knows how commits follow from each other: which commit is an ancestor of which,
// the line of first parents of a branch, and the commits that a head brings.
type History struct {
	repo       *repository
	objects    *Objects
	ancestries ancestries

	mu       sync.Mutex
	branches map[string]queue.CommitID // refs/submitqueue/remote/ as far as known
}
