package queue

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Who returns what the permissions of a configuration say of a command; "" for those
// that anybody may give.
func (v Verb) Who(p config.Permissions) config.Who {
	land := p.Land
	if land == "" {
		land = "write"
	}
	or := func(w, otherwise config.Who) config.Who {
		if w == "" {
			return otherwise
		}
		return w
	}
	switch v {
	case CommandLand, CommandRecheck:
		return land
	case CommandCancel:
		return or(p.Cancel, land)
	case CommandRetry:
		return or(p.Retry, land)
	case CommandTry:
		return or(p.Try, land)
	case CommandDelegate, CommandUndelegate:
		return or(p.Delegate, land)
	case CommandNow:
		return or(p.Now, "admin")
	case CommandPause, CommandResume, CommandFreeze, CommandForget:
		return or(p.Queue, "maintain")
	}
	return ""
}

// EnteringVerbs returns the commands that put a pull request into the queue.
func EnteringVerbs() []Verb { return []Verb{CommandLand, CommandRetry, CommandNow} }

// Teams returns the teams that matter to whether a user with a role may give
// the command: those of the lists that the role alone does not satisfy.
func (cmd Command) Teams(c *config.Config, role string) []string {
	if cmd.Verb == CommandExplain {
		cmd.Verb = CommandTry // what is not in the queue is analyzed for it
	}
	lists := []config.Who{cmd.Verb.Who(c.Permissions)}
	if cmd.Verb == CommandRetry { // of a head that was never asked to land
		lists = append(lists, CommandLand.Who(c.Permissions))
	}
	if cmd.Verb == CommandRecheck { // of who has asked by any of these
		for _, v := range EnteringVerbs() {
			lists = append(lists, v.Who(c.Permissions))
		}
	}
	if lane, ok := c.Queue.Lane(cmd.Lane); ok {
		lists = append(lists, lane.Least)
	}
	var out []string
	for _, w := range lists {
		if !w.Allows(role, "", nil) {
			out = append(out, w.Teams()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
