package explain

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Ledger shows what a server knows of keys, and takes passes back.
type Ledger struct {
	Show   ledgerShowCommand   `cmd:"" default:"withargs" help:"Show what is known: passes and failures, with build, machine and time."`
	Forget ledgerForgetCommand `cmd:"" help:"Say what forgetting passes would do, and with --yes do it."`
}

// ledgerShowCommand shows what is known of keys.
type ledgerShowCommand struct {
	client.Flags
	What string `arg:"" help:"A target, a key's id or how it begins, a change's id or its number."`
	Max  int    `default:"50" help:"Show at the most so many keys."`
	JSON bool   `name:"json" help:"Print what the API answers."`
}

// Run implements the command.
func (l *ledgerShowCommand) Run(ctx context.Context) error {
	if l.Max < 1 || l.Max > api.LedgerMost {
		return print.UsageError(fmt.Sprintf("--max is a number from 1 to %d", api.LedgerMost))
	}
	c, err := l.Open()
	if err != nil {
		return err
	}
	path := "/api/ledger?" + url.Values{"queue": {l.Queue}, "what": {l.What}, "max": {strconv.Itoa(l.Max)}}.Encode()
	if l.JSON {
		return c.Print(ctx, path)
	}
	var v api.Ledger
	if err := c.Get(ctx, path, &v); err != nil {
		return err
	}
	if len(v.Keys) == 0 {
		return errors.New(nothingKnown(l.What, v))
	}
	sheetOf(c).ledger(l.What, v)
	return nil
}

func nothingKnown(what string, v api.Ledger) string {
	if v.Kind == "change" {
		return fmt.Sprintf("%s has no merge now, so it has no keys; those of a target are shown by: submitqueue ledger TARGET", sheet{mark: v.Mark}.changeName(v.Change))
	}
	return fmt.Sprintf("nothing is known of %q: it is no target of main, and no key or change that the queue remembers; targets are listed by: submitqueue targets", print.OneLine(what))
}

// ledgerForgetCommand takes passes back.
type ledgerForgetCommand struct {
	client.Flags
	What string `arg:"" optional:"" help:"A target, or a key's id or its first 12 digits or more."`
	Step string `help:"Only of this step; without a target or key, all that it has passed." placeholder:"NAME"`
	Yes  bool   `help:"Do it."`
	JSON bool   `name:"json" help:"Print what the API answers, and do nothing."`
}

// Run implements the command.
func (l *ledgerForgetCommand) Run(ctx context.Context) error {
	if l.What == "" && l.Step == "" {
		return print.UsageError("say what to forget: a target, a key, or --step NAME")
	}
	what := l.What
	if regexp.MustCompile(`^[0-9a-f]{12,64}$`).MatchString(what) {
		what = "key=" + what
	}
	if l.Step != "" {
		what = strings.TrimSpace(what + " step=" + l.Step)
	}
	c, err := l.Open()
	if err != nil {
		return err
	}
	path := "/api/forget?" + url.Values{"queue": {l.Queue}, "what": {what}}.Encode()
	if l.JSON {
		return c.Print(ctx, path)
	}
	var v api.Forget
	if err := c.Get(ctx, path, &v); err != nil {
		return err
	}
	p := sheetOf(c)
	p.forgetting(v, l.Yes)
	if !l.Yes {
		return nil
	}
	return l.forget(ctx, c, what, v.Unknown)
}

// forget gives the command and waits until the queue has followed it.
func (l *ledgerForgetCommand) forget(ctx context.Context, c *client.Client, what string, unknown bool) error {
	done := false
	_, err := c.Command(ctx, "/api/forget", api.ForgetCommand{Queue: l.Queue, What: what}, func(q api.Queue, at time.Time) bool {
		var notes []api.Note
		path := "/api/history?" + url.Values{"queue": {q.Name}, "max": {"20"}}.Encode()
		if err := c.Get(ctx, path, &notes); err != nil {
			return false
		}
		for _, n := range notes {
			done = done || n.What == "forgot" && !n.At.Before(at)
		}
		return done
	})
	switch {
	case err != nil:
	case unknown:
		fmt.Println("passes of older commits are forgotten, if there were any")
	default:
		fmt.Println("forgotten")
	}
	return err
}
