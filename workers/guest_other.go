//go:build !linux && !darwin

package workers

import (
	"context"
	"io"
	"os/exec"
	"time"

	"github.com/submitqueue/submitqueue/workers/cage"
)

const roomsHaveTmp = false

func claimUID(int) (io.Closer, error) { return nil, errNoGuests }

func guestsWork(UIDs) error { return errNoGuests }

func startGuest(*exec.Cmd, *guest) error { return errNoGuests }

func namespacesWork(UIDs) error { return cage.ErrNone }

func (c command) runCaged(context.Context) (exit, error) { return exit{}, cage.ErrNone }

func sandboxesWork() error { return errNoSandbox }

func (session) endUser(time.Duration) int { return 0 }
