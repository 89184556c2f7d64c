package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/workers/coordinator"
)

// Runners manages the runners of a server: the tokens with which machines ask for work.
// The server sees changes in its data folder at once.
type Runners struct {
	Add    runnersAdd    `cmd:"" help:"Make a runner, and print the token with which machines register."`
	List   runnersList   `cmd:"" default:"withargs" help:"List the machines that run builds, and what they run."`
	Pause  runnersPause  `cmd:"" help:"Drain a runner: it gets no new jobs, and those that it has go on."`
	Resume runnersResume `cmd:"" help:"Take that back."`
	Revoke runnersRevoke `cmd:"" help:"End a runner's token: its machines are refused."`
}

// runnersFlags name the server that has the runners.
type runnersFlags struct {
	Data string `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Data folder of the server." type:"path"`
}

func (f runnersFlags) open() (*coordinator.Registry, error) {
	if info, err := os.Stat(f.Data); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("no server has its data in %s: say the --data that it was started with, or start it first", f.Data)
	}
	return coordinator.NewRegistry(f.Data), nil
}

// runnersAdd makes a runner.
type runnersAdd struct {
	runnersFlags
	Name     string   `arg:"" help:"Its name: on pages, and in results."`
	Tags     []string `help:"What it has that steps may ask for with tags, such as gpu,xcode-26." placeholder:"TAG,..."`
	TagsOnly bool     `help:"It takes no steps that ask for no tags."`
}

// Run implements the command.
func (l *runnersAdd) Run() error {
	r, err := l.open()
	if err != nil {
		return err
	}
	token, err := r.Add(l.Name, l.Tags, l.TagsOnly, time.Now())
	if errors.Is(err, coordinator.ErrTaken) {
		return fmt.Errorf("there is a runner %s already: several machines can use its token; `submitqueue runners revoke %s` ends it, if it is lost", l.Name, l.Name)
	}
	if err != nil {
		return err
	}
	// Only the token is on the standard output, so that it can be redirected into a file.
	fmt.Fprintf(os.Stderr, "runner %s is made. Its token is shown once; register machines with it, by one of:\n\n"+
		"  gitlab-runner register --url SERVER --token TOKEN --executor shell\n"+
		"  submitqueue runner register --server SERVER --token-file FILE\n\n", l.Name)
	fmt.Println(token)
	return nil
}

// named is a command on one runner.
type named struct {
	runnersFlags
	Name string `arg:"" help:"Its name."`
}

func (n named) do(f func(*coordinator.Registry) error, done string) error {
	r, err := n.open()
	if err != nil {
		return err
	}
	if err := f(r); err != nil {
		if errors.Is(err, coordinator.ErrNoRunner) {
			return fmt.Errorf("%w; `submitqueue runners list` lists them", err)
		}
		return err
	}
	fmt.Printf("runner %s %s\n", n.Name, done)
	return nil
}

type runnersPause struct{ named }

// Run implements the command.
func (l *runnersPause) Run() error {
	return l.do(func(r *coordinator.Registry) error { return r.Pause(l.Name, true) }, "gets no new jobs; those that it has go on")
}

type runnersResume struct{ named }

// Run implements the command.
func (l *runnersResume) Run() error {
	return l.do(func(r *coordinator.Registry) error { return r.Pause(l.Name, false) }, "gets jobs again")
}

type runnersRevoke struct{ named }

// Run implements the command.
func (l *runnersRevoke) Run() error {
	return l.do(func(r *coordinator.Registry) error { return r.Revoke(l.Name, time.Now()) }, "is revoked: its machines are refused, and what they run is finished")
}

// runnersList lists runners: the machines of a server that runs, else the runners in its data
// folder.
type runnersList struct {
	client.Flags
	JSON bool `help:"Print what the server answers."`
}

// Run implements the command.
func (l *runnersList) Run(ctx context.Context) error {
	c, err := l.Open()
	if err == nil {
		var a api.RunnersAnswer
		if err = c.Get(ctx, "/api/runners", &a); err == nil {
			if l.JSON {
				return print.JSON(os.Stdout, a)
			}
			return printRunners(os.Stdout, a, time.Now())
		}
	}
	known, lerr := coordinator.NewRegistry(l.Data).List()
	if lerr != nil || len(known) == 0 {
		return errors.Join(err, lerr)
	}
	fmt.Fprintf(os.Stderr, "the server does not answer; these runners are in its data: %v\n", err)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range known {
		state := "made " + r.Made.UTC().Format(time.DateOnly)
		switch {
		case !r.Revoked.IsZero():
			state = "revoked " + r.Revoked.UTC().Format(time.DateOnly)
		case r.Paused:
			state = "paused"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, state, strings.Join(r.Tags, ","))
	}
	return w.Flush()
}

func printRunners(out io.Writer, a api.RunnersAnswer, now time.Time) error {
	if len(a.Runners) == 0 {
		fmt.Fprintln(out, "No runner is connected; make one with: submitqueue runners add NAME")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range a.Runners {
		what := fmt.Sprintf("%d free", r.Slots)
		switch {
		case len(r.Jobs) > 0:
			j := r.Jobs[0]
			what = fmt.Sprintf("%s of build %s", j.Step, print.Short(j.Build, 8))
			if n := len(r.Jobs) - 1; n > 0 {
				what += fmt.Sprintf(" and %d more", n)
			}
		case r.State == api.RunnerNone:
			what = "no machine has its token"
		case r.State == api.RunnerAway:
			what = "last heard " + now.Sub(r.Seen).Round(time.Second).String() + " ago"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", print.OneLine(r.Name), r.State, print.OneLine(what), print.OneLine(strings.TrimSpace(r.OS+" "+r.Arch+" "+r.Executor)), print.OneLine(strings.Join(r.Tags, ",")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for asks, n := range a.Waiting {
		if n > 0 {
			if asks == "" {
				asks = "any runner"
			}
			fmt.Fprintf(out, "%s for %s\n", print.Plural(n, "part of a build waits", "parts of builds wait"), print.OneLine(asks))
		}
	}
	return nil
}
