package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Deps are what Run needs from outside.
type Deps struct {
	// Start starts the product with so many runners.
	Start func(ctx context.Context, runners int) (Stack, error)
	// Out gets all output: live if it is a terminal.
	Out io.Writer
	// Getenv reads NO_COLOR and TERM.
	Getenv func(string) string
	// Now is the clock.
	Now func() time.Time
	// Poll is how often rows are read; 0: 100 ms.
	Poll time.Duration
	// Stall is how long nothing may change before the demo gives up; 0: 5 minutes.
	Stall time.Duration
	// Memory returns the most memory that this process has had; nil: PeakMemory.
	Memory func() int64
	// Slow is how long the slow test of the generated repository takes; 0: 10 s.
	Slow time.Duration
}

// The reasons why a demo did not end well. The report has the details.
var (
	ErrStuck = errors.New("demo: some changes got no verdict")
	ErrWrong = errors.New("demo: an outcome is wrong or a commit is not green")
)

// Run runs a demo from the first header to the last line of the report, and with Keep
// or Play until ctx ends. Nothing of the demo is left when Run returns. Errors:
// ErrStuck, ErrWrong, ctx's error when it ended before the report, and errors of things
// that could not be done.
func Run(ctx context.Context, flags Flags, deps Deps) (err error) {
	if err := flags.Validate(); err != nil {
		return err
	}
	if flags.Red > 0 {
		if deps.Poll == 0 {
			deps.Poll = 100 * time.Millisecond
		}
		return runRed(ctx, flags, deps)
	}
	if flags.JSON != "" {
		if err := checkWritable(flags.JSON); err != nil {
			return fmt.Errorf("--json %s cannot be written: %w", flags.JSON, err)
		}
	}
	dir, err := os.MkdirTemp("", "submitqueue-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	plan, err := makePlan(ctx, flags, deps, dir)
	if err != nil {
		return err
	}
	return runPlan(ctx, plan, flags, deps)
}

// runPlan is Run once it is known what to land.
func runPlan(ctx context.Context, plan *Plan, flags Flags, deps Deps) (err error) {
	if deps.Poll == 0 {
		deps.Poll = 100 * time.Millisecond
	}
	if deps.Stall == 0 {
		deps.Stall = 5 * time.Minute
	}
	if deps.Memory == nil {
		deps.Memory = PeakMemory
	}
	dir, err := os.MkdirTemp("", "submitqueue-proof-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintf(deps.Out, "SubmitQueue demo: %s on %s, %s\n", print.Counted(len(plan.Changes), flags.noun()),
		clean(plan.Title), print.Counted(flags.Runners, "runner"))
	stack, err := deps.Start(ctx, flags.Runners)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	fmt.Fprintf(deps.Out, "Testing %s itself first. Where Go has an empty cache, this takes a minute.\n", clean(plan.Branch))
	if err := stack.Publish(ctx, plan); err != nil {
		return err
	}
	if flags.Play {
		return play(ctx, plan, stack, &flags, deps)
	}
	d := &driver{deps: deps, stack: stack, plan: plan, screen: NewScreen(deps.Out, deps.Getenv)}
	d.header()
	report, stuck, err := d.drive(ctx, dir)
	if err != nil {
		return err
	}
	report.Memory = deps.Memory()
	if err := report.Write(deps.Out); err != nil {
		return err
	}
	figures := report.Figures()
	if flags.JSON != "" {
		if err := figures.WriteFile(flags.JSON); err != nil {
			return err
		}
		fmt.Fprintf(deps.Out, "The figures are in %s.\n", clean(flags.JSON))
	}
	if flags.Keep {
		links := stack.Links()
		fmt.Fprintf(deps.Out, "\nStill serving: the dashboard at %s, the %ss with the bot's comments at %s; interrupt to stop.\n", links.Dashboard, flags.noun(), links.Pulls)
		<-ctx.Done()
	} else {
		fmt.Fprintf(deps.Out, "\nThe dashboard, the %ss and the logs are gone now; with --keep they stay until you interrupt, and with --play you comment and push yourself.\n", flags.noun())
	}
	switch {
	case stuck:
		return ErrStuck
	case figures.WrongOutcomes > 0 || len(report.Red) > 0:
		return ErrWrong
	}
	return nil
}

func makePlan(ctx context.Context, flags Flags, deps Deps, dir string) (*Plan, error) {
	if flags.Repo != "" {
		return Import(ctx, Own{Repo: flags.Repo, Branches: flags.Branches}, dir)
	}
	return Generate(Size{Seed: flags.Seed, Changes: flags.Changes, Slow: deps.Slow})
}
