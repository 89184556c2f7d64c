package app

import (
	"fmt"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// minuteMarks are the minutes that durations are rounded to: what is said
// changes a few times an hour, not each second.
func minuteMarks() []int {
	return []int{0, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1440, 2880, 7200, 10080}
}

// minutesText returns e.g. "20 minutes", "1.5 hours", "2 days".
func minutesText(m int) string {
	switch {
	case m < 60:
		return fmt.Sprintf("%d minutes", m)
	case m == 60:
		return "1 hour"
	case m == 90:
		return "1.5 hours"
	case m < 2880:
		return fmt.Sprintf("%d hours", m/60)
	}
	return fmt.Sprintf("%d days", m/1440)
}

// elapsedText returns how long something has been going on, rounded down.
func elapsedText(d time.Duration) string {
	mark := 0
	for _, m := range minuteMarks() {
		if time.Duration(m)*time.Minute <= d {
			mark = m
		}
	}
	if mark == 0 {
		return "for less than 2 minutes"
	}
	return "for over " + minutesText(mark)
}

// rangeText returns when something is expected that a prediction puts d from
// now: a range of about a third to both sides.
func rangeText(d time.Duration) string {
	marks := minuteMarks()
	low, high := 0, marks[len(marks)-1]
	for _, m := range marks {
		if time.Duration(m)*time.Minute <= d*2/3 {
			low = m
		}
	}
	for i := len(marks) - 1; i >= 0; i-- {
		if time.Duration(marks[i])*time.Minute >= d*4/3 {
			high = marks[i]
		}
	}
	switch {
	case high <= 2:
		return "any moment now"
	case low == 0:
		return "within " + minutesText(high)
	case low >= high:
		return "in more than " + minutesText(low)
	case high < 60:
		return fmt.Sprintf("in %d to %s", low, minutesText(high))
	case low >= 120 && high < 2880:
		return fmt.Sprintf("in %d to %s", low/60, minutesText(high))
	}
	return "in " + minutesText(low) + " to " + minutesText(high)
}

// clockText returns a moment as a clock shows it, with the day where it is not near.
func (w voice) clockText(t queue.Instant) string {
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
