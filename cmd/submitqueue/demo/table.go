package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Look is the size of a terminal at one moment, and whether it has colours.
type Look struct {
	Width, Height int
	Color         bool
}

// Table renders rows, one line each, below a line of totals: a pure function. No line
// is wider than the terminal, and there are no more lines than the terminal has. Rows
// with a verdict are left out first, the oldest of them first.
func Table(rows []Row, elapsed time.Duration, look Look) []string {
	wide := max(20, look.Width-1) // the last column would wrap on some terminals
	lines := []string{strings.TrimRight(fit(totals(rows, elapsed), wide), " ")}
	room := look.Height - 3
	shown := slices.Clone(rows)
	hidden := 0
	for i := 0; i < len(shown) && len(shown) > max(1, room); {
		if shown[i].Phase.Final() {
			shown = slices.Delete(shown, i, i+1)
			hidden++
			continue
		}
		i++
	}
	if more := len(shown) - max(1, room); more > 0 {
		shown = shown[:max(1, room)]
		hidden += more
	}
	for _, r := range shown {
		lines = append(lines, tableLine(r, wide, look.Color))
	}
	if hidden > 0 {
		lines = append(lines, fit(fmt.Sprintf("  and %d more", hidden), wide))
	}
	return lines
}

func totals(rows []Row, elapsed time.Duration) string {
	n := map[queue.Phase]int{}
	final := 0
	for _, r := range rows {
		n[r.Phase]++
		if r.decided() {
			final++
		}
	}
	return fmt.Sprintf("%s  %d of %d decided: %d landed, %d rejected", clock(elapsed), final, len(rows), n[queue.Landed], n[queue.Rejected])
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// tableLine is number, state, bar, title, author and detail, as far as they fit.
func tableLine(r Row, wide int, color bool) string {
	state := paint(fit(r.label(), 9), r.Phase, color)
	used := 5 + 1 + 9
	line := fit(r.ref(), 5) + " " + state
	if wide >= 50 {
		line += " " + print.Bar(r.Progress, 10)
		used += 11
	}
	rest := wide - used - 1
	if wide < 90 {
		return line + " " + fit(r.Title, rest)
	}
	title := min(56, rest*45/100)
	return line + " " + fit(r.Title, title) + " " + fit(r.Author, 8) + " " + fit(r.why(), rest-title-10)
}

func paint(text string, phase queue.Phase, color bool) string {
	code := ""
	switch phase {
	case queue.Landed:
		code = "32"
	case queue.Rejected:
		code = "31"
	case queue.Parked, queue.Cancelled, queue.NothingToLand:
		code = "33"
	case queue.Pending, queue.Landing:
		code = "36"
	}
	if !color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Changed returns one line for each row with another state than the one in seen, and
// notes the new state there.
func Changed(rows []Row, elapsed time.Duration, seen map[int]string) []string {
	var lines []string
	for _, r := range rows {
		state := r.label()
		if r.Phase == "" && !r.decided() || seen[r.Number] == state {
			continue
		}
		seen[r.Number] = state
		line := fmt.Sprintf("%s  %s %s %s", clock(elapsed), fit(r.ref(), 4), fit(r.label(), 9), clean(r.Title))
		if why := r.why(); why != "" {
			line += " (" + clean(why) + ")"
		}
		lines = append(lines, line)
	}
	return lines
}
