package gitlab

import (
	"context"
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// WasHead implements forge.Recaller, by the date of the newest diff that GitLab has stored of
// a merge request.
func (f *Forge) WasHead(ctx context.Context, number int, head queue.CommitID, at queue.Instant) (bool, error) {
	doing := fmt.Sprintf("read since when merge request %d has its head", number)
	id, err := f.project(ctx)
	if err != nil {
		return false, failure(ctx, doing, err)
	}
	mr, _, err := f.get(ctx, number)
	if err != nil {
		return false, failure(ctx, doing, err)
	}
	stored, err := f.storedAt(ctx, id, mr)
	if err != nil {
		return false, failure(ctx, doing, err)
	}
	return mr.SHA == string(head) && !stored.IsZero() && queue.At(stored) <= at, nil
}
