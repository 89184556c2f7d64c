package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// ForgetCommand takes passes back: what is a target, step=NAME, both, or key=ID.
type ForgetCommand struct {
	Queue string `json:"queue,omitempty"`
	User  string `json:"user,omitempty"` // as in LandCommand; needs the permission over the queue
	What  string `json:"what"`
}

// Ledger is what is known of the keys that somebody has asked for.
type Ledger struct {
	Queue   string `json:"queue"`
	Mark    string `json:"mark,omitempty"` // what the forge writes before the number of a change; left out: "#"
	Kind    string `json:"kind"`           // key, target or change
	Change  string `json:"change,omitempty"`
	Main    string `json:"main,omitempty"` // the commit that on_main is about
	Keys    []Key  `json:"keys"`           // keys of main first, then the latest
	More    bool   `json:"more,omitempty"` // there are more keys, which `max` has cut off
	Unknown string `json:"unknown,omitempty"`
}

// Key is what is known of one key, which is a step on a target at a hash.
type Key struct {
	ID        string       `json:"id"`
	Step      string       `json:"step,omitempty"`
	Target    string       `json:"target"`
	Hash      string       `json:"hash"`
	State     string       `json:"state"` // passed, failed, running, forgotten or unknown
	Passed    time.Time    `json:"passed,omitzero"`
	Build     string       `json:"build,omitempty"`    // that passed it
	Change    string       `json:"change,omitempty"`   // the change of that build; empty: a build of main
	Commit    string       `json:"commit,omitempty"`   // the commit that it ran on
	Host      string       `json:"host,omitempty"`     // the host that it passed on
	Tools     string       `json:"tools,omitempty"`    // fingerprint of what the step's environment command printed there
	Confirmed time.Time    `json:"confirmed,omitzero"` // the latest pass, where that came after `passed`
	Tries     int          `json:"tries,omitempty"`    // builds that gave a result
	Running   string       `json:"running,omitempty"`  // the build that verifies it now
	OnMain    bool         `json:"on_main,omitempty"`
	Rests     []string     `json:"rests,omitempty"` // pending changes with this key in their present merge
	Failures  []KeyFailure `json:"failures,omitempty"`
	Forgotten *Forgotten   `json:"forgotten,omitempty"`
}

// KeyFailure is one failing run of a key, or of several that one command ran.
type KeyFailure struct {
	At      time.Time `json:"at"`
	Build   string    `json:"build"`
	Host    string    `json:"host,omitempty"` // that it ran on
	Timeout bool      `json:"timeout,omitempty"`
	With    int       `json:"with,omitempty"` // how many keys failed together, where none was named; 0: this one was named
	Tail    string    `json:"tail,omitempty"` // hostile text
}

// Forgotten says which person took passes back, and when.
type Forgotten struct {
	What string    `json:"what"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// Forget is what forgetting would do, as things stand.
type Forget struct {
	Queue   string   `json:"queue"`
	Mark    string   `json:"mark,omitempty"` // as that of a Ledger
	What    string   `json:"what"`
	Unknown bool     `json:"unknown,omitempty"` // no key of main or of a pending change is meant: a misspelt name, perhaps
	Passes  int      `json:"passes"`            // passes that main or a pending change rests on
	Main    []string `json:"main,omitempty"`    // targets of main that would be unproven
	Changes []string `json:"changes,omitempty"` // pending changes with keys that would be built again
	Landing []string `json:"landing,omitempty"` // being pushed, and not affected
}

// Ledgers is a Source that can look into the ledger.
type Ledgers interface {
	// Ledger looks up what is known in a queue: see Owner.Ledger.
	Ledger(ctx context.Context, name, what string, most int) (LedgerView, error)
	// Forgetting says what forgetting would do in a queue: see Owner.Forgetting.
	Forgetting(ctx context.Context, name string, f queue.Forgotten) (ForgetView, error)
}

// ledgerDefault is how many keys an answer has by default.
const ledgerDefault = 50

func (s *Handlers) ledger(c echo.Context) error {
	q, source, err := s.ledgerOf(c)
	if err != nil {
		return err
	}
	what, most := c.QueryParam("what"), ledgerDefault
	if what == "" || len(what) > 1000 {
		return &Problem{http.StatusBadRequest, "Say what to look up: add &what= with a target, a key's id or how it begins, a change's id or number."}
	}
	if text := c.QueryParam("max"); text != "" {
		if most, err = strconv.Atoi(text); err != nil || most < 1 || most > LedgerMost {
			return &Problem{http.StatusBadRequest, "max is a number from 1 to " + strconv.Itoa(LedgerMost) + "."}
		}
	}
	v, err := source.Ledger(c.Request().Context(), q.Name, what, most)
	if err != nil {
		return s.ledgerAway(q.Name, err)
	}
	out := Ledger{Queue: q.Name, Mark: q.Mark, Kind: v.Kind, Change: string(v.Change), Main: string(v.Main), Keys: []Key{}, More: v.More, Unknown: v.Unknown}
	for _, k := range v.Keys {
		out.Keys = append(out.Keys, ledgerKeyOf(k))
	}
	return answer(c, out)
}

func (s *Handlers) ledgerOf(c echo.Context) (queue.QueueView, Ledgers, error) {
	q, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return q, nil, err
	}
	source, ok := s.o.Source.(Ledgers)
	if !ok {
		return q, nil, &Problem{http.StatusNotFound, "This server has no ledger to look into."}
	}
	return q, source, nil
}

func (s *Handlers) ledgerAway(name string, err error) error {
	if errors.Is(err, ErrNotOwned) {
		return &Problem{http.StatusServiceUnavailable, "Another server owns this queue now, or none does yet. Ask that one, or try again in a moment."}
	}
	s.o.Log.Warn("the ledger cannot be read", "queue", name, "error", err)
	return &Problem{http.StatusServiceUnavailable, "The ledger cannot be read now. Try again in a moment; /readyz says what is wrong."}
}

func ledgerKeyOf(k LedgerKey) Key {
	e := k.Entry
	out := Key{ID: string(k.Key.ID()), Step: k.Step, Target: k.Key.Target, Hash: string(k.Key.Hash), State: "unknown",
		Tries: e.Tries, Running: string(k.Build), OnMain: k.OnMain, Rests: texts.Strings(k.Rests)}
	for _, f := range e.Failures {
		out.Failures = append(out.Failures, ledgerFailureOf(f, 0))
	}
	for _, set := range k.Sets {
		for _, f := range set.Failures {
			out.Failures = append(out.Failures, ledgerFailureOf(f, len(set.Keys)))
		}
	}
	switch {
	case k.Forgotten.At != 0:
		out.State = "forgotten"
		out.Forgotten = &Forgotten{What: k.Forgotten.String(), By: k.Forgotten.By, At: moment(k.Forgotten.At)}
	case e.Passed != 0:
		out.State = "passed"
	case k.Build != "":
		out.State = "running"
	case len(out.Failures) > 0:
		out.State = "failed"
	}
	if e.Passed != 0 {
		out.Passed, out.Build, out.Change, out.Commit, out.Host =
			moment(e.Passed), string(e.By), string(e.Change), string(e.Commit), cmp.Or(e.Host, e.Machine)
		out.Confirmed, out.Tools = moment(e.Confirmed), e.Tools
	}
	return out
}

func ledgerFailureOf(f queue.Failure, with int) KeyFailure {
	return KeyFailure{At: moment(f.At), Build: string(f.Build), Host: cmp.Or(f.Host, f.Machine), Timeout: f.Timeout, With: with, Tail: f.Tail}
}

func (s *Handlers) forgetting(c echo.Context) error {
	q, source, err := s.ledgerOf(c)
	if err != nil {
		return err
	}
	f, ok := queue.ParseForgotten(c.QueryParam("what"))
	if !ok {
		return errWhatToForget
	}
	v, err := source.Forgetting(c.Request().Context(), q.Name, f)
	if err != nil {
		return s.ledgerAway(q.Name, err)
	}
	out := Forget{Queue: q.Name, Mark: q.Mark, What: f.String(), Unknown: v.Unknown, Passes: v.Passes, Changes: texts.Strings(v.Changes), Landing: texts.Strings(v.Landing)}
	for _, k := range v.Main {
		if n := len(out.Main); n == 0 || out.Main[n-1] != k.Target {
			out.Main = append(out.Main, k.Target)
		}
	}
	return answer(c, out)
}

var errWhatToForget = &Problem{http.StatusBadRequest,
	"Say what to forget in `what`: a target, step=NAME, both, or key=ID with the first 12 digits of a key's id or more. A target whose name has spaces is forgotten by its keys."}

func (s *Handlers) forget(c echo.Context) error {
	var cmd ForgetCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	f, ok := queue.ParseForgotten(strings.TrimSpace(cmd.What))
	if !ok {
		return errWhatToForget
	}
	return s.aboutQueue(c, cmd.Queue, cmd.User, "/queue forget "+f.String())
}
