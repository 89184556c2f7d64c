package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app"
)

// pauseCommand holds landings.
type pauseCommand struct {
	clientFlags
	Reason []string `arg:"" help:"Why; shown to everybody who waits."`
}

// Run implements the command.
func (l *pauseCommand) Run(ctx context.Context) error {
	reason := strings.Join(l.Reason, " ")
	if strings.TrimSpace(reason) == "" {
		return usageError("say why: it is shown to everybody who waits")
	}
	c, err := l.open()
	if err != nil {
		return err
	}
	cmd := app.PauseCommand{Queue: l.Queue, Reason: reason}
	q, err := c.command(ctx, "/api/pause", cmd, func(q app.APIQueue, at time.Time) bool { return q.Paused && !q.PausedAt.Before(at) })
	if err != nil {
		return err
	}
	fmt.Printf("landings on %s are paused: %s\nbuilds go on; let landings go on with: submitqueue resume\n", oneLine(q.Branch), oneLine(q.PausedReason))
	return nil
}

// resumeCommand lets landings go on.
type resumeCommand struct{ clientFlags }

// Run implements the command.
func (l *resumeCommand) Run(ctx context.Context) error {
	c, err := l.open()
	if err != nil {
		return err
	}
	q, err := c.command(ctx, "/api/resume", app.ResumeCommand{Queue: l.Queue},
		func(q app.APIQueue, _ time.Time) bool { return q.Away == "" && !q.Paused })
	if err != nil {
		return err
	}
	fmt.Printf("landings on %s go on\n", oneLine(q.Branch))
	return nil
}
