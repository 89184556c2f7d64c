//go:build !unix

package redisstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
)

// privateWorks says that this system cannot run a private server.
const privateWorks = false

type private struct {
	program, dir string
	lock         io.Closer
	log          *slog.Logger
}

func startPrivate(context.Context, *private) (owned, error) {
	return owned{}, errors.New("redisstore: a private redis-server is not supported on this system")
}

// lockDir locks nothing here: without a private server nothing is written to dir.
func lockDir(context.Context, string) (io.Closer, error) { return io.NopCloser(nil), nil }
