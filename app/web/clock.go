package web

import (
	"fmt"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// stamp is a moment on a page: exact for machines and on hover, relative for
// reading. The zero stamp is an unknown moment.
type stamp struct {
	ISO   string
	Exact string
	Words string
}

// Known reports whether there is a moment to show.
func (s stamp) Known() bool { return s.ISO != "" }

func stampOf(at, now queue.Instant) stamp {
	if at == 0 {
		return stamp{}
	}
	s := stamp{ISO: at.Time().Format(time.RFC3339), Exact: at.Time().Format("2 Jan 2006 15:04:05 UTC")}
	switch d := at.Sub(now); {
	case d > -5*time.Second && d < 5*time.Second:
		s.Words = "now"
	case d > 0:
		s.Words = "in " + span(d)
	default:
		s.Words = span(-d) + " ago"
	}
	return s
}

// clockOf is a moment as a clock shows it, with the day where it is not today.
func clockOf(at, now queue.Instant) stamp {
	s := stampOf(at, now)
	if at == 0 {
		return s
	}
	ago := s.Words
	s.Words = at.Time().Format("15:04:05 UTC")
	if at.Time().YearDay() != now.Time().YearDay() || now.Sub(at) >= 24*time.Hour {
		s.Words = at.Time().Format("2 Jan 15:04:05 UTC")
	}
	s.Exact = ago + ", " + s.Exact
	return s
}

// dueOf is a moment at which something is to happen. Once the moment has come, the words are
// "now".
func dueOf(at, now queue.Instant) stamp {
	s := stampOf(at, now)
	if at != 0 && at <= now {
		s.Words = "now"
	}
	return s
}

// span returns a duration as people say it, to two digits or so.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", (d+30*time.Second)/time.Minute)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		if m := d % time.Hour / time.Minute; m != 0 && d < 10*time.Hour {
			return fmt.Sprintf("%d h %d min", d/time.Hour, m)
		}
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
