package simulate

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"fmt"
	"io"
	"os"
	"time"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// screen prints a row for each run, and on a terminal a bar while it goes on.
type screen struct {
	*print.Progress
	out   io.Writer
	head  bool
	shown time.Time
}

func newScreen(f *os.File) *screen { return &screen{Progress: print.NewProgress(f), out: f} }

const barWidth = 30

// progress draws the bar, at most ten times a second.
func (s *screen) progress(label string, workers, decided, total int) {
	if total == 0 || time.Since(s.shown) < 100*time.Millisecond {
		return
	}
	s.shown = time.Now()
	s.Say(fmt.Sprintf("%s, %d workers  %s %d of %d decided", label, workers, print.Bar(float64(decided)/float64(total), barWidth), decided, total))
}

// row prints the figures of a run.
func (s *screen) row(label string, m *sim.Metrics) {
	s.Clear()
	if !s.head {
		s.head = true
		fmt.Fprintf(s.out, "\n%-18s %7s %21s %22s %6s %6s %5s %7s %6s %8s %6s %6s %8s\n", "strategy", "workers",
			"P50 / P95 / P99 min", "ratio", "thrpt", "builds", "hours", "aborted", "landed", "rejected", "harmed", "CPU s", "plan P99")
	}
	fmt.Fprintf(s.out, "%-18s %7d %21s %22s %6.2f %6.2f %5.2f %6.0f%% %6d %8d %6d %6.2f %6.2fms%s\n", label, m.Workers,
		fmt.Sprintf("%.0f / %.0f / %.0f", m.P50, m.P95, m.P99),
		fmt.Sprintf("%.2f / %.2f / %.2f", m.Ratio.P50, m.Ratio.P95, m.Ratio.P99),
		m.Throughput, m.Builds, m.Hours, 100*m.Aborted, m.Landed, m.Rejected, m.Harmed, m.CPU, m.Plan.P99, wrong(m))
	if e := m.ETA; e != nil {
		fmt.Fprintf(s.out, "%-18s %s\n", "", etaText(e))
	}
}

// etaText says how good the forecasts of a run were.
func etaText(e *sim.ETA) string {
	text := fmt.Sprintf("ETA 80%% holds %.1f%%", 100*e.Holds)
	if e.Left > 0 {
		text += fmt.Sprintf(", width %.2f of what is left", e.Width/e.Left)
	}
	return text
}

// wrong says, for the row, what makes a run worthless.
func wrong(m *sim.Metrics) string {
	if !m.Bad() {
		return ""
	}
	return fmt.Sprintf("  WRONG: %d red, %d twice, %d undecided", m.Red, m.Twice, m.Undecided)
}
