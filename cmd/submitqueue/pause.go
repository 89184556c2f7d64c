package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
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
	cmd := api.PauseCommand{Queue: l.Queue, Reason: reason}
	q, err := c.command(ctx, "/api/pause", cmd, func(q api.Queue, at time.Time) bool { return q.Paused && !q.PausedAt.Before(at) })
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
	q, err := c.command(ctx, "/api/resume", api.ResumeCommand{Queue: l.Queue},
		func(q api.Queue, _ time.Time) bool { return q.Away == "" && !q.Paused })
	if err != nil {
		return err
	}
	fmt.Printf("landings on %s go on\n", oneLine(q.Branch))
	return nil
}

// commandLimit bounds how long a command about the queue is waited for.
const commandLimit = 20 * time.Second

// command gives a command about the queue and waits until it is followed.
func (c *client) command(ctx context.Context, path string, cmd any, followed func(q api.Queue, at time.Time) bool) (q api.Queue, err error) {
	var ok api.Accepted
	if err := c.call(ctx, http.MethodPost, path, cmd, &ok); err != nil {
		return q, err
	}
	name := url.Values{"queue": {ok.Queue}}.Encode()
	end := time.After(commandLimit)
	for {
		q = api.Queue{} // what an answer leaves out is not what the one before said
		if err := c.call(ctx, http.MethodGet, "/api/queue?"+name, nil, &q); err != nil {
			return q, err
		}
		if followed(q, ok.At) {
			return q, nil
		}
		var notes []api.Note
		if err := c.call(ctx, http.MethodGet, "/api/history?max=20&"+name, nil, &notes); err != nil {
			return q, err
		}
		for _, n := range notes {
			if n.What == "command-refused" && n.Reason != nil && !n.At.Before(ok.At) {
				return q, errors.New(oneLine(n.Reason.Text))
			}
		}
		select {
		case <-ctx.Done():
			return q, ctx.Err()
		case <-end:
			return q, errors.New("the command is stored, and nothing has come of it yet; see: submitqueue status")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
