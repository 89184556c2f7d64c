// Command submitqueue is the whole product: the server, the demo, and the
// commands that talk to a server or look at a repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line. Every flag has an environment twin where a server
// may want one.
type cli struct {
	Demo      demoCommand      `cmd:"" help:"Watch real pull requests land on a simulated GitHub, then see main proven green."`
	Serve     serveCommand     `cmd:"" help:"Run the server."`
	Land      landCommand      `cmd:"" help:"Ask a server to land a branch (local forge) or a pull request."`
	Status    statusCommand    `cmd:"" help:"Show a server's queue, or one change of it."`
	Cancel    cancelCommand    `cmd:"" help:"Take a change out of a server's queue."`
	Pause     pauseCommand     `cmd:"" help:"Hold landings, saying why; builds go on."`
	Blame     blameCommand     `cmd:"" help:"Say which commit turned the target branch red, with the evidence."`
	Resume    resumeCommand    `cmd:"" help:"Let landings go on."`
	Token     tokenCommand     `cmd:"" help:"Make, list and remove tokens of a server, and links that sign a browser in."`
	Ledger    ledgerCommand    `cmd:"" help:"Show what is known of a target, a key or a change, or have it forgotten."`
	Doctor    doctorCommand    `cmd:"" help:"Say what is wrong with a repository's set-up on GitHub, and how to put it right."`
	Init      initCommand      `cmd:"" help:"Write a first .submitqueue.yml from what a clone shows."`
	Validate  validateCommand  `cmd:"" help:"Check a .submitqueue.yml."`
	Schema    schemaCommand    `cmd:"" help:"Print the JSON schema of .submitqueue.yml."`
	Targets   targetsCommand   `cmd:"" help:"Show the targets of a tree, or those that a file belongs to."`
	Affected  affectedCommand  `cmd:"" help:"Say what a branch changes on main, target by target, and why."`
	Conflicts conflictsCommand `cmd:"" help:"Say which branches would wait for one another, and why."`
	Audit     auditCommand     `cmd:"" help:"Find what the steps read and no hash has."`
	Bench     benchCommand     `cmd:"" help:"Measure this build of the queue."`
	Chaos     chaosCommand     `cmd:"" help:"Run this build under kills, cut networks and lost data, and judge each commit and verdict."`
	Simulate  simulateCommand  `cmd:"" help:"Replay a queue's life with several planners and compare what each costs."`
	Version   versionCommand   `cmd:"" help:"Print which version this is."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print which version this is."`
}

func main() {
	if os.Getpid() == 1 {
		os.Exit(asFirst())
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
		return usage(parser, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	switch err := k.Run(); {
	case err == nil:
		return 0
	default:
		var code exitCode
		if errors.As(err, &code) {
			return int(code)
		}
		var wrong usageError
		if errors.As(err, &wrong) {
			fmt.Fprintln(os.Stderr, "submitqueue:", err)
			return exitUsage
		}
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return 130
		}
		fmt.Fprintln(os.Stderr, "submitqueue:", err)
		return 1
	}
}

func newParser() (*kong.Kong, error) {
	return kong.New(&cli{}, kong.Name("submitqueue"),
		kong.Description("A merge queue that keeps main green at every commit."),
		simulateVars(), kong.Vars{"data": dataFolder(), "version": version()}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
}

// usage says what is wrong with a command line and how it is meant.
func usage(parser *kong.Kong, err error) int {
	fmt.Fprintln(os.Stderr, "submitqueue:", err)
	help := "submitqueue --help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Command() != "" {
		help = parse.Context.Selected().FullPath() + " --help"
	}
	fmt.Fprintln(os.Stderr, "See:", help)
	return exitUsage
}
