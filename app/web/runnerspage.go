package web

import (
	"io"
	"slices"
	"strings"
	"time"

	"maps"

	"github.com/submitqueue/submitqueue/queue"
)

// Runner is a machine that runs builds, as the page of runners shows it. All texts may be
// hostile.
type Runner struct {
	Name, Token, State, OS, Arch, Executor, Version string
	Tags                                            []string
	Slots                                           int
	Jobs                                            []RunnerJob
	Seen                                            time.Time // zero: always
}

// RunnerJob is a part of a build that a runner has.
type RunnerJob struct {
	Build, Queue, Step string
	Targets            int
	Since              time.Time
	Ending             bool
}

type runnersModel struct {
	page
	Runners []runnerRow
	Waiting []waitingRow
}

type runnerRow struct {
	Name, Token, System, Tags string
	Chip                      chip
	Idle                      string // the text where it runs nothing
	Jobs                      []runnerJobRow
	Seen                      stamp
}

type runnerJobRow struct {
	What, Log string
	Ending    bool
	Since     stamp
}

type waitingRow struct {
	Asks string
	N    string
}

// runnerTones are the tones of the states of runners.
var runnerTones = map[string]string{"idle": "good", "busy": "busy", "paused": "warn", "away": "bad", "none": "calm"}

// Runners renders the page of the machines that run builds, and of the parts of builds
// that wait for them, by the tags, OS and architecture that they ask for.
func (p *Pages) Runners(w io.Writer, list []Runner, waiting map[string]int, now queue.Instant) error {
	m := runnersModel{page: page{Title: "Runners"}}
	for _, r := range list {
		row := runnerRow{Name: clean(r.Name), Token: clean(r.Token), Idle: count(r.Slots, "job can run here", "jobs can run here"), Chip: chip{runnerTones[r.State], clean(r.State)},
			System: clean(strings.Join(slices.DeleteFunc([]string{r.OS, r.Arch, r.Executor, r.Version}, func(s string) bool { return s == "" }), " ")),
			Tags:   clean(strings.Join(r.Tags, ", "))}
		if r.State == "none" {
			row.Idle = "no machine has its token yet"
		}
		if !r.Seen.IsZero() {
			row.Seen = stampOf(queue.At(r.Seen), now)
		}
		for _, j := range r.Jobs {
			row.Jobs = append(row.Jobs, runnerJobRow{What: clean(j.Step) + ", " + count(j.Targets, "target", "targets") + ", " + clean(j.Queue), Log: logPath(queue.BuildID(j.Build)),
				Ending: j.Ending, Since: stampOf(queue.At(j.Since), now)})
		}
		m.Runners = append(m.Runners, row)
	}
	for _, asks := range slices.Sorted(maps.Keys(waiting)) {
		if n := waiting[asks]; n > 0 {
			what := "any runner"
			if asks != "" {
				what = clean(asks)
			}
			m.Waiting = append(m.Waiting, waitingRow{what, count(n, "part of a build waits", "parts of builds wait")})
		}
	}
	return p.render(w, "runners", m)
}
