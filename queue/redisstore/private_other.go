//go:build !unix

package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"os"
)

// privateWorks says that this system cannot run a private server.
const privateWorks = false

type private struct {
	program, dir string
	lock         *os.File
	log          *slog.Logger
}

func startPrivate(context.Context, *private) (owned, error) {
	return owned{}, errors.New("redisstore: a private redis-server is not supported on this system")
}
