package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Logs prints the log of a build.
type Logs struct {
	client.Flags
	ID     string `arg:"" help:"A build, or a change by its number, or by its branch of a plain repository (then the one that runs, or the one that failed last), or main."`
	Follow bool   `short:"f" help:"Go on printing until the build has ended, and wait for it to begin."`
	Tail   int    `default:"0" help:"Print the last so many lines only; 0: all." placeholder:"LINES"`
}

// logEvery is how often a log is asked for new output, and tailBytes how much of it is
// read for its last lines.
const (
	logEvery  = time.Second
	tailBytes = 1 << 20
)

// buildName is how builds are named (queue.NewBuildID).
var buildName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Run implements the command.
func (l *Logs) Run(ctx context.Context) error {
	if l.Tail < 0 {
		return print.UsageError("--tail is a number of lines, from 0")
	}
	c, err := l.Open()
	if err != nil {
		return err
	}
	build, err := l.build(ctx, c)
	if err != nil {
		return err
	}
	return l.print(ctx, c, build)
}

// build returns the id of the build that the argument means.
func (l *Logs) build(ctx context.Context, c *client.Client) (string, error) {
	id := strings.TrimLeft(l.ID, "#!")
	if id == "main" {
		var q api.Queue
		if err := c.Get(ctx, "/api/queue?"+url.Values{"queue": {l.Queue}}.Encode(), &q); err != nil {
			return "", err
		}
		return l.one(q.MainBuilds, "Nothing is built of the branch itself now; submitqueue blame says what failed there.")
	}
	if _, err := strconv.Atoi(id); err != nil && buildName.MatchString(id) {
		return id, nil // a build needs no queue
	}
	var ch api.Change
	if err := c.Get(ctx, "/api/change?"+url.Values{"queue": {l.Queue}, "id": {id}}.Encode(), &ch); err != nil {
		if a, ok := errors.AsType[*client.Answered](err); ok && a.Status == http.StatusNotFound && buildName.MatchString(id) {
			return id, nil // a build's name may be all digits
		}
		return "", err
	}
	if v := ch.Verdict; v != nil && len(v.Failures) > 0 {
		return v.Failures[len(v.Failures)-1].Build, nil
	}
	return l.one(ch.Builds, fmt.Sprintf("%s is not built now, and none of its builds has failed; submitqueue status %d says where it stands.", ch.Called(), ch.Number))
}

// one returns the build that began last, and prints which others there are.
func (l *Logs) one(builds []api.Build, none string) (string, error) {
	if len(builds) == 0 {
		return "", errors.New(none)
	}
	last := slices.MaxFunc(builds, func(a, b api.Build) int { return a.Started.Compare(b.Started) })
	for _, b := range builds {
		if b.ID != last.ID {
			fmt.Fprintf(os.Stderr, "build %s runs, too: submitqueue logs %s\n", print.OneLine(b.ID), print.OneLine(b.ID))
		}
	}
	return last.ID, nil
}

// print prints a build's log.
func (l *Logs) print(ctx context.Context, c *client.Client, build string) error {
	after, told := int64(0), false
	if l.Tail > 0 {
		after = -tailBytes
	}
	for {
		var log api.Log
		err := c.Get(ctx, "/api/log?"+url.Values{"build": {build}, "after": {strconv.FormatInt(after, 10)}}.Encode(), &log)
		switch a, ok := errors.AsType[*client.Answered](err); {
		case err != nil && l.Follow && ok && a.Status == http.StatusNotFound && !told:
			fmt.Fprintf(os.Stderr, "build %s has no log yet\n", print.OneLine(build))
			told = true
		case err != nil && !(l.Follow && ok && a.Status == http.StatusNotFound):
			return err
		case err == nil:
			if l.Tail > 0 && after < 0 {
				log.Text = lastLines(log.Text, l.Tail)
			}
			if _, err := io.WriteString(os.Stdout, print.Printable(log.Text)); err != nil {
				return err
			}
			if log.Done {
				return nil
			}
			if grown := log.Next != after; grown || l.Follow {
				after = log.Next
				if grown {
					continue
				}
			} else {
				fmt.Fprintf(os.Stderr, "the build goes on; with --follow so does its log\n")
				return nil
			}
		}
		select {
		case <-time.After(logEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := slices.Collect(strings.Lines(text))
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
