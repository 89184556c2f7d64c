package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// TokenVariable is the environment variable with the server's own token on a server, and
// with the token that the command line sends.
const TokenVariable = "SUBMITQUEUE_TOKEN"

// EventPrefix begins the ids of commands over HTTP.
const EventPrefix = "api-"

// maxCommandBody bounds a command's body.
const maxCommandBody = 64 << 10

// LandCommand asks to land a pull request, or, with a local forge, a branch.
// The header Idempotency-Key makes a repeated command the same command.
type LandCommand struct {
	Queue    string `json:"queue,omitempty"`  // may be left out where there is one queue
	Number   int    `json:"number,omitempty"` // this or Branch
	Branch   string `json:"branch,omitempty"`
	User     string `json:"user,omitempty"`     // of older clients; the command counts as given by the owner of the token; that owner needs the permission to land
	Retry    bool   `json:"retry,omitempty"`    // forget past failures: steps that failed run again
	Priority string `json:"priority,omitempty"` // a lane, which may need another permission; "": the default lane, or the lane that the change is in
	Method   string `json:"method,omitempty"`   // by which it lands, as far as the configuration allows it; "": that of the configuration. Not with Retry

	once queue.Digest // the same when the command is given again; "": it has no key
	note string       // what of it does not count
}

// CancelCommand asks to take a change out of its queue.
type CancelCommand struct {
	Queue  string `json:"queue,omitempty"`
	ID     string `json:"id,omitempty"`     // a change's id; this or Number
	Number int    `json:"number,omitempty"` // a pull request's
	User   string `json:"user,omitempty"`   // as in LandCommand
}

// Called returns the number of a change as its forge writes it. Where an older server
// does not say, it is as GitHub writes it.
func (a Accepted) Called() string { return cmp.Or(a.Name, "#"+strconv.Itoa(a.Number)) }

// PauseCommand holds landings; builds go on.
type PauseCommand struct {
	Queue  string `json:"queue,omitempty"`
	User   string `json:"user,omitempty"` // as in LandCommand; needs the permission over the queue
	Reason string `json:"reason"`         // shown to everybody with a change that waits
}

// ResumeCommand lets landings go on.
type ResumeCommand struct {
	Queue string `json:"queue,omitempty"`
	User  string `json:"user"`
}

// Accepted says that a command is in the queue's inbox. GET /api/change shows its
// result once `answered` there is not before `at`. GET /api/queue shows the result of a
// command about the queue.
type Accepted struct {
	Queue  string    `json:"queue"`
	Number int       `json:"number,omitempty"`
	Name   string    `json:"name,omitempty"` // as in Change
	Event  string    `json:"event"`          // id; the same for a repeated command
	At     time.Time `json:"at"`             // when it came, by the server's clock
	User   string    `json:"user"`           // it is given in the name of this user
	Note   string    `json:"note,omitempty"` // what of it does not count
}

// Requests are the requests to land a branch that a forge without pull requests has
// instead. Errors: forge.ErrNotFound where there is no such branch or request.
type Requests interface {
	// OpenOnce opens, or finds, the request to land a branch by a command. Where a command
	// with the same key was given before, and the key is not "", it finds the request of that
	// command, even one that has ended.
	OpenOnce(ctx context.Context, key queue.Digest, branch, user, command string) (number int, err error)
	// Asked returns the branch that a request asks to land.
	Asked(ctx context.Context, number int) (branch string, err error)
	// Base returns the branch that all requests land on.
	Base() string
	// Tip returns the present commit of that branch.
	Tip(ctx context.Context) (queue.CommitID, error)
}

// freshLimit bounds how long a command waits for the queue to read the target branch.
// After that the command goes on: the queue refuses a command that it cannot follow.
const freshLimit = 5 * time.Second

// branchPrefix may stand before a branch, and distinguishes a branch called 7 from request 7.
const branchPrefix = "refs/heads/"

func (s *Handlers) land(c echo.Context) error {
	var cmd LandCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	q, err := s.name(cmd.Queue)
	if err != nil {
		return err
	}
	local := s.o.Requests
	if local != nil {
		cmd.Branch = strings.TrimPrefix(cmd.Branch, branchPrefix)
	}
	cmd.User, cmd.note = s.as(c, cmd.User)
	switch {
	case cmd.Priority != "" && !plainName(cmd.Priority, 100):
		return &Problem{http.StatusBadRequest, "`priority` is the name of a lane: one word."}
	case cmd.Method != "" && (cmd.Retry || !plainName(cmd.Method, 40)):
		return &Problem{http.StatusBadRequest, "`method` is one word, and of no `retry`: that lands by the method that was asked for before."}
	}
	if err := s.oneOf("land", cmd.Number, cmd.Branch); err != nil {
		return err
	}
	at := s.now()
	if local != nil {
		if q, err = s.fresh(c.Request().Context(), q); err != nil {
			return err
		}
	}
	if err := s.laneRefused(c, q, cmd.Priority); err != nil {
		return err
	}
	if q.Main.Tip != "" && q.Main.Config == nil {
		return See(&Problem{http.StatusConflict, "Nothing can land on " + q.Main.Branch + " yet: " + q.Main.Broken + ". Write " +
			config.Path + " (`submitqueue validate` checks it) and push it to " + q.Main.Branch +
			" without the queue: before it is there, nobody has said how a change is tested."}, "troubleshoot#the-configuration-cannot-be-used")
	}
	land := queue.Commented{Number: cmd.Number, Author: cmd.User, Body: queue.PlainLand}
	lane := "" // and the method
	if cmd.Priority != "" {
		lane = " priority=" + cmd.Priority
	}
	if cmd.Method != "" {
		lane += " method=" + cmd.Method
	}
	asked := land.Body + lane // what a retry asks for once nothing is left to forget
	if cmd.Retry {
		land.Body = "/land retry"
	}
	land.Body += lane
	if local != nil {
		if key := c.Request().Header.Get("Idempotency-Key"); key != "" {
			cmd.once = digest.Of("land1", key, q.Name, cmd.User, land.Body)
		}
		if land.Number, err = s.openRequest(c.Request().Context(), q.Name, cmd, asked); err != nil {
			return err
		}
		if !cmd.Retry {
			land.Comment = forge.RequestComment(land.Number, asked) // the same command, should the forge bring it, too
		}
	}
	return s.submit(c, q.Name, land, Accepted{At: moment(at), Note: cmd.note})
}

// openRequest opens, or finds, the request of a forge without pull requests.
func (s *Handlers) openRequest(ctx context.Context, name string, cmd LandCommand, command string) (number int, err error) {
	branch := cmd.Branch
	if branch == "" {
		branch, err = s.o.Requests.Asked(ctx, cmd.Number)
	}
	if err == nil {
		once := cmd.once
		if once != "" {
			once = digest.Of("branch1", string(once), branch)
		}
		number, err = s.o.Requests.OpenOnce(ctx, once, branch, cmd.User, command)
	}
	switch {
	case errors.Is(err, forge.ErrNotFound) && branch == "":
		return 0, See(&Problem{http.StatusNotFound, fmt.Sprintf("There is no request #%[1]d: name a branch to make one, and a branch %[1]d as %[2]s%[1]d.", cmd.Number, branchPrefix)}, commandLineDoc)
	case errors.Is(err, forge.ErrNotFound):
		return 0, See(&Problem{http.StatusNotFound, fmt.Sprintf("There is no branch %q in the repository: push it first.", branch)}, commandLineDoc)
	case err != nil:
		s.o.Log.Warn("a request to land cannot be opened", "queue", name, "error", err)
		return 0, &Problem{http.StatusServiceUnavailable, fmt.Sprintf("The branch %q cannot be read now. Try again; the server's log says why.", branch)}
	}
	return number, nil
}

// fresh returns the queue once it has read where its target branch is now. A plain
// repository does not announce pushes, and the author of a command relies on the present
// branch.
func (s *Handlers) fresh(ctx context.Context, q Brief) (Brief, error) {
	ctx, cancel := context.WithTimeout(ctx, freshLimit)
	defer cancel()
	told := false
	for {
		changed := s.o.Source.Changed() // before the queue is read: nothing falls between
		q, err := s.name(q.Name)
		if err != nil {
			return q, err
		}
		tip, err := s.o.Requests.Tip(ctx)
		if err != nil || tip == q.Main.Tip {
			return q, nil // the queue itself says that it cannot read the branch
		}
		if !told {
			moved := queue.Event{ID: EventPrefix + s.o.Random(), At: s.now(), Body: queue.MainMoved{Branch: q.Main.Branch}}
			if err := s.o.Source.Submit(ctx, q.Name, moved); err != nil {
				return q, s.notStored(q.Name, err)
			}
			told = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return q, nil
		}
	}
}

func (s *Handlers) cancel(c echo.Context) error {
	var cmd CancelCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	user, note := s.as(c, cmd.User)
	switch {
	case (cmd.Number > 0) == (cmd.ID != ""):
		return &Problem{http.StatusBadRequest, "Say what to cancel: either `number` (of a pull or merge request) or `id` (a change)."}
	}
	id := cmd.ID
	if id == "" {
		id = strconv.Itoa(cmd.Number)
	}
	q, v, err := s.ChangeNamed(cmd.Queue, id)
	if err != nil {
		return err
	}
	called := s.in(q.Main.Branch, q.Mark).o.Words.Numbered(v.Change.Number)
	if v.Change.ID == "" {
		return &Problem{http.StatusConflict, called + " is not in the queue."}
	}
	if v.Change.Phase.Final() {
		return &Problem{http.StatusConflict, fmt.Sprintf("%s is not in the queue: its last verdict is %q.", called, v.Change.Phase)}
	}
	return s.submit(c, q.Name, queue.Commented{Number: v.Change.Number, Author: user, Body: "/land cancel"}, Accepted{At: moment(s.now()), Note: note})
}

func (s *Handlers) pause(c echo.Context) error {
	var cmd PauseCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	reason := strings.Join(strings.Fields(cmd.Reason), " ") // one line: a second one could be another command
	if reason == "" {
		return &Problem{http.StatusBadRequest, "Say why in `reason`: it is shown to everybody who waits."}
	}
	return s.aboutQueue(c, cmd.Queue, cmd.User, "/queue pause "+reason)
}

func (s *Handlers) resume(c echo.Context) error {
	var cmd ResumeCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	return s.aboutQueue(c, cmd.Queue, cmd.User, "/queue resume")
}

// aboutQueue puts a command about no pull request into the inbox.
func (s *Handlers) aboutQueue(c echo.Context, name, said, command string) error {
	user, note := s.as(c, said)
	q, err := s.name(name)
	if err != nil {
		return err
	}
	at := s.now()
	if s.o.Requests != nil {
		// A forced push that the queue has not heard of yet must not pause a queue that is
		// resumed now.
		if q, err = s.fresh(c.Request().Context(), q); err != nil {
			return err
		}
	}
	return s.submit(c, q.Name, queue.Commented{Author: user, Body: command}, Accepted{At: moment(at), Note: note})
}

// submit puts a command into a queue's inbox as if it had been a comment, and completes the
// answer. The comment's id is the event's: no forge has such a comment.
func (s *Handlers) submit(c echo.Context, name string, e queue.Commented, a Accepted) error {
	key := c.Request().Header.Get("Idempotency-Key")
	if key == "" {
		key = s.o.Random()
	}
	id := EventPrefix + string(digest.Of("api1", key, name, strconv.Itoa(e.Number), e.Author, e.Body)[:24])
	if e.Comment == "" {
		e.Comment = id
	}
	if err := s.o.Source.Submit(c.Request().Context(), name, queue.Event{ID: id, At: s.now(), Body: e}); err != nil {
		return s.notStored(name, err)
	}
	s.o.Log.Info("command over HTTP", "queue", name, "number", e.Number, "user", e.Author, "command", e.Body)
	a.Queue, a.Number, a.Event, a.User = name, e.Number, id, e.Author
	if b, ok := s.o.Source.Brief(name); ok && e.Number != 0 {
		a.Name = s.in(b.Main.Branch, b.Mark).o.Words.Numbered(e.Number)
	}
	WriteJSON(c.Response(), http.StatusAccepted, a)
	return nil
}

func (s *Handlers) notStored(name string, err error) error {
	s.o.Log.Warn("a command cannot be stored", "queue", name, "error", err)
	return &Problem{http.StatusServiceUnavailable, "The command is not stored. Try again, with the same Idempotency-Key if there was one; /readyz says what is wrong."}
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
		return &Problem{http.StatusRequestEntityTooLarge, "The body is larger than any command."}
	case err != nil:
		return &Problem{http.StatusBadRequest, "The body is not the JSON of a command: " + err.Error() + "."}
	}
	return nil
}

// plainName reports whether a name is one printable word of at most n bytes.
func plainName(name string, n int) bool {
	return name != "" && len(name) <= n && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}
