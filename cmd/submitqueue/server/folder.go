package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/workers"
)

// takeFolder takes a data folder for this server until it closes it, or its process ends. Two
// servers of a folder would have one name in their leases, and one spool.
func takeFolder(ctx context.Context, data string) (io.Closer, error) {
	taken, err := workers.TakeFolder(ctx, data)
	switch {
	case errors.Is(err, workers.ErrTaken):
		err = fmt.Errorf("the data folder %w: stop that server, or give this one a folder of its own with --data", err)
	case err != nil && ctx.Err() == nil:
		err = fmt.Errorf("the data folder cannot be used: %w", err)
	}
	return taken, print.Documented(err, "operate#where-things-are")
}
