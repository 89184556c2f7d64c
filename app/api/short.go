package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// The short form of a queue has each change in a few hundred bytes: its state, its
// place, the reason in one line, and when its verdict is expected. GET /api/change has
// the rest; GET /api/queue?full=1 has it for all changes at once.

// Bounds of the short form.
const (
	shortRecent = 50  // verdicts, the newest
	shortNames  = 100 // red targets
)

// fullOf reports whether the request asks for the whole queue.
func fullOf(c echo.Context) (bool, error) {
	switch c.QueryParam("full") {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	}
	return false, &Problem{http.StatusBadRequest, "full is 1 for everything that is known of each change, or left out."}
}

// queueShort is queueOf in short.
func (s *Handlers) queueShort(v queue.QueueView) Queue {
	list := v
	list.Order, list.Recent, list.MainBuilds = nil, nil, nil
	q := s.queueOf(list)
	q.QueueSummary = s.summaryOf(v)
	q.Verdicts = len(v.Recent)
	q.RedTargets = q.RedTargets[:min(len(q.RedTargets), shortNames)]
	if q.Upgrade != nil {
		q.Upgrade.RedTargets = q.Upgrade.RedTargets[:min(len(q.Upgrade.RedTargets), shortNames)]
	}
	q.MainBuilds = buildsShort(v.MainBuilds)
	for _, c := range v.Order {
		q.Order = append(q.Order, s.changeShort(c))
	}
	for _, c := range v.Recent[:min(len(v.Recent), shortRecent)] {
		q.Recent = append(q.Recent, s.changeShort(queue.View{Change: c}))
	}
	return q
}

func (s *Handlers) changeShort(v queue.View) Change {
	c := v.Change
	out := Change{
		ID: string(c.ID), Number: c.Number, Name: s.o.Words.Numbered(c.Number), Title: c.Title, Branch: c.Branch, Author: c.Author, Requester: c.Requester, URL: c.URL,
		Lane: c.Lane, Base: c.Base, Parent: c.Parent, Head: string(c.Head), Phase: string(c.Phase), Final: c.Phase.Final(), Reason: s.reasonShort(c, c.Reason),
		Position: v.Position, Total: v.Total, Builds: buildsShort(v.Builds), Attempts: c.Builds,
		Arrived: moment(c.Arrival), From: moment(v.Forecast.Early), By: moment(v.Forecast.Late), Decided: moment(c.Decided), Until: moment(c.Until),
		Forecast: s.o.Words.Forecast(v.Forecast, s.now()), Notice: s.reasonShort(c, v.Notice), NoticeTo: v.NoticeTo, Answered: moment(v.Answered),
	}
	if len(v.Waits) > 0 {
		out.Waits = []Reason{*s.reasonShort(c, v.Waits[0])}
	}
	if c.Phase == queue.Landed && c.Verdict != nil {
		out.Verdict = &Verdict{Commit: string(c.Verdict.Commit), Tested: c.Verdict.Tested, Keys: c.Verdict.Keys, Reused: c.Verdict.Reused, Heads: c.Verdict.Heads}
	}
	return out
}

func (s *Handlers) reasonShort(c queue.Change, r queue.Reason) *Reason {
	if r.Code == "" {
		return nil
	}
	return &Reason{Code: string(r.Code), Short: s.o.Words.Short(c, r), Until: moment(r.Until)}
}

func buildsShort(views []queue.BuildView) []Build {
	var out []Build
	for _, v := range views {
		b := v.Build
		out = append(out, Build{ID: string(b.ID), Commit: string(b.Commit), Attempt: b.Attempt, Steps: v.Steps(), Done: v.Done,
			Asked: moment(b.At), Started: moment(b.Started), Expected: moment(v.Expected)})
	}
	return out
}
