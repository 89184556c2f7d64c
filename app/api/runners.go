package api

import (
	"time"

	"github.com/labstack/echo/v4"
)

// Runner is a machine that runs builds for this server, or this server itself.
type Runner struct {
	Name     string      `json:"name"`
	Token    string      `json:"token,omitempty"` // the runner of `submitqueue runners` that its token belongs to; "": this server
	State    string      `json:"state"`           // idle, busy, paused, away; none: its token is used by no machine yet
	OS       string      `json:"os,omitempty"`
	Arch     string      `json:"arch,omitempty"`
	Executor string      `json:"executor,omitempty"` // hostile text, as are the two below
	Version  string      `json:"version,omitempty"`
	Tags     []string    `json:"tags,omitempty"`
	Slots    int         `json:"slots"` // jobs that it has and asks for
	Jobs     []RunnerJob `json:"jobs,omitempty"`
	Seen     time.Time   `json:"seen,omitzero"` // when it was last heard
}

// RunnerJob is a part of a build that a runner has.
type RunnerJob struct {
	Build   string    `json:"build"`
	Queue   string    `json:"queue,omitempty"`
	Step    string    `json:"step"`
	Targets int       `json:"targets"`
	Since   time.Time `json:"since"`
	Ending  bool      `json:"ending,omitempty"` // cancelled; the runner has not ended it yet
}

// The states of runners.
const (
	RunnerIdle   = "idle"
	RunnerBusy   = "busy"
	RunnerPaused = "paused"
	RunnerAway   = "away"
	RunnerNone   = "none"
)

// RunnersAnswer is the answer to GET /api/runners.
type RunnersAnswer struct {
	Runners []Runner       `json:"runners"`
	Waiting map[string]int `json:"waiting"` // parts of builds that wait, by the tags, OS and architecture that they ask for
}

func (s *Handlers) runners(c echo.Context) error {
	if s.o.Runners == nil {
		return answer(c, RunnersAnswer{Runners: []Runner{}})
	}
	out := s.o.Runners()
	if out.Runners == nil {
		out.Runners = []Runner{}
	}
	return answer(c, out)
}
