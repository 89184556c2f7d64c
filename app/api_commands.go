package app

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// TokenVariable is the environment variable that the server and the command
// line read the token of commands over HTTP from.
const TokenVariable = "SUBMITQUEUE_TOKEN"

// apiEvent begins the ids of commands over HTTP.
const apiEvent = "api-"

// maxCommandBody bounds a command's body.
const maxCommandBody = 64 << 10

// LandCommand asks to land a pull request, or, with a local forge, a branch.
// The header Idempotency-Key makes a repeated command the same command.
type LandCommand struct {
	Queue  string `json:"queue,omitempty"`  // may be left out where there is one queue
	Number int    `json:"number,omitempty"` // this or Branch
	Branch string `json:"branch,omitempty"`
	User   string `json:"user"` // who asks; needs the permission to land
}

// CancelCommand asks to take a change out of its queue.
type CancelCommand struct {
	Queue  string `json:"queue,omitempty"`
	ID     string `json:"id,omitempty"`     // a change's id; this or Number
	Number int    `json:"number,omitempty"` // a pull request's
	User   string `json:"user"`
}

// APIAccepted says that a command is in the queue's inbox. What came of it is
// seen at GET /api/change.
type APIAccepted struct {
	Queue  string `json:"queue"`
	Number int    `json:"number"`
	Event  string `json:"event"` // id; the same for a repeated command
}

// authorized lets only requests with the right bearer token through. Tokens are
// compared by digest, in constant time.
func (s *Server) authorized(next echo.HandlerFunc) echo.HandlerFunc {
	want := sha256.Sum256([]byte(s.o.Token))
	return func(c echo.Context) error {
		if s.o.Token == "" {
			return &problem{http.StatusForbidden, "Commands over HTTP are off. Start the server with " + TokenVariable +
				" set, or comment /land on the pull request."}
		}
		scheme, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(token)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			c.Response().Header().Set("WWW-Authenticate", `Bearer realm="submitqueue"`)
			return &problem{http.StatusUnauthorized, "The token is missing or wrong. Send the header `Authorization: Bearer TOKEN` with the server's " + TokenVariable + "."}
		}
		return next(c)
	}
}

func (s *Server) apiLand(c echo.Context) error {
	var cmd LandCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	q, err := s.named(cmd.Queue)
	if err != nil {
		return err
	}
	switch {
	case !plainName(cmd.User, 100):
		return &problem{http.StatusBadRequest, "Say who asks: `user` is one word."}
	case (cmd.Number > 0) == (cmd.Branch != ""):
		return &problem{http.StatusBadRequest, "Say what to land: either `number` (a pull request) or `branch`."}
	case cmd.Branch != "" && s.o.OpenRequest == nil:
		return &problem{http.StatusBadRequest, "This forge has pull requests: open one for the branch, then land its `number`."}
	case cmd.Branch != "" && (!plainName(cmd.Branch, 255) || strings.HasPrefix(cmd.Branch, "-")):
		return &problem{http.StatusBadRequest, "`branch` is not the name of a branch."}
	}
	number := cmd.Number
	if cmd.Branch != "" {
		number, err = s.o.OpenRequest(c.Request().Context(), cmd.Branch, cmd.User)
		switch {
		case errors.Is(err, forge.ErrNotFound):
			return &problem{http.StatusNotFound, "There is no such branch in the repository: push it first."}
		case err != nil:
			s.log.Warn("a request to land cannot be opened", "queue", q.Name, "error", err)
			return &problem{http.StatusServiceUnavailable, "The branch cannot be read now. Try again; the server's log says why."}
		}
	}
	land := queue.Commented{Number: number, Author: cmd.User, Body: "/land"}
	if s.o.OpenRequest != nil {
		land.Comment = forge.RequestComment(number) // the same command, should the forge bring it, too
	}
	return s.submit(c, q.Name, land)
}

func (s *Server) apiCancel(c echo.Context) error {
	var cmd CancelCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	switch {
	case !plainName(cmd.User, 100):
		return &problem{http.StatusBadRequest, "Say who asks: `user` is one word."}
	case (cmd.Number > 0) == (cmd.ID != ""):
		return &problem{http.StatusBadRequest, "Say what to cancel: either `number` (a pull request) or `id` (a change)."}
	}
	id := cmd.ID
	if id == "" {
		id = strconv.Itoa(cmd.Number)
	}
	q, v, err := s.changeNamed(cmd.Queue, id)
	if err != nil {
		return err
	}
	if v.Change.Phase.Final() {
		return &problem{http.StatusConflict, fmt.Sprintf("#%d is not in the queue: its last verdict is %q.", v.Change.Number, v.Change.Phase)}
	}
	return s.submit(c, q.Name, queue.Commented{Number: v.Change.Number, Author: cmd.User, Body: "/land cancel"})
}

// submit puts a command into a queue's inbox as if it had been a comment. The
// comment's id is the event's: no forge has such a comment.
func (s *Server) submit(c echo.Context, name string, e queue.Commented) error {
	key := c.Request().Header.Get("Idempotency-Key")
	if key == "" {
		key = s.o.Random()
	}
	id := apiEvent + string(queue.DigestOf("api1", key, name, strconv.Itoa(e.Number), e.Author, e.Body)[:24])
	if e.Comment == "" {
		e.Comment = id
	}
	if err := s.o.Source.Submit(c.Request().Context(), name, queue.Event{ID: id, At: s.now(), Body: e}); err != nil {
		s.log.Warn("a command cannot be stored", "queue", name, "error", err)
		return &problem{http.StatusServiceUnavailable, "The command is not stored. Try again with the same Idempotency-Key; /readyz says what is wrong."}
	}
	s.log.Info("command over HTTP", "queue", name, "number", e.Number, "user", e.Author, "command", e.Body)
	writeJSON(c.Response(), http.StatusAccepted, APIAccepted{Queue: name, Number: e.Number, Event: id})
	return nil
}

func readCommand(c echo.Context, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(c.Response(), c.Request().Body, maxCommandBody))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &problem{http.StatusRequestEntityTooLarge, "The body is larger than any command."}
	case err != nil:
		return &problem{http.StatusBadRequest, "The body is not the JSON of a command: " + err.Error() + "."}
	}
	return nil
}

// plainName reports whether a name is one printable word of at most n bytes.
func plainName(name string, n int) bool {
	return name != "" && len(name) <= n && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}
