package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue/sole"
)

// takeFolder takes a data folder for this server until it closes it, or its process ends. Two
// servers of a folder would have one name in their leases, and one spool.
func takeFolder(ctx context.Context, data string) (io.Closer, error) {
	lock, err := sole.Take(ctx, data)
	taken := (*sole.Taken)(nil)
	switch {
	case errors.As(err, &taken):
		err = fmt.Errorf("the data folder %w: stop that server, or give this one a folder of its own with --data", err)
	case err != nil:
		err = fmt.Errorf("the data folder cannot be used: %w", err)
	}
	return lock, print.Documented(err, "operate#where-things-are")
}
