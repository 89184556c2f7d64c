package texts

import (
	"fmt"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// clockText returns a moment as a clock shows it, with the day where it is not near.
func (w quote) clockText(t queue.Instant) string {
	at := t.Time()
	if away := t.Sub(w.o.Now); away > 18*time.Hour || away < -18*time.Hour {
		return at.Format("2 Jan 15:04 UTC")
	}
	return at.Format("15:04 UTC")
}

// ordinal returns 1st, 2nd, 3rd, 4th, 11th, 21st.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
