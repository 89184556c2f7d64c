package app

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/texts"
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

// APIOptions are what the API works with.
type APIOptions struct {
	Source   Source                           // required; where it is a Ledgers, too, that is asked as well
	Caller   func(echo.Context) access.Caller // required: whose token a command came with
	Words    texts.Words                      // of the forge
	Requests Requests                         // of a forge without pull requests; nil: it has them

	Isolation string           // of the steps that this server runs
	Log       *slog.Logger     // required
	Now       func() time.Time // required
	Random    func() string    // required
}

// API answers what is asked for as JSON.
type API struct {
	o       APIOptions
	log     *slog.Logger
	replies replies
}

// NewAPI returns the API of a server.
func NewAPI(o APIOptions) *API {
	return &API{o: o, log: o.Log, replies: replies{kept: map[string]*reply{}}}
}

// Routes are how the addresses of the API are made known to whatever serves them.
type Routes struct {
	Get  func(path string, h echo.HandlerFunc)
	Post func(path string, may access.Role, what string, h echo.HandlerFunc) // what, in an infinitive, takes the role may
}

// Register makes all addresses known.
func (s *API) Register(r Routes) {
	r.Get("/api/queues", s.apiQueues)
	r.Get("/api/queue", s.apiQueue)
	r.Get("/api/changes", s.apiChanges)
	r.Get("/api/change", s.apiChange)
	r.Get("/api/history", s.apiHistory)
	r.Get("/api/blame", s.apiBlame)
	r.Get("/api/log", s.apiLog)
	r.Get("/api/ledger", s.apiLedger)
	r.Get("/api/forget", s.apiForgetting)
	r.Post("/api/land", access.Land, "land", s.apiLand)
	r.Post("/api/cancel", access.Land, "cancel", s.apiCancel)
	r.Post("/api/pause", access.Admin, "pause landings", s.apiPause)
	r.Post("/api/resume", access.Admin, "let landings go on", s.apiResume)
	r.Post("/api/forget", access.Admin, "have passes forgotten", s.apiForget)
}

func (s *API) now() queue.Instant { return queue.At(s.o.Now()) }

// historyDefault and historyMost bound the notes of one answer.
const (
	historyDefault = 100
	historyMost    = 1000
)

func (s *API) apiQueues(c echo.Context) error {
	out := []APIQueueSummary{}
	for _, name := range s.o.Source.Queues() {
		if v, ok := s.o.Source.Queue(name); ok {
			out = append(out, s.summaryOf(v))
		}
	}
	return answer(c, out)
}

func (s *API) apiQueue(c echo.Context) error {
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

func (s *API) apiChanges(c echo.Context) error {
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

func (s *API) apiChange(c echo.Context) error {
	_, v, err := s.changeNamed(c.QueryParam("queue"), c.QueryParam("id"))
	if err != nil {
		return err
	}
	return answer(c, s.apiChangeOf(v))
}

func (s *API) apiHistory(c echo.Context) error {
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

func (s *API) apiLog(c echo.Context) error {
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

// moment returns an Instant as the API shows it; the zero Instant is left out.
func moment(i queue.Instant) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return i.Time()
}
