package history

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
)

// Export prints a queue's history.
type Export struct {
	client.Flags
	Since     string `help:"Only what happened since: a date (2026-03-01), a moment (RFC 3339), or how long ago (30d, 12h)." placeholder:"WHEN"`
	Anonymous bool   `help:"Put hashes in place of authors, titles, paths, targets and commits."`
	Salt      string `env:"SUBMITQUEUE_HISTORY_SALT" help:"Salt of the hashes; default: a new one each time. Two exports with the same salt can be put together." placeholder:"TEXT"`
}

// errSalt: names are asked to be hashed and would be printed.
var errSalt = print.UsageError("a salt (--salt, SUBMITQUEUE_HISTORY_SALT) hashes nothing without --anonymous: say --anonymous too, or leave the salt out")

// Run implements the command.
func (e *Export) Run(ctx context.Context) error {
	if e.Salt != "" && !e.Anonymous {
		return errSalt
	}
	since, err := sinceOf(e.Since, time.Now())
	if err != nil {
		return err
	}
	c, err := e.Open()
	if err != nil {
		return err
	}
	var hide *history.Anonymous
	if e.Anonymous {
		salt := e.Salt
		if salt == "" {
			salt = rand.Text()
		}
		hide = history.NewAnonymous([]byte(salt))
	}
	out := bufio.NewWriter(os.Stdout)
	name := e.Queue
	if name == "" {
		if name, err = only(ctx, c); err != nil {
			return err
		}
	}
	called := name
	if hide != nil {
		called = hide.Text("queue", name)
	}
	w, err := history.NewWriter(out, called, time.Now())
	if err != nil {
		return err
	}
	p := progress{what: "exported"}
	_, err = c.Rows(ctx, name, func(rows []queue.Row) error {
		for _, r := range rows {
			if r.At < since {
				continue
			}
			if hide != nil {
				r = hide.Row(r)
			}
			if err := w.Write(r); err != nil {
				return fmt.Errorf("the history cannot be written: %w", err)
			}
			p.add(1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("the history cannot be written: %w", err)
	}
	p.done()
	return nil
}

// only returns the name of a server's only queue; "" where it has several: then the
// server's answer says what to do.
func only(ctx context.Context, c *client.Client) (string, error) {
	var list []struct {
		Name string `json:"name"`
	}
	if err := c.Get(ctx, "/api/queues", &list); err != nil || len(list) != 1 {
		return "", err
	}
	return list[0].Name, nil
}

// sinceOf reads a moment; "" is the beginning.
func sinceOf(text string, now time.Time) (queue.Instant, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return queue.At(now.AddDate(0, 0, -n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return queue.At(now.Add(-d)), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(form, text); err == nil {
			return queue.At(at), nil
		}
	}
	return 0, print.UsageError(fmt.Sprintf("--since %q is no moment: write 2026-03-01, 2026-03-01T12:00:00Z, 30d or 12h", text))
}
