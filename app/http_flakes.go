package app

import (
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
)

// flakesPage shows the flaky targets of a queue, or which queues there are to choose from.
func (s *Server) flakesPage(c echo.Context) error {
	name, names := c.QueryParam("queue"), s.o.Source.Queues()
	if name == "" && len(names) != 1 {
		return s.page(c, http.StatusOK, func(w io.Writer) error { return s.pages.FlakesOf(w, names) })
	}
	v, err := s.api.Named(name)
	if err != nil {
		return err
	}
	source, ok := s.o.Source.(api.FlakesSource)
	if !ok {
		return &api.Problem{Status: http.StatusNotFound, Text: "This server keeps no list of flaky targets."}
	}
	seen, err := source.Flakes(c.Request().Context(), v.Name)
	if err != nil {
		return &api.Problem{Status: http.StatusServiceUnavailable, Text: "The list of flaky targets cannot be read now. Try again in a moment; /readyz says what is wrong."}
	}
	list := make([]web.FlakyTarget, len(seen))
	for i, t := range seen {
		list[i] = web.FlakyTarget{Step: t.Step, Target: t.Target, Flakes: t.Flakes, Runs: t.Runs, Rate: t.Rate, Low: t.Low, High: t.High, Excused: t.Excused, Quarantined: t.Quarantined,
			Build: queue.BuildID(t.Build), Lost: time.Duration(t.Lost * float64(time.Minute))}
		if at, err := time.Parse(time.RFC3339, t.Seen); err == nil {
			list[i].Seen = queue.At(at)
		}
	}
	return s.page(c, http.StatusOK, func(w io.Writer) error { return s.pages.Flakes(w, v.Name, list, s.now()) })
}
