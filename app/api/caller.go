package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/queue/config"
)

// as returns the name in which a command is given: that of its token. Commands of older
// clients name a user; the note says that this name does not count.
func (s *Handlers) as(c echo.Context, said string) (user, note string) {
	user = s.o.Caller(c).Name
	if said != "" && said != user {
		note = "The command is given in the name of " + user + ", whose token it came with. `user` does not say otherwise; for another name, use a token of that name."
	}
	return user, note
}

// laneRefused says why the caller may not use a lane, on a forge that has no permissions:
// there the role of the token stands for the role at a forge.
func (s *Handlers) laneRefused(c echo.Context, q Brief, name string) error {
	if name == "" || s.o.Requests == nil || q.Main.Config == nil {
		return nil
	}
	who, role := s.o.Caller(c), "write"
	if who.Role.May(access.Admin) {
		role = "admin"
	}
	if lane, known := q.Main.Config.Queue.Lane(name); known && !lane.Least.Allows(role, who.Name, nil) {
		return &Problem{http.StatusForbidden, "The lane " + name + " is not for the token of " + who.Name + ", whose role is " + string(who.Role) +
			": " + config.Path + " gives it to " + string(lane.Least) + ", and the role admin stands for those. Ask without a lane, or with another token."}
	}
	return nil
}
