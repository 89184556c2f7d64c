package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Flakes are the targets of a queue that have passed where they had failed before, with
// nothing changed.
type Flakes struct {
	Queue   string        `json:"queue"`
	Minutes float64       `json:"minutes"` // that all flakes together have cost, as Lost
	Targets []FlakyTarget `json:"targets"` // those first that have cost the most
}

// FlakyTarget is a flaky target, under one step.
type FlakyTarget struct {
	Step        string  `json:"step"`
	Target      string  `json:"target"`
	Flakes      int     `json:"flakes"`          // how often it has passed where it had failed by name, since the queue has known it
	Rate        float64 `json:"rate"`            // share of its latest results that were such passes; a part of one where the step names no targets
	Low         float64 `json:"low"`             // lower end of the 95 % interval of that share (Wilson's score), of as many results as the queue remembers
	High        float64 `json:"high"`            // its upper end
	Runs        int     `json:"runs"`            // results since the queue has known it
	Excused     int     `json:"excused"`         // how often it has failed in quarantine, which did not count, since the queue has known it
	Quarantined bool    `json:"quarantined"`     // it is in quarantine by the configuration of the branch
	Seen        string  `json:"seen,omitempty"`  // when it last was flaky, or failed in quarantine
	Build       string  `json:"build,omitempty"` // the build that showed it
	Log         string  `json:"log,omitempty"`   // path of its log
	Lost        float64 `json:"lost"`            // minutes: the failing runs, each as long as the target takes
}

// FlakesSource is a Source that knows which targets are flaky.
type FlakesSource interface {
	// Flakes returns the flaky targets of a queue, the most costly first.
	Flakes(ctx context.Context, name string) ([]FlakyTarget, error)
}

func (s *Handlers) flakes(c echo.Context) error {
	q, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	source, ok := s.o.Source.(FlakesSource)
	if !ok {
		return &Problem{http.StatusNotFound, "This server keeps no list of flaky targets."}
	}
	list, err := source.Flakes(c.Request().Context(), q.Name)
	if err != nil {
		return s.ledgerAway(q.Name, err)
	}
	out := Flakes{Queue: q.Name, Targets: list}
	for _, t := range list {
		out.Minutes += t.Lost
	}
	return answer(c, out)
}
