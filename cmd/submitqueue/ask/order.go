package ask

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/explain"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
)

// about names the branch or pull request of a command.
type about struct {
	client.Flags
	What string `arg:"" help:"Branch of a local repository, or number of a pull or merge request." placeholder:"BRANCH|NUMBER"`
}

// order posts a command about a branch or a pull request.
func (a about) order(ctx context.Context, path string, cmd api.OrderCommand) (*client.Client, api.Accepted, error) {
	var ok api.Accepted
	if strings.TrimSpace(a.What) == "" {
		return nil, ok, print.UsageError("say what it is about: a branch, or the number of a pull or merge request")
	}
	c, err := a.Open()
	if err != nil {
		return nil, ok, err
	}
	if cmd.Queue, cmd.Branch = a.Queue, a.What; numberOf(a.What) > 0 {
		cmd.Number, cmd.Branch = numberOf(a.What), ""
	}
	return c, ok, c.Post(ctx, path, cmd, &ok)
}

// Try builds without landing.
type Try struct {
	about
	Method string `help:"As it would land by merge, squash, rebase, semi-linear or fast-forward." placeholder:"METHOD"`
	Wait   bool   `help:"Wait for the result; exit 1 unless it passes."`
}

// Run implements the command.
func (l *Try) Run(ctx context.Context) error {
	c, ok, err := l.order(ctx, "/api/try", api.OrderCommand{Method: l.Method})
	if err != nil {
		return err
	}
	fmt.Printf("asked to try as %s\n", ok.Called())
	ch, err := answered(ctx, c, ok, func(ch api.Change) bool { return !l.Wait || ch.Phase != string(queue.Trying) })
	if err != nil {
		return err
	}
	if ch.Phase == string(queue.Trying) {
		fmt.Printf("it is being built; nothing will land; see: submitqueue status %d\n", ok.Number)
		return nil
	}
	if err := refused(ch, ok); err != nil {
		return err
	}
	printLines(ch.Answer)
	if ch.Reason == nil || ch.Reason.Code != string(queue.ReasonTried) {
		explain.Verdict(c, ch)
		return print.ExitCode(1)
	}
	return nil
}

// Explain says what would happen to a change, or why it is where it is.
type Explain struct {
	about
	Method string `help:"By merge, squash, rebase, semi-linear or fast-forward." placeholder:"METHOD"`
}

// Run implements the command.
func (l *Explain) Run(ctx context.Context) error {
	c, ok, err := l.order(ctx, "/api/explain", api.OrderCommand{Method: l.Method})
	if err != nil {
		return err
	}
	ch, err := answered(ctx, c, ok, func(ch api.Change) bool { return ch.Phase != string(queue.Trying) })
	if err != nil {
		return err
	}
	if err := refused(ch, ok); err != nil {
		return err
	}
	fmt.Println(explain.Sentence(ch))
	printLines(ch.Answer)
	return nil
}

// Now puts a change before all others.
type Now struct {
	about
	Reason []string `arg:"" help:"Why; shown to everybody, and kept in the history."`
	Wait   bool     `help:"Wait for the verdict; exit 1 unless it landed."`
}

// Run implements the command.
func (l *Now) Run(ctx context.Context) error {
	reason := strings.Join(l.Reason, " ")
	if strings.TrimSpace(reason) == "" {
		return print.UsageError("say why: it is shown to everybody, and kept in the history")
	}
	c, ok, err := l.order(ctx, "/api/now", api.OrderCommand{Reason: reason})
	if err != nil {
		return err
	}
	fmt.Printf("asked to land %s before all others\n", ok.Called())
	return wait(ctx, c, ok, l.Wait)
}

// trust has the flags of the commands that say which other users may land a pull request.
type trust struct {
	client.Flags
	Number int `arg:"" help:"Number of a pull or merge request."`
}

func (t trust) tell(ctx context.Context, path, user string) error {
	c, ok, err := about{t.Flags, strconv.Itoa(t.Number)}.order(ctx, path, api.OrderCommand{To: strings.TrimSpace(user)})
	if err != nil {
		return err
	}
	ch, err := answered(ctx, c, ok, func(api.Change) bool { return true })
	if err != nil {
		return err
	}
	if err := refused(ch, ok); err != nil {
		return err
	}
	if ch.Notice != nil {
		fmt.Printf("%s: %s\n", ok.Called(), print.OneLine(ch.Notice.Text))
	}
	return nil
}

// Delegate lets somebody else land a pull request.
type Delegate struct {
	trust
	User string `arg:"" help:"The user who may land it, by the name at the forge." placeholder:"@USER"`
}

// Run implements the command.
func (l *Delegate) Run(ctx context.Context) error { return l.tell(ctx, "/api/delegate", l.User) }

// Undelegate takes that back.
type Undelegate struct {
	trust
	User string `arg:"" optional:"" help:"From whom; default: everybody." placeholder:"@USER"`
}

// Run implements the command.
func (l *Undelegate) Run(ctx context.Context) error { return l.tell(ctx, "/api/undelegate", l.User) }

// Freeze holds landings until a moment.
type Freeze struct {
	client.Flags
	Until  string   `arg:"" help:"2h, 3d, 18:00, 2026-12-24 or '2026-12-24 18:00', in UTC."`
	Reason []string `arg:"" optional:"" help:"Why; shown to everybody who waits."`
}

// Run implements the command.
func (l *Freeze) Run(ctx context.Context) error {
	c, err := l.Open()
	if err != nil {
		return err
	}
	cmd := api.FreezeCommand{Queue: l.Queue, Until: l.Until, Reason: strings.Join(l.Reason, " ")}
	q, err := c.Command(ctx, "/api/freeze", cmd, func(q api.Queue, at time.Time) bool {
		return q.Paused && !q.PausedUntil.IsZero() && !q.PausedAt.Before(at)
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("landings on %s are frozen until %s", print.OneLine(q.Branch), q.PausedUntil.UTC().Format("2 Jan 15:04 UTC"))
	if q.PausedReason != "" {
		text += ": " + print.OneLine(q.PausedReason)
	}
	fmt.Println(text + "\nbuilds go on; let landings go on before with: submitqueue resume")
	return nil
}

// orderLimit bounds the wait for the answer to a command, apart from builds.
const orderLimit = 2 * time.Minute

// answered waits until the queue has answered a command, and enough reports true for its
// change.
func answered(ctx context.Context, c *client.Client, asked api.Accepted, enough func(api.Change) bool) (ch api.Change, err error) {
	path := "/api/change?" + url.Values{"queue": {asked.Queue}, "id": {strconv.Itoa(asked.Number)}}.Encode()
	end := time.After(orderLimit)
	answers := own{asked: asked}
	for heard := false; ; {
		ch = api.Change{}
		if c.Get(ctx, path, &ch) == nil {
			answers.keep(&ch)
			if !ch.Answered.Before(asked.At) {
				heard = true
				if enough(ch) {
					return ch, nil
				}
			}
		}
		if heard { // a build may take long
			end = nil
		}
		select {
		case <-ctx.Done():
			return ch, ctx.Err()
		case <-end:
			return ch, fmt.Errorf("the command is stored, and nothing has come of it yet; see: submitqueue status %d", asked.Number)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// followed are the answers to commands that were followed.
var followed = []queue.ReasonCode{queue.ReasonExplain, queue.ReasonDelegated, queue.ReasonUndelegated}

// refused prints why a command was not followed, where it was not.
func refused(ch api.Change, asked api.Accepted) error {
	switch {
	case ch.Notice != nil && !slices.Contains(followed, queue.ReasonCode(ch.Notice.Code)):
		fmt.Printf("%s: %s\n", asked.Called(), print.OneLine(ch.Notice.Text))
		return print.ExitCode(1)
	case ch.ID == "" && ch.Notice == nil:
		fmt.Printf("%s: there is no such change\n", asked.Called())
		return print.ExitCode(1)
	}
	return nil
}

// printLines prints an answer.
func printLines(lines []string) {
	for _, line := range lines {
		fmt.Println(print.OneLine(line))
	}
}
