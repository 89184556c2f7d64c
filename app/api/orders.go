package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// OrderCommand is a command about one pull request, or, with a local forge, one branch.
// Its fields are the parts of the comment that would say the same. Fields that the
// command does not take are refused. The header Idempotency-Key makes a repeated
// command the same command.
type OrderCommand struct {
	Queue  string `json:"queue,omitempty"`  // may be left out where there is one queue
	Number int    `json:"number,omitempty"` // this or Branch
	Branch string `json:"branch,omitempty"` // of a local forge
	User   string `json:"user,omitempty"`   // as in LandCommand
	Method string `json:"method,omitempty"` // of try and explain: the method by which it would land
	Reason string `json:"reason,omitempty"` // of now: why, for everybody to read
	To     string `json:"to,omitempty"`     // of delegate and undelegate: a user of the forge; undelegate without one means all
}

// FreezeCommand holds landings until a moment; builds go on.
type FreezeCommand struct {
	Queue  string `json:"queue,omitempty"`
	User   string `json:"user,omitempty"`   // as in LandCommand; needs the permission over the queue
	Until  string `json:"until"`            // "2h", "3d", "18:00", "2026-12-24 18:00", in UTC (queue.ParseUntil)
	Reason string `json:"reason,omitempty"` // shown to everybody with a change that waits
}

// order is an address that takes an OrderCommand.
type order struct {
	path  string
	verb  queue.Verb
	takes []string // of method, reason and to
	asks  bool     // it asks to land; on a local forge it opens a request
}

// orders are the commands about one pull request, beside land and cancel, that have
// their own address.
var orders = []order{
	{path: "/api/try", verb: queue.CommandTry, takes: []string{"method"}},
	{path: "/api/explain", verb: queue.CommandExplain, takes: []string{"method"}},
	{path: "/api/now", verb: queue.CommandNow, takes: []string{"reason"}, asks: true},
	{path: "/api/delegate", verb: queue.CommandDelegate, takes: []string{"to"}},
	{path: "/api/undelegate", verb: queue.CommandUndelegate, takes: []string{"to"}},
}

// line returns the line of a comment that gives the same command as an order. The error
// names a field that the command does not take, or not with that value.
func (o order) line(cmd OrderCommand) (string, error) {
	given := map[string]string{"method": cmd.Method, "reason": cmd.Reason, "to": cmd.To}
	words := []string{queue.Commands().Row(o.verb).Words}
	for _, name := range []string{"method", "reason", "to"} {
		value := strings.Join(strings.Fields(given[name]), " ") // one line: a second one could be another command
		switch {
		case value == "":
		case !slices.Contains(o.takes, name):
			return "", &Problem{http.StatusBadRequest, fmt.Sprintf("`%s` is nothing that %s takes.", name, o.path)}
		case name == "method":
			words = append(words, "method="+value)
		default:
			words = append(words, value)
		}
	}
	return spoken(o.verb, strings.Join(words, " "))
}

// spoken returns a line if a comment with that line asks for a verb and for nothing else.
func spoken(verb queue.Verb, line string) (string, error) {
	if p := queue.ParseCommands(line); len(p) == 1 && p[0].Verb == verb {
		return line, nil
	}
	row := queue.Commands().Row(verb)
	usage := row.Forms[0].Usage
	return "", &Problem{http.StatusBadRequest, fmt.Sprintf("This is not what `%s` takes, which is what a comment would say.", usage)}
}

// give answers an order.
func (s *Handlers) give(o order) echo.HandlerFunc {
	return func(c echo.Context) error {
		var cmd OrderCommand
		if err := readCommand(c, &cmd); err != nil {
			return err
		}
		q, err := s.name(cmd.Queue)
		if err != nil {
			return err
		}
		user, note := s.as(c, cmd.User)
		local := s.o.Requests
		if local != nil {
			cmd.Branch = strings.TrimPrefix(cmd.Branch, branchPrefix)
		}
		if err := s.oneOf(string(o.verb), cmd.Number, cmd.Branch); err != nil {
			return err
		}
		line, err := o.line(cmd)
		if err != nil {
			return err
		}
		at := s.now()
		e := queue.Commented{Number: cmd.Number, Author: user, Body: line}
		if local == nil {
			return s.submit(c, q.Name, e, Accepted{At: moment(at), Note: note})
		}
		if slices.Contains(o.takes, "to") {
			return See(&Problem{http.StatusConflict, "Nothing is delegated on a plain repository: every token of the role land may land. submitqueue token add NAME --role land makes one."}, "operate#tokens")
		}
		if q, err = s.fresh(c.Request().Context(), q); err != nil {
			return err
		}
		if err := s.roleRefused(c, q, o.verb); err != nil {
			return err
		}
		land, asked := LandCommand{Number: cmd.Number, Branch: cmd.Branch, User: user}, ""
		if o.asks {
			asked = line
		}
		if key := c.Request().Header.Get("Idempotency-Key"); key != "" {
			land.once = digest.Of("order1", key, q.Name, user, line)
		}
		if e.Number, err = s.openRequest(c.Request().Context(), q.Name, land, asked); err != nil {
			return err
		}
		if o.asks {
			e.Comment = forge.RequestComment(e.Number, asked) // the same command, should the forge bring it, too
		}
		return s.submit(c, q.Name, e, Accepted{At: moment(at), Note: note})
	}
}

// commandLineDoc is the place in the documentation about commands over this interface.
const commandLineDoc = "commands#on-the-command-line-and-over-http"

// oneOf returns an error unless a command is about exactly one thing: a pull request, or a branch
// of a local forge. what is the command, in an infinitive.
func (s *Handlers) oneOf(what string, number int, branch string) error {
	local := s.o.Requests
	switch {
	case (number > 0) == (branch != ""):
		return &Problem{http.StatusBadRequest, "Say what to " + what + ": either `number` (of a pull or merge request) or `branch`."}
	case branch != "" && local == nil:
		return See(&Problem{http.StatusBadRequest, "Here, changes are pull or merge requests: open one for the branch, then name its `number`."}, commandLineDoc)
	case branch != "" && (!plainName(branch, 255) || strings.HasPrefix(branch, "-")):
		return &Problem{http.StatusBadRequest, fmt.Sprintf("%q is not the name of a branch.", Tail(branch, 255))}
	case local != nil && branch == local.Base():
		return See(&Problem{http.StatusBadRequest, branch + " is the branch that changes land on: name the branch of a change."}, commandLineDoc)
	}
	return nil
}

// roleRefused says why the caller may not give a command, on a forge that has no
// permissions: there the role of the token stands for the role at a forge.
func (s *Handlers) roleRefused(c echo.Context, q Brief, verb queue.Verb) error {
	var p config.Permissions
	if q.Main.Config != nil {
		p = q.Main.Config.Permissions
	}
	who, role := s.o.Caller(c), "write"
	if who.Role.May(access.Admin) {
		role = "admin"
	}
	if may := queue.Commands().Who(verb, p); may != "" && !may.Allows(role, who.Name, nil) {
		return See(&Problem{http.StatusForbidden, fmt.Sprintf("This is not for the token of %s, whose role is %s: it is for %s (`permissions` in %s), and the role admin stands for those. Ask with another token.",
			who.Name, who.Role, may, config.Path)}, "operate#tokens")
	}
	return nil
}

func (s *Handlers) freeze(c echo.Context) error {
	var cmd FreezeCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	until, reason := strings.Fields(cmd.Until), strings.Fields(cmd.Reason)
	if _, rest, ok := queue.ParseUntil(until, s.now()); !ok || len(rest) > 0 {
		return &Problem{http.StatusBadRequest, "`until` is a duration (2h, 3d), a time of the day (18:00), a date, or both (2026-12-24 18:00), in UTC; from a minute to 90 days from now."}
	}
	line, err := spoken(queue.CommandFreeze, strings.Join(append(append([]string{"/queue freeze"}, until...), reason...), " "))
	if err != nil {
		return err
	}
	return s.aboutQueue(c, cmd.Queue, cmd.User, line)
}
