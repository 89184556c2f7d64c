package model

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Predict says what a model predicts of a change of a queue's history, from the facts that
// were known when the change was analyzed.
type Predict struct {
	source
	Explain string `xor:"change" required:"" help:"Number of a pull or merge request; of several changes of it, the latest." placeholder:"PR"`
	Change  string `xor:"change" required:"" help:"The same, or the id of a change." placeholder:"N"`
	Model   string `help:"A model of submitqueue train; default: the one that the server plans with; where it has none, and of a file, one is trained on the history." placeholder:"FILE" type:"path"`
	Seed    uint64 `default:"1" help:"Of a model that is trained."`
}

// Run implements the command.
func (c *Predict) Run(ctx context.Context) error {
	name, samples, err := c.samples(ctx)
	if err != nil {
		return err
	}
	s, err := find(samples, c.Explain+c.Change)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	m, err := c.model(ctx, name, samples)
	if err != nil {
		return err
	}
	explain(m, s)
	return nil
}

// model returns the model to ask: that of a file, that of the server, or a new one.
func (c *Predict) model(ctx context.Context, name string, samples []predict.Sample) (*predict.Trained, error) {
	switch {
	case c.Model != "":
		return Load(c.Model)
	case c.History == "":
		m, err := served(ctx, c.Flags, name)
		if m != nil || err != nil {
			return m, err
		}
		fmt.Fprintf(os.Stderr, "%s: the server plans with no model; one is trained for this\n", name)
	}
	return trained(name, samples, c.Seed)
}

// find returns the latest change of a pull request, or the one with an id.
func find(samples []predict.Sample, what string) (*predict.Sample, error) {
	number, err := strconv.Atoi(what)
	for i, s := range slices.Backward(samples) {
		if s.Change == queue.ChangeID(what) || err == nil && s.Number == number && number != 0 {
			return &samples[i], nil
		}
	}
	return nil, fmt.Errorf("there is no change %s in the history, or none that was analyzed", print.OneLine(what))
}

// explain prints what a model predicts of a change.
func explain(m *predict.Trained, s *predict.Sample) {
	p := print.Stdout()
	p.Line(fmt.Sprintf("Change %s, analyzed %s", s.Change, p.Clock(time.UnixMilli(int64(s.At)))))
	p.Line("")
	r := m.Report()
	if e, why, ok := m.ExplainGood(s.Case); ok {
		p.Text(fmt.Sprintf("It is sound by itself with a chance of %.1f %%; an average change has %.1f %%, calibration makes %.1f %% of %.1f %%.",
			100*e.Prob, 100*odds(e.Bias), 100*e.Calibrated, 100*e.Raw), "")
		p.Grid(table(why, "log-odds", func(by float64) string { return fmt.Sprintf("%+.3f", by) }), "  ")
	} else {
		p.Text("The model has no chance of changes: "+r.Success.Why+".", "")
	}
	p.Line("")
	if d, why, ok := m.ExplainDuration(s.Case); ok {
		p.Text(fmt.Sprintf("It builds for %s; nine of ten like it take %s to %s.", seconds(d.Quantile(0.5)), seconds(d.Quantile(0.05)), seconds(d.Quantile(0.95))), "")
		p.Grid(table(why, "longer by", func(by float64) string { return fmt.Sprintf("%+.1f %%", 100*math.Expm1(by)) }), "  ")
	} else {
		p.Text("The model has no durations: "+r.Duration.Why+".", "")
	}
	switch {
	case s.Decided && s.Landed:
		fmt.Fprintln(os.Stdout, "\nIt has landed.")
	case s.Decided:
		fmt.Fprintln(os.Stdout, "\nIt was rejected.")
	}
}

func table(why []predict.Reason, by string, show func(float64) string) [][]string {
	rows := [][]string{{"feature", "value", by}}
	for _, r := range why {
		value := "not known"
		if !math.IsNaN(r.Value) {
			value = strconv.FormatFloat(r.Value, 'g', 4, 64)
		}
		rows = append(rows, []string{r.Column, value, show(r.By)})
	}
	return rows
}

func odds(log float64) float64 { return 1 / (1 + math.Exp(-log)) }

func seconds(s float64) string {
	d := time.Duration(min(s, predict.Longest.Seconds()) * float64(time.Second))
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
