package app

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// The short form of a queue has each change in a few hundred bytes: its state, its
// place, when its verdict is expected and why it is there in one line. The rest is at
// GET /api/change, and at GET /api/queue?full=1 of all changes at once.

// Bounds of the short form.
const (
	shortRecent = 50  // verdicts, the newest
	shortNames  = 100 // red targets
)

// fullOf reads whether the whole queue is asked for.
func fullOf(c echo.Context) (bool, error) {
	switch c.QueryParam("full") {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	}
	return false, &problem{http.StatusBadRequest, "full is 1 for everything that is known of each change, or left out."}
}

// apiQueueShort is apiQueueOf in short.
func (s *API) apiQueueShort(v queue.QueueView) APIQueue {
	list := v
	list.Order, list.Recent, list.MainBuilds = nil, nil, nil
	q := s.apiQueueOf(list)
	q.APIQueueSummary = s.summaryOf(v)
	q.Verdicts = len(v.Recent)
	q.RedTargets = q.RedTargets[:min(len(q.RedTargets), shortNames)]
	if q.Upgrade != nil {
		q.Upgrade.RedTargets = q.Upgrade.RedTargets[:min(len(q.Upgrade.RedTargets), shortNames)]
	}
	q.MainBuilds = apiBuildsShort(v.MainBuilds)
	for _, c := range v.Order {
		q.Order = append(q.Order, s.apiChangeShort(c))
	}
	for _, c := range v.Recent[:min(len(v.Recent), shortRecent)] {
		q.Recent = append(q.Recent, s.apiChangeShort(queue.View{Change: c}))
	}
	return q
}

func (s *API) apiChangeShort(v queue.View) APIChange {
	c := v.Change
	out := APIChange{
		ID: string(c.ID), Number: c.Number, Title: c.Title, Branch: c.Branch, Author: c.Author, Requester: c.Requester, URL: c.URL,
		Lane: c.Lane, Base: c.Base, Parent: c.Parent, Head: string(c.Head), Phase: string(c.Phase), Final: c.Phase.Final(), Reason: s.apiReasonShort(c, c.Reason),
		Position: v.Position, Total: v.Total, Builds: apiBuildsShort(v.Builds), Attempts: c.Builds,
		Arrived: moment(c.Arrival), From: moment(v.Forecast.Early), By: moment(v.Forecast.Late), Decided: moment(c.Decided), Until: moment(c.Until),
		Forecast: s.o.Words.Forecast(v.Forecast, s.now()), Notice: s.apiReasonShort(c, v.Notice), NoticeTo: v.NoticeTo, Answered: moment(v.Answered),
	}
	if len(v.Waits) > 0 {
		out.Waits = []APIReason{*s.apiReasonShort(c, v.Waits[0])}
	}
	if c.Phase == queue.Landed && c.Verdict != nil {
		out.Verdict = &APIVerdict{Commit: string(c.Verdict.Commit), Tested: c.Verdict.Tested, Keys: c.Verdict.Keys, Reused: c.Verdict.Reused}
	}
	return out
}

func (s *API) apiReasonShort(c queue.Change, r queue.Reason) *APIReason {
	if r.Code == "" {
		return nil
	}
	return &APIReason{Code: string(r.Code), Short: s.o.Words.Short(c, r), Until: moment(r.Until)}
}

func apiBuildsShort(views []queue.BuildView) []APIBuild {
	var out []APIBuild
	for _, v := range views {
		b := v.Build
		out = append(out, APIBuild{ID: string(b.ID), Commit: string(b.Commit), Attempt: b.Attempt, Steps: len(b.Jobs), Done: v.Done,
			Asked: moment(b.At), Started: moment(b.Started), Expected: moment(v.Expected)})
	}
	return out
}
