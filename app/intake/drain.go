package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/submitqueue/submitqueue/queue"
)

// spooled is one entry of the spool: events for the inbox of one queue.
type spooled struct {
	Queue  string        `json:"queue"`
	Events []queue.Event `json:"events"`
}

// Drainer hands out the entries of a spool, oldest first. An entry for which
// give returns nil is removed; the first error ends the draining and keeps the
// entry and all after it. It returns how many were removed.
type Drainer interface {
	Drain(ctx context.Context, give func(data []byte) error) (int, error)
}

// Drain moves spooled deliveries to the inboxes of their queues and returns how many
// entries left the spool. It ends at the first that the store does not take: call it
// again later. An entry that cannot be read, which another version may have written, is
// logged and dropped, so that it does not hold up the others; Forge.Missed finds the
// events that were in it.
func Drain(ctx context.Context, from Drainer, to Appender, log *slog.Logger) (int, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	n, err := from.Drain(ctx, func(data []byte) error {
		var s spooled
		if err := json.Unmarshal(data, &s); err != nil || s.Queue == "" {
			log.Error("a spooled delivery cannot be read and is dropped", "bytes", len(data), "error", err)
			return nil
		}
		return to.Append(ctx, s.Queue, s.Events...)
	})
	if err != nil {
		return n, fmt.Errorf("intake: draining the spool: %w", err)
	}
	return n, nil
}
