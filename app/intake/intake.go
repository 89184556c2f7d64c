package intake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// MaxDelivery is the largest webhook that is read, in bytes; GitHub sends none
// that is larger.
const MaxDelivery = 25 << 20

// appendLimit bounds how long a delivery waits for the store before it is
// spooled: forges give up after ten seconds and do not deliver again.
const appendLimit = 4 * time.Second

// bodyLimit bounds how long a body may take to arrive: as long as forges wait for the
// answer.
const bodyLimit = 10 * time.Second

// Appender puts events into a queue's inbox, durably, before it returns. An
// event that the inbox has seen before is dropped. queue.Store is one.
type Appender interface {
	Append(ctx context.Context, queue string, events ...queue.Event) error
}

// Spool keeps deliveries on disk while the store is away. queue/spool is one.
type Spool interface {
	// Append writes one entry and returns once it is on the disk.
	Append(data []byte) error
	// Len returns the number of entries that have not been drained.
	Len() int
}

// Hook is where the webhooks of one forge go.
type Hook struct {
	Receiver forge.Receiver
	Queues   map[string][]string // names of the queues of each repository ("owner/name", in any case)
	// Find returns the queues of a repository where queues come and go; nil: Queues has
	// all. It gets the repository's name in lower case.
	Find func(repository string) []string
	// All returns the queues of all repositories, by names in lower case, where there is a
	// Find.
	All func() map[string][]string
	// CI is given the news of CI in a delivery, and the queues that they are for; it
	// does not wait. Nil: they are dropped.
	CI func(queues []string, news forge.CINews)

	name string
}

// Counter counts what comes in; app.Metrics is one.
type Counter interface {
	// RecordWebhook counts a delivery by the forge's name of its event and by what came of it.
	RecordWebhook(event, result string)
	// RecordStoreError counts an operation that the store did not carry out.
	RecordStoreError(operation string)
	// SetSpool shows how many deliveries wait on disk for the store.
	SetSpool(entries int)
}

// Options are what an Intake needs. All fields but Dir and Log are required.
type Options struct {
	Hooks    map[string]Hook // by forge, e.g. "github"
	Appender Appender
	Spool    Spool
	Metrics  Counter
	Now      func() time.Time
	Dir      string       // of files that hold large deliveries while they are read; "": the system's folder for temporary files
	Log      *slog.Logger // nil: no logs
}

// Intake takes in webhooks: POST /webhook/<forge>, or POST /webhook where there
// is one forge, or the delivery has the header X-<Forge>-Event. It answers 2xx once the delivery's events are durable: in the
// inboxes of the repository's queues, or, with the store away, in the spool.
//
//	202  stored, spooled, told to builds that wait for CI, not used by us, or of a repository without a queue
//	400  the delivery cannot be read        401  its signature is missing or wrong
//	404  no such forge                      405  not a POST
//	413  larger than MaxDelivery            503  neither store nor spool took it, or too much is delivered at once
//
// An unsigned delivery is refused before its body is read. A delivery with a signature is read with
// a bounded memory for all deliveries together (bodies), while the signature is checked.
type Intake struct {
	hooks    map[string]Hook
	appender Appender
	spool    Spool
	metrics  Counter
	now      func() time.Time
	log      *slog.Logger
	bodies   *bodies

	mu    sync.Mutex
	moved map[string]whereabouts // by the forge's name
}

// New returns an intake of webhooks.
func New(o Options) *Intake {
	hooks := make(map[string]Hook, len(o.Hooks))
	for name, h := range o.Hooks {
		queues := make(map[string][]string, len(h.Queues))
		for repository, names := range h.Queues {
			key := strings.ToLower(repository)
			queues[key] = append(queues[key], names...)
		}
		hooks[name] = Hook{name: name, Receiver: h.Receiver, Queues: queues, Find: h.Find, All: h.All, CI: h.CI}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Intake{hooks: hooks, appender: o.Appender, spool: o.Spool, metrics: o.Metrics, now: o.Now, log: o.Log,
		bodies: newBodies(o.Dir), moved: map[string]whereabouts{}}
}

func (h Hook) queues(repository string) []string {
	if h.Find != nil {
		return h.Find(repository)
	}
	return h.Queues[repository]
}

func (h Hook) all() map[string][]string {
	if h.All != nil {
		return h.All()
	}
	return h.Queues
}

// Results of a delivery, as counted and answered.
const (
	resultStored    = "stored"
	resultSpooled   = "spooled"
	resultIgnored   = "ignored"
	resultTold      = "told"
	resultNoQueue   = "no-queue"
	resultSignature = "bad-signature"
	resultMalformed = "malformed"
	resultTooLarge  = "too-large"
	resultBroken    = "broken-off"
	resultNoForge   = "no-forge"
	resultMethod    = "not-post"
	resultLost      = "refused"
	resultBusy      = "busy"
)

// ServeHTTP takes in one delivery.
func (in *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := in.now()
	status, result, d := in.take(w, r)
	kind := d.Kind
	if kind == "" {
		kind = "unknown"
	}
	in.metrics.RecordWebhook(kind, result)
	level := slog.LevelInfo
	if status >= 400 {
		level = slog.LevelWarn
	}
	in.log.Log(r.Context(), level, "webhook", "result", result, "status", status, "kind", d.Kind,
		"delivery", d.ID, "repository", d.Repository, "events", len(d.Events), "took", in.now().Sub(started))
	if status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	writeJSON(w, status, struct {
		Result string `json:"result"`
	}{result})
}

func (in *Intake) take(w http.ResponseWriter, r *http.Request) (int, string, forge.Delivery) {
	var none forge.Delivery
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, resultMethod, none
	}
	hook, ok := in.hook(r)
	if !ok {
		return http.StatusNotFound, resultNoForge, none
	}
	if r.ContentLength > MaxDelivery {
		w.Header().Set("Connection", "close")
		return http.StatusRequestEntityTooLarge, resultTooLarge, none
	}
	held := &body{of: in.bodies}
	defer held.close()
	if status, result := in.read(w, r, hook, held); status != 0 {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		return status, result, none
	}
	data, err := held.read(r.Context())
	if err != nil {
		in.log.Warn("a delivery cannot be read; ask the forge for it again", "error", err)
		return http.StatusServiceUnavailable, resultLost, none
	}
	d, err := hook.Receiver.Receive(r.Header, data)
	switch {
	case errors.Is(err, forge.ErrSignature):
		return http.StatusUnauthorized, resultSignature, none
	case errors.Is(err, forge.ErrIgnored):
		return http.StatusAccepted, resultIgnored, d
	case err != nil:
		return http.StatusBadRequest, resultMalformed, d
	}
	queues := in.queuesOf(hook, d)
	switch {
	case len(queues) == 0:
		return http.StatusAccepted, resultNoQueue, d
	case !d.CI.None() && hook.CI != nil:
		hook.CI(queues, d.CI)
		if len(d.Events) == 0 {
			return http.StatusAccepted, resultTold, d
		}
	case len(d.Events) == 0:
		return http.StatusAccepted, resultIgnored, d
	}
	status, result := in.keep(r.Context(), queues, d)
	return status, result, d
}

// read reads the body of a delivery and checks its signature meanwhile. Where something
// is wrong, it returns the answer's status and the result, else 0.
func (in *Intake) read(w http.ResponseWriter, r *http.Request, hook Hook, into *body) (status int, result string) {
	sum, right, err := hook.Receiver.Verify(r.Header)
	if err != nil {
		return http.StatusUnauthorized, resultSignature
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyLimit)) // a writer without deadlines is a test's
	_, err = io.Copy(io.MultiWriter(into, sum), http.MaxBytesReader(w, r.Body, MaxDelivery))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, resultTooLarge
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "10")
		return http.StatusServiceUnavailable, resultBusy
	case into.broken != nil:
		in.log.Warn("a delivery cannot be kept while it is read; ask the forge for it again", "error", err)
		return http.StatusServiceUnavailable, resultLost
	case err != nil:
		return http.StatusBadRequest, resultBroken
	case right() != nil:
		return http.StatusUnauthorized, resultSignature
	}
	return 0, ""
}

func (in *Intake) hook(r *http.Request) (Hook, bool) {
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/webhook"), "/")
	if name != "" {
		h, ok := in.hooks[name]
		return h, ok
	}
	for _, h := range in.hooks {
		if len(in.hooks) == 1 || r.Header.Get("X-"+h.name+"-Event") != "" {
			return h, true
		}
	}
	return Hook{}, false
}

// keep makes a delivery's events durable. While the spool holds older
// deliveries, new ones go behind them, so that a cancel never overtakes the
// command it cancels.
func (in *Intake) keep(ctx context.Context, queues []string, d forge.Delivery) (int, string) {
	at := queue.At(in.now())
	events := make([]queue.Event, len(d.Events))
	for i, e := range d.Events {
		e.At = at
		events[i] = e
	}
	// A forge that hangs up must not leave a delivery half stored.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendLimit)
	defer cancel()
	left := queues
	if in.spool.Len() == 0 {
		for len(left) > 0 {
			if err := in.appender.Append(ctx, left[0], events...); err != nil {
				in.metrics.RecordStoreError("append")
				in.log.Warn("store refused a delivery, it is spooled", "queue", left[0], "delivery", d.ID, "error", err)
				break
			}
			left = left[1:]
		}
	}
	if len(left) == 0 {
		return http.StatusAccepted, resultStored
	}
	for _, name := range left {
		data, err := json.Marshal(spooled{Queue: name, Events: events})
		if err == nil {
			err = in.spool.Append(data)
		}
		if err != nil {
			in.log.Error("a delivery is lost: neither store nor spool took it; ask the forge for it again",
				"queue", name, "delivery", d.ID, "error", err)
			return http.StatusServiceUnavailable, resultLost
		}
	}
	in.metrics.SetSpool(in.spool.Len())
	return http.StatusAccepted, resultSpooled
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here is the sender's hanging up: there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(v)
}
