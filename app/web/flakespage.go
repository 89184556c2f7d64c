package web

import (
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// FlakyTarget is a target that has passed under one step where it had failed before, or
// has failed in quarantine. Its texts may be hostile.
type FlakyTarget struct {
	Step, Target    string
	Flakes, Runs    int
	Rate, Low, High float64 // share of the latest results, and its 95 % interval
	Excused         int     // failures in quarantine
	Quarantined     bool
	Seen            queue.Instant // 0: not known
	Build           queue.BuildID // of Seen
	Lost            time.Duration
}

type flakesModel struct {
	page
	Queue string
	Total string
	List  []flakyRow
	Names []flakesLink // to choose from
}

type flakesLink struct{ Name, Path string }

type flakyRow struct {
	Target, Step, Often, Share, Between, Lost, Log string
	Bar                                            int // of 100: the share as it is drawn
	Chip                                           chip
	Seen                                           stamp
}

// Flakes renders the page of a queue's flaky targets, in the given order.
func (p *Pages) Flakes(w io.Writer, name string, list []FlakyTarget, now queue.Instant) error {
	m := flakesModel{page: page{Title: "Flakes"}, Queue: clean(name)}
	var lost time.Duration
	for _, t := range list {
		lost += t.Lost
		row := flakyRow{Target: clean(t.Target), Step: clean(t.Step), Often: fmt.Sprintf("%d in %s", t.Flakes, count(t.Runs, "result", "results")), Share: percent(t.Rate), Between: percent(t.Low) + " to " + percent(t.High),
			Lost: minutes(t.Lost), Bar: int(100*min(max(t.Rate, 0), 1) + 0.5)}
		switch {
		case t.Quarantined && t.Excused > 0:
			row.Chip = chip{"warn", fmt.Sprintf("in quarantine, %d failed", t.Excused)}
		case t.Quarantined:
			row.Chip = chip{"warn", "in quarantine"}
		case t.Excused > 0:
			row.Chip = chip{"calm", fmt.Sprintf("was in quarantine, %d failed", t.Excused)}
		default:
			row.Chip = chip{"busy", "counts"}
		}
		if t.Seen != 0 {
			row.Seen, row.Log = stampOf(t.Seen, now), logPath(t.Build)
		}
		m.List = append(m.List, row)
	}
	m.Total = count(len(list), "target", "targets") + ", " + minutes(lost) + " of builds lost"
	return p.render(w, "flakes", m)
}

// FlakesOf renders the page that asks which queue's flaky targets to show.
func (p *Pages) FlakesOf(w io.Writer, names []string) error {
	m := flakesModel{page: page{Title: "Flakes"}}
	for _, name := range names {
		m.Names = append(m.Names, flakesLink{clean(name), "/flakes?" + url.Values{"queue": {name}}.Encode()})
	}
	return p.render(w, "flakes", m)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func minutes(d time.Duration) string { return fmt.Sprintf("%.1f min", d.Minutes()) }
