package app

import (
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/web"
)

// runnersPage shows the machines that run builds.
func (s *Server) runnersPage(c echo.Context) error {
	var all api.RunnersAnswer
	if s.o.Runners != nil {
		all = s.o.Runners()
	}
	list := make([]web.Runner, len(all.Runners))
	for i, r := range all.Runners {
		list[i] = web.Runner{Name: r.Name, Token: r.Token, State: r.State, OS: r.OS, Arch: r.Arch, Executor: r.Executor, Version: r.Version, Tags: r.Tags, Slots: r.Slots, Seen: r.Seen}
		for _, j := range r.Jobs {
			list[i].Jobs = append(list[i].Jobs, web.RunnerJob{Build: j.Build, Queue: j.Queue, Step: j.Step, Targets: j.Targets, Since: j.Since, Ending: j.Ending})
		}
	}
	return s.page(c, http.StatusOK, func(w io.Writer) error { return s.pages.Runners(w, list, all.Waiting, s.now()) })
}
