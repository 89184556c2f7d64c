package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/inspect"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Validate checks a configuration as the server would.
type Validate struct {
	File string `arg:"" optional:"" default:".submitqueue.yml" help:"File to check." type:"path"`
}

// Run implements the command.
func (c *Validate) Run(ctx context.Context) error {
	data, err := c.read(ctx)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no %s; name the file to check: submitqueue validate FILE", c.File)
	} else if err != nil {
		return err
	}
	cfg, err := config.Parse(c.File, data)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return print.ExitCode(1)
	}
	if _, err := analyzers.All().Of(cfg.Analysis); err != nil {
		fmt.Fprintf(os.Stderr, "%s: analysis: %v\n", c.File, err)
		return print.ExitCode(1)
	}
	beside := freezeText(cfg, time.Now()) + quarantineText(cfg, time.Now()) + autoText(cfg) + ignoreText(cfg) + runnersText(cfg) + reportText(cfg) + unfetchedAt(ctx, filepath.Dir(c.File), cfg)
	seen, err := inspect.Glance(ctx, filepath.Dir(c.File), cfg)
	if err != nil {
		return fmt.Errorf("%s is valid, but HEAD cannot be analyzed by it: %w", c.File, err)
	}
	if seen != "" {
		beside = "  " + seen + "\n" + beside
	}
	if len(cfg.Analysis.Analyzers) == 0 {
		fmt.Printf("%s is valid: %s, analyzer %s\n", c.File, print.Counted(len(cfg.Steps), "step"), cfg.Analysis.Analyzer)
		fmt.Print(beside)
		return nil
	}
	fmt.Printf("%s is valid: %s, %s\n", c.File, print.Counted(len(cfg.Steps), "step"), print.Counted(len(cfg.Analysis.Analyzers), "analyzer"))
	for _, a := range cfg.Analysis.Analyzers {
		fmt.Println("  " + partText(cfg, a))
	}
	fmt.Print(beside)
	return nil
}

// read returns the file, or of a larger one as much as says that it is too large. The file may be
// a pipe that nobody ends.
func (c *Validate) read(ctx context.Context) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		f, err := os.Open(c.File)
		if err != nil {
			done <- answer{nil, err}
			return
		}
		data, err := io.ReadAll(io.LimitReader(f, config.MaxSize+1))
		done <- answer{data, errors.Join(err, f.Close())}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// runnersText names the steps that the server's own runners do not run, and which
// runners do. Which there are is known to the server alone.
func runnersText(c *config.Config) string {
	text := ""
	for _, s := range c.Steps {
		if len(s.Tags) > 0 {
			tags := strings.Join(s.Tags, ",")
			text += "  step " + s.Name + ": waits for a runner with the tags " + tags + ", which the server's own have not; submitqueue runners add NAME --tags " + tags + " makes one\n"
		}
		if s.Image != "" {
			text += "  step " + s.Name + ": waits for a GitLab Runner that runs images, such as one with the docker executor; the server's own and submitqueue runner run none\n"
		}
	}
	return text
}

// reportText names the steps that prove no pass when they fail, and says what helps.
func reportText(c *config.Config) string {
	text := ""
	for _, s := range c.Steps {
		if what, instead := s.Unread(); what != "" {
			text += "  step " + s.Name + ": when it fails, no " + what + " of that run has passed, since the rest of its command may not have run for it; " + instead + "\n"
		}
	}
	return text
}

// quarantineText says which targets are in quarantine, and which entries no longer count.
func quarantineText(c *config.Config, now time.Time) string {
	text := ""
	for _, q := range c.Quarantines(now) {
		what := "  quarantine: " + q.String() + ", step " + strings.Join(q.Steps, ", ")
		if q.Over {
			what += "; the last day is over: failures there count again, so delete the entry or give it a later day"
		}
		text += what + "\n"
	}
	return text
}

// freezeText says when landings are held next, and by which rule.
func freezeText(c *config.Config, now time.Time) string {
	text := ""
	for _, w := range c.Queue.Freezes(now, 3) {
		f := c.Queue.Freeze[w.Rule]
		zone, err := time.LoadLocation(f.TimeZone)
		if err != nil {
			zone = time.UTC
		}
		const shown = "Mon 2 Jan 2006 15:04 MST"
		text += "  freeze: " + w.Start.In(zone).Format(shown) + " to " + w.End.In(zone).Format(shown) + ", " + f.Reason + "\n"
	}
	return text
}

// autoText names the rules by which pull requests enter without a command.
func autoText(c *config.Config) string {
	text := ""
	for _, a := range c.Queue.Auto {
		text += "  auto: rule " + a.Name + " enters changes without a command; /land explain says of one whether it holds, or what is missing\n"
	}
	return text
}

// ignoreText says what to check where files are left out of all hashes.
func ignoreText(c *config.Config) string {
	if len(c.Analysis.Ignore) == 0 {
		return ""
	}
	return "  ignore: a change to these files runs no step; whether a step reads one of them, submitqueue audit inputs says\n"
}

// partText says what one of several analyzers covers, and which steps verify its targets.
func partText(c *config.Config, a config.SubAnalysis) string {
	text := a.Name + ": " + a.Analyzer + " in the whole repository"
	if a.Under != "" {
		text = a.Name + ": " + a.Analyzer + " in " + a.Under + "/"
	}
	if len(a.Needs) > 0 {
		text += ", needs " + strings.Join(a.Needs, ", ")
	}
	steps := inspect.StepsOf(c.Steps, config.TargetOf(a.Name, ""))
	if len(steps) == 0 {
		return text + "; verified by steps on the whole tree alone"
	}
	return text + "; verified by " + strings.Join(steps, ", ")
}

// Schema prints the schema by which editors complete and check the file.
type Schema struct{}

// Run implements the command.
func (Schema) Run() error {
	_, err := os.Stdout.Write(config.Schema())
	return err
}
