// Command submitqueue is the whole product: the server, the demo, and the
// commands that talk to a server or look at a repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for freezes in time zones, on hosts that have no tables

	"github.com/alecthomas/kong"

	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/ask"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/bench"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/chaos"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/config"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo/live"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/explain"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/history"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/inspect"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/model"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/runner"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/setup"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/simulate"
)

// cli is the command line. A flag that a server may need also has an environment
// variable.
type cli struct {
	Demo       live.Command      `cmd:"" help:"Watch real pull requests land on a simulated GitHub or GitLab, then see main proven green."`
	Serve      server.Serve      `cmd:"" help:"Run the server."`
	Land       ask.Land          `cmd:"" help:"Ask a server to land a branch (local forge) or a pull request."`
	Status     explain.Status    `cmd:"" help:"Show a server's queue, or one change of it."`
	Cancel     ask.Cancel        `cmd:"" help:"Take a change out of a server's queue."`
	Try        ask.Try           `cmd:"" help:"Build a branch or a pull request as it would land, and land nothing."`
	Explain    ask.Explain       `cmd:"" help:"Say what would become of a branch or a pull request, or why it is where it is."`
	Now        ask.Now           `cmd:"" help:"Put a branch or a pull request before all others, in an emergency, saying why."`
	Delegate   ask.Delegate      `cmd:"" help:"Let somebody else land a pull request."`
	Undelegate ask.Undelegate    `cmd:"" help:"Take that back."`
	Pause      ask.Pause         `cmd:"" help:"Hold landings, saying why; builds go on."`
	Freeze     ask.Freeze        `cmd:"" help:"Hold landings until a moment, saying why; builds go on."`
	Blame      explain.Blame     `cmd:"" help:"Say which commit turned the target branch red, with the evidence."`
	Resume     ask.Resume        `cmd:"" help:"Let landings go on."`
	Token      ask.Token         `cmd:"" help:"Make, list and remove tokens of a server, and links that sign a browser in."`
	Logs       explain.Logs      `cmd:"" help:"Print the log of a build, or of what runs or failed of a change."`
	Runner     runner.Command    `cmd:"" help:"Run builds for a server on this machine."`
	Runners    runner.Runners    `cmd:"" help:"Make, list, pause and revoke the runners of a server: machines that run its builds."`
	Ledger     explain.Ledger    `cmd:"" help:"Show what is known of a target, a key or a change, or have it forgotten."`
	Flakes     explain.Flakes    `cmd:"" help:"List targets that pass what they have failed, with their rate and what they cost."`
	Setup      setup.Command     `cmd:"" help:"Connect a server to projects on GitLab: the webhook, its secret, the token. On GitHub, serve does it on its page."`
	Doctor     explain.Doctor    `cmd:"" help:"Say what is wrong with a repository's set-up on GitHub or GitLab, and how to put it right."`
	Init       config.Init       `cmd:"" help:"Write a first .submitqueue.yml from what a clone shows."`
	Validate   config.Validate   `cmd:"" help:"Check a .submitqueue.yml."`
	Schema     config.Schema     `cmd:"" help:"Print the JSON schema of .submitqueue.yml."`
	Targets    inspect.Targets   `cmd:"" help:"Show the targets of a tree, or those that a file belongs to."`
	Affected   inspect.Affected  `cmd:"" help:"Say what a branch changes on main, target by target, and why."`
	Conflicts  inspect.Conflicts `cmd:"" help:"Say which branches would wait for one another, and why."`
	Audit      inspect.Audit     `cmd:"" help:"Find what the steps read and no hash has."`
	Bench      bench.Command     `cmd:"" help:"Measure this build of the queue."`
	Chaos      chaos.Command     `cmd:"" help:"Run this build under kills, cut networks and lost data, and judge each commit and verdict."`
	Simulate   simulate.Command  `cmd:"" help:"Replay a queue's life with several planners and compare what each costs."`
	History    history.Command   `cmd:"" help:"Export, import and make histories: what simulations, models and analytics are made of."`
	Train      model.Train       `cmd:"" help:"Make a model of a queue's history: the chances and durations of changes."`
	Model      model.Command     `cmd:"" help:"The models that a server has learned: how good they are, and which is planned with."`
	Predict    model.Predict     `cmd:"" help:"Say what a model believes of a change, and why."`
	Version    versionCommand    `cmd:"" help:"Print which version this is."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print which version this is."`
}

func main() {
	if os.Getpid() == 1 {
		os.Exit(server.First())
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	parser, err := newParser()
	if err != nil {
		fmt.Fprintln(os.Stderr, "submitqueue:", err)
		return 1
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:], "--help")
	}
	k, err := parser.Parse(args)
	if err != nil {
		return usage(os.Stderr, parser, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	switch err := k.Run(); {
	case err == nil:
		return 0
	default:
		var code print.ExitCode
		if errors.As(err, &code) {
			return int(code)
		}
		var wrong print.UsageError
		if errors.As(err, &wrong) {
			complain(os.Stderr, err)
			return print.ExitUsage
		}
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return 130
		}
		complain(os.Stderr, err)
		return 1
	}
}

// complain prints an error, and where the documentation has more about it.
func complain(out io.Writer, err error) {
	fmt.Fprintln(out, "submitqueue:", err)
	place := print.PlaceOf(err)
	if place == "" && errors.Is(err, syscall.EADDRINUSE) {
		place = "troubleshoot#the-address-is-in-use"
	}
	if place != "" {
		fmt.Fprintln(out, "More:", docs.Online(place))
	}
}

func newParser() (*kong.Kong, error) {
	return kong.New(&cli{}, kong.Name("submitqueue"),
		kong.Description("A merge queue that keeps main green at every commit."),
		kong.Vars(simulate.Vars()), kong.Vars(server.Vars()), kong.Vars{"data": client.DataFolder(), "runner_data": client.DataFolder() + "-runner", "version": version()}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
}

// usage says what is wrong with a command line and where its help is.
func usage(out io.Writer, parser *kong.Kong, err error) int {
	fmt.Fprintln(out, "submitqueue:", err)
	help := "submitqueue --help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Command() != "" {
		help = parse.Context.Selected().FullPath() + " --help"
	}
	fmt.Fprintln(out, "See:", help)
	return print.ExitUsage
}
