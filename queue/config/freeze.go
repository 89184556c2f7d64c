package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/robfig/cron/v3"
)

// Freeze is a rule by which landings are held again and again: builds go on, and proven
// changes land when the window ends. Emergencies land meanwhile.
type Freeze struct {
	// Cron says when it begins: minute, hour, day of the month, month and day of the week, as in crontab(5), e.g. "0 16 * * FRI". At most once an hour.
	Cron string `json:"cron" yaml:"cron" jsonschema:"required,maxLength=100,pattern=^[0-9A-Za-z*/?-][0-9A-Za-z*/?\\x2c \\x2d]*$"`
	// For is how long it lasts, in time that really passes. From 1m to 744h.
	For time.Duration `json:"for" yaml:"for" jsonschema:"required" jsonschema_extras:"x-minimum=1m,x-maximum=744h"`
	// Reason is shown to everybody who waits.
	Reason string `json:"reason" yaml:"reason" jsonschema:"required,maxLength=200,pattern=^\\S([^\\r\\n\\x00]*\\S)?$"`
	// TimeZone is the time zone of cron, by its name in the IANA database, e.g. Europe/Berlin. Default UTC.
	TimeZone string `json:"time_zone,omitempty" yaml:"time_zone,omitempty" jsonschema:"maxLength=64,default=UTC"`
	// Except says which changes land nevertheless. Default none.
	Except FreezeExcept `json:"except,omitzero" yaml:"except,omitempty"`
}

// FreezeExcept says which changes a freeze does not hold: one of these conditions is enough.
type FreezeExcept struct {
	// Lanes are lanes whose changes land nevertheless.
	Lanes []string `json:"lanes,omitempty" yaml:"lanes,omitempty" jsonschema:"maxItems=10"`
	// Labels are labels of pull requests that land nevertheless, in any case of letters.
	Labels []string `json:"labels,omitempty" yaml:"labels,omitempty" jsonschema:"maxItems=50,pattern=^\\S([^\\r\\n\\x00]*\\S)?$"`
	// Paths are globs: a change lands nevertheless where each path that it touches matches one of them.
	Paths []string `json:"paths,omitempty" yaml:"paths,omitempty" jsonschema:"maxItems=100"`
}

// Lets reports whether a change in a lane, with some labels, lands nevertheless; paths are
// all that it touches, none where that is not known.
func (e FreezeExcept) Lets(lane string, labels, paths []string) bool {
	if lane != "" && slices.Contains(e.Lanes, lane) || slices.ContainsFunc(labels, e.labelled) {
		return true
	}
	return len(e.Paths) > 0 && len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		return !slices.ContainsFunc(e.Paths, func(g string) bool { return doublestar.MatchUnvalidated(g, p) })
	})
}

func (e FreezeExcept) labelled(label string) bool {
	return slices.ContainsFunc(e.Labels, func(l string) bool { return strings.EqualFold(l, label) })
}

// Excepting returns those of some labels that except their pull request from a freeze.
func (r Rules) Excepting(labels []string) (out []string) {
	for _, l := range labels {
		if slices.ContainsFunc(r.Freeze, func(f Freeze) bool { return f.Except.labelled(l) }) {
			out = append(out, l)
		}
	}
	return out
}

// Window is one time in which a freeze holds landings, from Start to before End.
type Window struct {
	Start, End time.Time
	Rule       int // index of its rule
}

// maxStarts bounds the starts of a rule that are looked at: one an hour in 744 hours, with
// room for two days.
const maxStarts = 800

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Windows returns the first n windows of the rule that end after a moment, in order; fewer
// where there are no more within five years, none where the rule is not valid.
//
// Cron is read on the wall clock of the time zone. Where that clock leaps over the start,
// the window begins at the leap; where it shows the start twice, the window begins at the
// first time. A window always lasts the same time, even if clocks change meanwhile.
func (f Freeze) Windows(from time.Time, n int) (out []Window) {
	s, err := cronParser.Parse(f.Cron)
	zone, known := zoneOf(f.TimeZone)
	if err != nil || !known {
		return nil
	}
	// The library is shown the wall clock as if it were UTC, which never leaps: with a
	// time zone, it would leave out starts that the clock leaps over.
	wall := wallOf(from.Add(-f.For).In(zone)).Add(-3 * time.Hour)
	for range maxStarts + n {
		if wall = s.Next(wall); wall.IsZero() || len(out) == n {
			break
		}
		if at := onWall(wall, zone); at.Add(f.For).After(from) {
			out = append(out, Window{Start: at, End: at.Add(f.For)})
		}
	}
	return out
}

// wallOf returns the time that the wall clock shows, as if it were UTC.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// onWall returns the first moment at which the wall clock of a zone shows a time, or has
// leapt over it.
func onWall(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	begin, end := t.ZoneBounds()
	switch shown := wallOf(t); {
	case shown.After(wall):
		return begin
	case shown.Before(wall):
		return end
	}
	if !begin.IsZero() { // it may have been shown before the clock was set back
		_, now := t.Zone()
		_, before := begin.Add(-time.Second).Zone()
		if first := t.Add(time.Duration(now-before) * time.Second); first.Before(begin) && wallOf(first.In(zone)).Equal(wall) {
			return first
		}
	}
	return t
}

// zones are the time zones that somebody has named. They are tables that never change while
// the program runs.
var zones sync.Map

// zoneOf returns a time zone by its name in the IANA database.
func zoneOf(name string) (*time.Location, bool) {
	if name == "" || name == "UTC" {
		return time.UTC, true
	}
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), true
	}
	z, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, false
	}
	zones.Store(name, z)
	return z, true
}

// Freezes returns the first n windows of all rules that end after a moment, by their start.
func (r Rules) Freezes(from time.Time, n int) (out []Window) {
	for i, f := range r.Freeze {
		for _, w := range f.Windows(from, n) {
			w.Rule = i
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b Window) int { return a.Start.Compare(b.Start) })
	return out[:min(n, len(out))]
}

// checkFreeze reports mistakes that a single field of freezes cannot show.
func checkFreeze(d *document, c *Config) {
	lanes := c.Queue.LaneNames()
	if len(c.Queue.Lanes) == 0 {
		lanes = Rules{Lanes: DefaultLanes()}.LaneNames()
	}
	for i, f := range c.Queue.Freeze {
		path := fmt.Sprintf("queue.freeze[%d]", i)
		if f.TimeZone != "" && !d.refused[path+".time_zone"] {
			if _, known := zoneOf(f.TimeZone); !known {
				d.report(path+".time_zone", "%s.time_zone is %s, and there is no such time zone: write a name of the IANA database such as \"Europe/Berlin\"", path, quoted(f.TimeZone))
			}
		}
		if f.Cron != "" && !d.refused[path+".cron"] {
			f.check(d, path+".cron")
		}
		for j, l := range f.Except.Lanes {
			if !slices.Contains(lanes, l) && !d.refused["queue.lanes"] {
				sub := fmt.Sprintf("%s.except.lanes[%d]", path, j)
				d.report(sub, "%s is %s, and no lane has that name%s: there are %s", sub, quoted(l), didYouMean(l, lanes), strings.Join(lanes, ", "))
			}
		}
		d.globs(path+".except.paths", f.Except.Paths)
	}
}

// check reports what is wrong with the rule's times.
func (f Freeze) check(d *document, path string) {
	s, err := cronParser.Parse(f.Cron)
	if err != nil {
		d.report(path, "%s must be a minute, an hour, a day of the month, a month and a day of the week, such as \"0 16 * * FRI\": %v", path, err)
		return
	}
	at := s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second))
	if at.IsZero() {
		d.report(path, "%s never comes: there is no such day", path)
		return
	}
	for range 100 { // the pattern of minutes is the same each hour
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		if next.Sub(at) < time.Hour {
			d.report(path, "%s begins more than once an hour: name one minute, and say how long it lasts with `for`", path)
			return
		}
		at = next
	}
}
