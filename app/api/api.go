package api

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

// Options hold the parts of the server that the API works with.
type Options struct {
	Source   Source                           // required; where it is also a Ledgers, ledger requests use it
	Caller   func(echo.Context) access.Caller // required: the owner of the token that a request came with
	Words    texts.Words                      // of the forge
	Requests Requests                         // of a forge without pull requests; nil: it has them

	Runners   func() RunnersAnswer // the machines that run builds; nil: unknown
	Isolation string               // of the steps that this server runs
	Log       *slog.Logger         // required
	Now       func() time.Time     // required
	Random    func() string        // required
}

// Handlers answer requests with JSON.
type Handlers struct {
	o       Options
	replies *replies
}

// New returns the API of a server.
func New(o Options) *Handlers {
	return &Handlers{o: o, replies: &replies{kept: map[string]*reply{}}}
}

// Routes register the addresses of the API with the server.
type Routes struct {
	Get  func(path string, h echo.HandlerFunc)
	Post func(path string, may access.Role, what string, h echo.HandlerFunc) // what, an infinitive, needs the role may
}

// Register registers all addresses.
func (s *Handlers) Register(r Routes) {
	r.Get("/api/queues", s.queues)
	r.Get("/api/queue", s.queue)
	r.Get("/api/changes", s.changes)
	r.Get("/api/change", s.change)
	r.Get("/api/history", s.history)
	r.Get("/api/blame", s.blame)
	r.Get("/api/log", s.log)
	r.Get("/api/ledger", s.ledger)
	r.Get("/api/runners", s.runners)
	r.Get("/api/forget", s.forgetting)
	r.Get("/api/rows", s.rows)
	r.Get("/api/models", s.models)
	r.Get("/api/flakes", s.flakes)
	r.Get("/api/model", s.model)
	r.Post("/api/land", access.Land, "land", s.land)
	r.Post("/api/cancel", access.Land, "cancel", s.cancel)
	for _, o := range orders {
		r.Post(o.path, access.Land, "ask for that", s.give(o))
	}
	r.Post("/api/freeze", access.Admin, "freeze landings", s.freeze)
	r.Post("/api/pause", access.Admin, "pause landings", s.pause)
	r.Post("/api/resume", access.Admin, "let landings go on", s.resume)
	r.Post("/api/forget", access.Admin, "have passes forgotten", s.forget)
	r.Post("/api/model", access.Admin, "choose the model that is planned with", s.chooseModel)
	r.Post("/api/rows", access.Admin, "import a history", s.keepRows)
}

// in returns handlers with texts in the words of a queue.
func (s *Handlers) in(branch, mark string) *Handlers {
	out := *s
	out.o.Words = s.o.Words.Of(branch, mark)
	return &out
}

func (s *Handlers) now() queue.Instant { return queue.At(s.o.Now()) }

// historyDefault and historyMost bound the notes of one answer.
const (
	historyDefault = 100
	historyMost    = 1000
)

// TimelineDepth is how many notes of a queue are searched for those of one change.
const TimelineDepth = 2000

func (s *Handlers) queues(c echo.Context) error {
	out := []QueueSummary{}
	for _, name := range s.o.Source.Queues() {
		if v, ok := s.o.Source.Queue(name); ok {
			out = append(out, s.in(v.Main.Branch, v.Mark).summaryOf(v))
		}
	}
	return answer(c, out)
}

func (s *Handlers) queue(c echo.Context) error {
	v, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	s = s.in(v.Main.Branch, v.Mark)
	full, err := fullOf(c)
	if err != nil {
		return err
	}
	if full {
		return s.sharedJSON(c, "full "+v.Name, StampOf(v), func() any { return s.queueOf(v) })
	}
	return s.sharedJSON(c, "short "+v.Name, StampOf(v), func() any { return s.queueShort(v) })
}

func (s *Handlers) changes(c echo.Context) error {
	v, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	s = s.in(v.Main.Branch, v.Mark)
	phase, stamp := queue.Phase(c.QueryParam("phase")), StampOf(v)
	has := func(c queue.Change) bool { return phase == "" || phase == c.Phase }
	if !slices.ContainsFunc(v.Order, func(x queue.View) bool { return has(x.Change) }) && !slices.ContainsFunc(v.Recent, has) {
		return answer(c, []Change{}) // not cached: phase may be any text
	}
	return s.sharedJSON(c, "changes "+v.Name+" "+string(phase), stamp, func() any {
		out := []Change{}
		for _, x := range v.Order {
			if has(x.Change) {
				out = append(out, s.changeOf(x))
			}
		}
		for _, ch := range v.Recent {
			if has(ch) {
				out = append(out, s.changeOf(queue.View{Change: ch}))
			}
		}
		return out
	})
}

func (s *Handlers) change(c echo.Context) error {
	q, v, err := s.ChangeNamed(c.QueryParam("queue"), c.QueryParam("id"))
	if err != nil {
		return err
	}
	s = s.in(q.Main.Branch, q.Mark)
	out := s.changeOf(v)
	out.Answer = s.o.Words.Answer(v)
	return answer(c, out)
}

func (s *Handlers) history(c echo.Context) error {
	q, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	most := historyDefault
	if text := c.QueryParam("max"); text != "" {
		most, err = strconv.Atoi(text)
		if err != nil || most < 1 || most > historyMost {
			return &Problem{http.StatusBadRequest, "max is a number from 1 to " + strconv.Itoa(historyMost) + "."}
		}
	}
	id, depth := c.QueryParam("id"), most
	if id != "" {
		depth = TimelineDepth
	}
	notes, err := s.o.Source.History(c.Request().Context(), q.Name, depth)
	if err != nil {
		s.o.Log.Warn("history cannot be read", "queue", q.Name, "error", err)
		return &Problem{http.StatusServiceUnavailable, "The history cannot be read now. Try again in a moment; /readyz says what is wrong."}
	}
	known := map[queue.ChangeID]queue.Change{}
	for _, c := range q.Recent {
		known[c.ID] = c
	}
	for _, v := range q.Order {
		known[v.Change.ID] = v.Change
	}
	s = s.in(q.Main.Branch, q.Mark)
	out := []Note{}
	for _, n := range notes {
		if (id == "" || string(n.Change) == id || strconv.Itoa(n.Number) == id) && len(out) < most {
			out = append(out, s.noteOf(known[n.Change], n))
		}
	}
	return answer(c, out)
}

func (s *Handlers) log(c echo.Context) error {
	after := int64(0)
	if text := c.QueryParam("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &Problem{http.StatusBadRequest, "after is a number of bytes: the `next` of the answer before, or 0."}
		}
		after = n
	}
	data, next, done, ok := s.o.Source.BuildLog(c.QueryParam("build"), after)
	if !ok {
		return &Problem{http.StatusNotFound, "There is no log of such a build here: it has not begun, its log has expired, or another server ran it."}
	}
	text, held := web.PlainLog(data, done)
	return answer(c, Log{Text: text, Next: next - int64(held), Done: done})
}

func answer(c echo.Context, v any) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	WriteJSON(c.Response(), http.StatusOK, v)
	return nil
}

// moment returns an Instant as the API shows it; the zero Instant is left out.
func moment(i queue.Instant) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return i.Time()
}
