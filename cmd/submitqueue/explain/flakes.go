package explain

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Flakes lists flaky targets.
type Flakes struct {
	client.Flags
	Max  int  `default:"20" help:"Show at the most so many targets."`
	JSON bool `name:"json" help:"Print what the API answers."`
}

// Run implements the command.
func (f *Flakes) Run(ctx context.Context) error {
	if f.Max < 1 {
		return print.UsageError("--max is a number from 1 up")
	}
	c, err := f.Open()
	if err != nil {
		return err
	}
	path := "/api/flakes?" + url.Values{"queue": {f.Queue}}.Encode()
	if f.JSON {
		return c.Print(ctx, path)
	}
	var v api.Flakes
	if err := c.Get(ctx, path, &v); err != nil {
		return err
	}
	fmt.Print(flakesText(v, f.Max))
	return nil
}

// flakesText is the list for people.
func flakesText(v api.Flakes, most int) string {
	if len(v.Targets) == 0 {
		return "no target has passed what it had failed\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FLAKES\tRATE\t95 %\tMINUTES LOST\tQUARANTINE\tSTEP\tTARGET")
	for _, t := range v.Targets[:min(len(v.Targets), most)] {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Flakes, share(t.Rate), share(t.Low)+" to "+share(t.High), minutes(t.Lost), quarantine(t), print.OneLine(t.Step), print.OneLine(t.Target))
	}
	_ = w.Flush() // into memory
	if more := len(v.Targets) - most; more > 0 {
		fmt.Fprintf(&b, "and %d more; --max shows them\n", more)
	}
	fmt.Fprintf(&b, "%s, %s minutes lost\n", print.Counted(len(v.Targets), "target"), minutes(v.Minutes))
	return b.String()
}

// quarantine says whether a target is in quarantine, and how often it has failed there.
func quarantine(t api.FlakyTarget) string {
	switch {
	case t.Quarantined && t.Excused > 0:
		return fmt.Sprintf("yes, %d failed", t.Excused)
	case t.Quarantined:
		return "yes"
	case t.Excused > 0:
		return fmt.Sprintf("was, %d failed", t.Excused)
	}
	return "-"
}

// share is a share in percent; a very small one is "<0.1%".
func share(x float64) string {
	if x > 0 && x < 0.001 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*math.Min(math.Max(x, 0), 1))
}

func minutes(m float64) string { return fmt.Sprintf("%.1f", m) }
