package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
)

// The JSON API. Queues and changes are named in the query, because their names
// contain slashes; `queue` may be left out where there is one queue, and `id`
// is a change's id or a pull request's number.
//
//	GET  /api/queues                       []APIQueueSummary
//	GET  /api/queue?queue=&full=           APIQueue, in short unless full=1 (api_short.go); ETag
//	GET  /api/changes?queue=&phase=        []APIChange, in order, then verdicts
//	GET  /api/change?queue=&id=            APIChange
//	GET  /api/history?queue=&id=&max=      []APINote, newest first
//	GET  /api/blame?queue=                 APIBlame
//	GET  /api/log?build=&after=            APILog
//	GET  /api/ledger?queue=&what=&max=     APILedger: what is known of a key, a target or a change
//	GET  /api/forget?queue=&what=          APIForget: what forgetting would do
//	POST /api/land                         LandCommand -> APIAccepted
//	POST /api/cancel                       CancelCommand -> APIAccepted
//	POST /api/pause                        PauseCommand -> APIAccepted
//	POST /api/resume                       ResumeCommand -> APIAccepted
//	POST /api/forget                       ForgetCommand -> APIAccepted
//
// Anything but success is an APIError.

// historyDefault and historyMost bound the notes of one answer.
const (
	historyDefault = 100
	historyMost    = 1000
)

func (s *Server) apiQueues(c echo.Context) error {
	out := []APIQueueSummary{}
	for _, name := range s.o.Source.Queues() {
		if v, ok := s.o.Source.Queue(name); ok {
			out = append(out, s.summaryOf(v))
		}
	}
	return answer(c, out)
}

func (s *Server) apiQueue(c echo.Context) error {
	v, err := s.named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	full, err := fullOf(c)
	if err != nil {
		return err
	}
	if full {
		return s.sharedJSON(c, "full "+v.Name, stampOf(v), func() any { return s.apiQueueOf(v) })
	}
	return s.sharedJSON(c, "short "+v.Name, stampOf(v), func() any { return s.apiQueueShort(v) })
}

func (s *Server) apiChanges(c echo.Context) error {
	v, err := s.named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	phase, stamp := queue.Phase(c.QueryParam("phase")), stampOf(v)
	has := func(c queue.Change) bool { return phase == "" || phase == c.Phase }
	if !slices.ContainsFunc(v.Order, func(x queue.View) bool { return has(x.Change) }) && !slices.ContainsFunc(v.Recent, has) {
		return answer(c, []APIChange{}) // of any phase that somebody thinks of
	}
	return s.sharedJSON(c, "changes "+v.Name+" "+string(phase), stamp, func() any {
		out := []APIChange{}
		for _, x := range v.Order {
			if has(x.Change) {
				out = append(out, s.apiChangeOf(x))
			}
		}
		for _, ch := range v.Recent {
			if has(ch) {
				out = append(out, s.apiChangeOf(queue.View{Change: ch}))
			}
		}
		return out
	})
}

func (s *Server) apiChange(c echo.Context) error {
	_, v, err := s.changeNamed(c.QueryParam("queue"), c.QueryParam("id"))
	if err != nil {
		return err
	}
	return answer(c, s.apiChangeOf(v))
}

func (s *Server) apiHistory(c echo.Context) error {
	q, err := s.named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	most := historyDefault
	if text := c.QueryParam("max"); text != "" {
		most, err = strconv.Atoi(text)
		if err != nil || most < 1 || most > historyMost {
			return &problem{http.StatusBadRequest, "max is a number from 1 to " + strconv.Itoa(historyMost) + "."}
		}
	}
	id, depth := c.QueryParam("id"), most
	if id != "" {
		depth = timelineDepth
	}
	notes, err := s.o.Source.History(c.Request().Context(), q.Name, depth)
	if err != nil {
		s.log.Warn("history cannot be read", "queue", q.Name, "error", err)
		return &problem{http.StatusServiceUnavailable, "The history cannot be read now. Try again in a moment; /readyz says what is wrong."}
	}
	known := map[queue.ChangeID]queue.Change{}
	for _, c := range q.Recent {
		known[c.ID] = c
	}
	for _, v := range q.Order {
		known[v.Change.ID] = v.Change
	}
	out := []APINote{}
	for _, n := range notes {
		if (id == "" || string(n.Change) == id || strconv.Itoa(n.Number) == id) && len(out) < most {
			out = append(out, s.apiNoteOf(known[n.Change], n))
		}
	}
	return answer(c, out)
}

func (s *Server) apiLog(c echo.Context) error {
	after := int64(0)
	if text := c.QueryParam("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &problem{http.StatusBadRequest, "after is a number of bytes: the `next` of the answer before, or 0."}
		}
		after = n
	}
	data, next, done, ok := s.o.Source.BuildLog(c.QueryParam("build"), after)
	if !ok {
		return &problem{http.StatusNotFound, "There is no log of such a build: it has not begun, or its log has expired."}
	}
	text, held := web.PlainLog(data, done)
	return answer(c, APILog{Text: text, Next: next - int64(held), Done: done})
}

func answer(c echo.Context, v any) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	writeJSON(c.Response(), http.StatusOK, v)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here is the reader's hanging up: there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(v)
}

// moment returns an Instant as the API shows it; the zero Instant is left out.
func moment(i queue.Instant) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return i.Time()
}
