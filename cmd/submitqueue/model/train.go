package model

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Train makes a model from a queue's history, and prints how good it is compared with
// predictions without a model, and which of its parts are used.
type Train struct {
	source
	Output string `short:"o" help:"Write the model to a file." placeholder:"MODEL" type:"path"`
	Seed   uint64 `default:"1" help:"Seed of all random draws."`
	JSON   bool   `name:"json" help:"Print the report as JSON."`
}

// Run implements the command.
func (c *Train) Run(ctx context.Context) error {
	name, samples, err := c.samples(ctx)
	if err != nil {
		return err
	}
	m, err := trained(name, samples, c.Seed)
	if err != nil {
		return err
	}
	if c.Output != "" {
		if err := write(c.Output, m); err != nil {
			return fmt.Errorf("the model cannot be written; name another file with --output: %w", err)
		}
	}
	if c.JSON {
		return print.JSON(os.Stdout, m.Report())
	}
	report(m.Report())
	return nil
}

// write puts a model into a file, all of it or nothing.
func write(file string, m *predict.Trained) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".model-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(append(text, '\n')); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// report prints the tables.
func report(r predict.Report) {
	p := print.Stdout()
	p.Line(fmt.Sprintf("%s decided, %d landed", print.Counted(r.Changes, "change"), r.Landed))
	p.Line("")
	p.Text("Chance that a change is sound by itself: "+use(r.Success.Why), "")
	if s := r.Success.Report; s != nil {
		row := func(name string, f predict.Figures) []string {
			return []string{name, fmt.Sprint(f.Rows), fmt.Sprintf("%.4f", f.LogLoss), fmt.Sprintf("%.4f", f.Brier), fmt.Sprintf("%.3f", f.AUC), fmt.Sprintf("%.3f", f.CalibrationError)}
		}
		p.Grid([][]string{{"", "changes", "log loss", "Brier", "AUC", "calibration error"},
			row("model", s.Model), row("base rate", s.BaseRate), row("last outcome", s.LastOutcome)}, "  ")
	}
	p.Line("")
	d := r.Duration
	p.Text("Duration of a change's first build: "+use(d.Why), "")
	if d.Model.Rows > 0 {
		row := func(name string, f predict.DurationFigures) []string {
			return []string{name, fmt.Sprint(f.Rows), fmt.Sprintf("%.1f %%", f.MAPE), fmt.Sprintf("%.3f", f.NLL), fmt.Sprintf("%.1f %%", 100*f.Coverage)}
		}
		rows := [][]string{{"", "builds", "MAPE", "NLL", "within 90 %"}, row("model", d.Model), row("median", d.Median)}
		if d.Estimate.Rows > 0 {
			rows = append(rows, row("queue's estimate", d.Estimate))
		}
		p.Grid(rows, "  ")
	}
}

func use(why string) string {
	if why == "" {
		return "used"
	}
	return "not used: " + why
}
