package explain

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Blame says which commits turned the target branch red.
type Blame struct {
	client.Flags
	JSON bool `help:"Print what the server answers, with the searches that are over."`
}

// Run implements the command.
func (l *Blame) Run(ctx context.Context) error {
	c, err := l.Open()
	if err != nil {
		return err
	}
	query := url.Values{}
	if l.Queue != "" {
		query.Set("queue", l.Queue)
	}
	var b api.Blame
	if err := c.Get(ctx, "/api/blame?"+query.Encode(), &b); err != nil {
		return err
	}
	if l.JSON {
		return print.JSON(os.Stdout, b)
	}
	printBlame(b)
	return nil
}

// printBlame prints what is red now, and for each culprit the end of its log.
func printBlame(b api.Blame) {
	fmt.Println(print.OneLine(b.Text)) // it names the branch
	for _, h := range b.Hunts {
		if !h.Over.IsZero() {
			continue
		}
		for _, t := range h.Trails {
			switch {
			case t.Passes || len(t.Suspects) == 1:
			case t.Beyond:
				fmt.Printf("  %s on %s: red on every commit that was looked at\n", print.OneLine(t.Step), print.OneLine(strings.Join(t.Targets, ", ")))
			case len(t.Suspects) > 1:
				fmt.Printf("  %s on %s: %d suspects\n", print.OneLine(t.Step), print.OneLine(strings.Join(t.Targets, ", ")), len(t.Suspects))
			}
		}
		for _, x := range h.Culprits {
			for line := range strings.Lines(print.LastLines(x.Tail, 10)) {
				fmt.Printf("  | %s\n", print.OneLine(strings.TrimRight(line, "\n")))
			}
		}
	}
}
