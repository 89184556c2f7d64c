//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Command runs a server of this build under faults.
type Command struct {
	For     time.Duration `default:"2m" help:"How long faults come."`
	Seed    uint64        `help:"What is drawn: changes, faults and when; 0: another each time."`
	Faults  []string      `placeholder:"NAME,..." help:"Only these: kill, term and stop (the server), redis-kill, redis-lose (its last writes), redis-empty, wire-hang and wire-dead (to Redis), mirror, disk, step, past (a push past the queue), second (another server), clock (it jumps)."`
	Pending int           `default:"8" help:"How many changes are asked for at a time."`
	Settle  time.Duration `default:"60s" help:"How long after the last fault each change has its verdict."`
	JSON    string        `name:"json" help:"Write the report to a file." placeholder:"FILE" type:"path"`
	Keep    bool          `help:"Leave the repository, the data and the logs."`
}

// Help implements kong's HelpProvider.
func (Command) Help() string {
	return `Authors ask for changes all the time, good ones, bad ones, and such that are good alone; meanwhile the server and its Redis are killed, stopped, cut off and robbed of what they have. Every commit of main is looked at, and every verdict. The status is 1 when anything is wrong.`
}

// Run implements the command.
func (c *Command) Run(ctx context.Context) (err error) {
	if c.For <= 0 || c.Pending < 1 || c.Settle <= 0 {
		return errors.New("--for, --pending and --settle are more than nothing")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "submitqueue-chaos-")
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	fmt.Printf("Again with: submitqueue chaos --seed %d --for %v\n", c.Seed, c.For)
	report, err := Run(ctx, Options{Program: self, Dir: dir, Seed: c.Seed, For: c.For, Settle: c.Settle, Pending: c.Pending, Faults: c.Faults, Out: os.Stdout})
	if report != nil {
		report.Print(os.Stdout)
	}
	wrong := err != nil && ctx.Err() == nil || report != nil && len(report.Violations) > 0
	if c.Keep || wrong {
		fmt.Fprintln(os.Stderr, "All of it is kept in", dir)
	} else {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if report != nil {
		err = errors.Join(err, print.Figures(c.JSON, report))
	}
	if err == nil && wrong {
		return print.ExitCode(1)
	}
	return err
}
