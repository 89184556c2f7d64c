package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/explain"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
)

// Land asks to land.
type Land struct {
	client.Flags
	What     string `arg:"" help:"Branch of a local repository, or number of a pull or merge request." placeholder:"BRANCH|NUMBER"`
	Wait     bool   `help:"Wait for the verdict; exit 1 unless it landed."`
	Retry    bool   `help:"Forget past failures: failed tests run again."`
	Priority string `help:"Land in a lane of queue.lanes, e.g. high; a change in the queue moves there." placeholder:"LANE"`
	Method   string `help:"Land by merge, squash, rebase, semi-linear or fast-forward, as far as queue.methods allows it." placeholder:"METHOD"`
}

// Run implements the command.
func (l *Land) Run(ctx context.Context) error {
	if strings.TrimSpace(l.What) == "" {
		return print.UsageError("say what to land: a branch, or the number of a pull or merge request")
	}
	c, err := l.Open()
	if err != nil {
		return err
	}
	cmd := api.LandCommand{Queue: l.Queue, Branch: l.What, Retry: l.Retry, Priority: l.Priority, Method: l.Method}
	if n := numberOf(l.What); n > 0 {
		cmd.Number, cmd.Branch = n, ""
	}
	var ok api.Accepted
	if err := c.Post(ctx, "/api/land", cmd, &ok); err != nil {
		return err
	}
	fmt.Printf("asked to land as %s\n", ok.Called())
	return wait(ctx, c, ok, l.Wait)
}

// numberOf returns the number of a pull request in a word, or 0.
func numberOf(word string) int {
	n, err := strconv.Atoi(strings.TrimLeft(word, "#!"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// answerLimit bounds how long a command that does not wait for the verdict
// waits for the queue's answer.
const answerLimit = 10 * time.Second

// wait follows a change from its command on, until the queue has answered the command,
// or until the verdict.
func wait(ctx context.Context, c *client.Client, asked api.Accepted, verdict bool) error {
	var enough <-chan time.Time
	if !verdict {
		enough = time.After(answerLimit)
	}
	path := "/api/change?" + url.Values{"queue": {asked.Queue}, "id": {strconv.Itoa(asked.Number)}}.Encode()
	shown, trouble := "", ""
	answers := own{asked: asked}
	for {
		var ch api.Change
		err := c.Get(ctx, path, &ch)
		if err == nil {
			answers.keep(&ch)
		}
		switch {
		case err != nil:
			var known *client.Answered
			waits := errors.As(err, &known) && known.Status == http.StatusNotFound // the command is on its way
			if text := err.Error(); !waits && text != trouble && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "submitqueue: still waiting:", print.OneLine(text))
				trouble = text
			}
		case ch.Answered.Before(asked.At): // the answer is from before the command
		case ch.ID == "" && ch.Notice == nil:
			fmt.Printf("%s is not in the queue: there is no such change\n", asked.Called())
			return print.ExitCode(1)
		case ch.Notice != nil && ch.Notice.Code == string(queue.ReasonNotQueued): // its text says the same
			fmt.Printf("%s: %s\n", asked.Called(), print.OneLine(ch.Notice.Text))
			return print.ExitCode(1)
		case ch.Notice != nil && (ch.ID == "" || ch.Final):
			fmt.Printf("%s is not in the queue: %s\n", asked.Called(), print.OneLine(ch.Notice.Text))
			return print.ExitCode(1)
		case ch.Notice != nil && (ch.Notice.Code == string(queue.ReasonUnknownLane) || ch.Notice.Code == string(queue.ReasonNoPermission)):
			fmt.Printf("%s stays as it was: %s\n", asked.Called(), print.OneLine(ch.Notice.Text))
			return print.ExitCode(1)
		case !verdict && answers.others: // the answer to this command may still come
		case !verdict:
			return nil
		default:
			if line := explain.Sentence(ch); line != shown {
				fmt.Println(line)
				shown = line
			}
			switch {
			case ch.Phase == "landed":
				return nil
			case ch.Final:
				explain.Verdict(c, ch)
				return print.ExitCode(1)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-enough:
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// own tells the answer to a command from those to other commands about the same pull
// request: of the answers to commands that were not followed, by any author, a change shows
// only the latest.
type own struct {
	asked    api.Accepted
	followed bool        // the command has been answered, and not by a refusal
	others   bool        // what has been answered is somebody else's command, as far as can be seen
	before   *api.Reason // the notice that the change had before the command was answered
	to       string      // the user that it was for
}

// keep takes a notice off a change unless it may be the answer to the command. A notice
// never hides a verdict that came after the command. Where the change itself says nothing
// of the command, because there is none or its verdict is older, the notice stays. A
// refusal of somebody else's command says nothing of this one: its answer may still come.
func (o *own) keep(ch *api.Change) {
	if ch.Answered.Before(o.asked.At) {
		o.before, o.to = ch.Notice, ch.NoticeTo
		return
	}
	if ch.ID == "" {
		return
	}
	other := o.asked.User != "" && ch.NoticeTo != o.asked.User
	old := ch.Final && ch.Decided.Before(o.asked.At)
	news := ch.Notice != nil && (o.before == nil || o.before.Code != ch.Notice.Code || o.before.Text != ch.Notice.Text || o.to != ch.NoticeTo)
	if o.followed || other && !old {
		ch.Notice = nil
	}
	o.others = ch.Notice == nil && other && news && !o.followed
	o.followed = o.followed || ch.Notice == nil && !o.others
}

// Cancel takes a change out.
type Cancel struct {
	client.Flags
	ID string `arg:"" help:"Id of a change, number of a pull request, merge request or request, or branch of a plain repository."`
}

// Run implements the command.
func (l *Cancel) Run(ctx context.Context) error {
	c, err := l.Open()
	if err != nil {
		return err
	}
	cmd := api.CancelCommand{Queue: l.Queue, ID: l.ID}
	if n := numberOf(l.ID); n > 0 {
		cmd.Number, cmd.ID = n, ""
	}
	var ok api.Accepted
	if err := c.Post(ctx, "/api/cancel", cmd, &ok); err != nil {
		return err
	}
	fmt.Printf("asked to cancel %s; see: submitqueue status %d\n", ok.Called(), ok.Number)
	return nil
}
