package ask

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Pause holds landings.
type Pause struct {
	client.Flags
	Reason []string `arg:"" help:"Why; shown to everybody who waits."`
}

// Run implements the command.
func (l *Pause) Run(ctx context.Context) error {
	reason := strings.Join(l.Reason, " ")
	if strings.TrimSpace(reason) == "" {
		return print.UsageError("say why: it is shown to everybody who waits")
	}
	c, err := l.Open()
	if err != nil {
		return err
	}
	cmd := api.PauseCommand{Queue: l.Queue, Reason: reason}
	q, err := c.Command(ctx, "/api/pause", cmd, func(q api.Queue, at time.Time) bool { return q.Paused && !q.PausedAt.Before(at) })
	if err != nil {
		return err
	}
	fmt.Printf("landings on %s are paused: %s\nbuilds go on; let landings go on with: submitqueue resume\n", print.OneLine(q.Branch), print.OneLine(q.PausedReason))
	return nil
}

// Resume lets landings go on.
type Resume struct{ client.Flags }

// Run implements the command.
func (l *Resume) Run(ctx context.Context) error {
	c, err := l.Open()
	if err != nil {
		return err
	}
	q, err := c.Command(ctx, "/api/resume", api.ResumeCommand{Queue: l.Queue},
		func(q api.Queue, _ time.Time) bool { return q.Away == "" && !q.Paused })
	if err != nil {
		return err
	}
	fmt.Printf("landings on %s go on\n", print.OneLine(q.Branch))
	return nil
}
