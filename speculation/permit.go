package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Main's configuration says which people may give which command
// (config.Permissions). A command that builds or lands a change also needs
// write access.

// role returns the role that a requester has. The forge does not tell the role of an
// App; if main's configuration names the App, that stands for a role.
func (c *entering) role(r *queue.Request, b queue.Inspected) string {
	if r.Bot && c.facts.Permissions().HearsBot(r.User) && config.RoleLevel(b.Permission) < config.RoleLevel("write") {
		return "write"
	}
	return b.Permission
}

// Vouched reports whether a request may be followed though its author has no
// write access.
func (c *Core) Vouched(request string) bool {
	r := c.s.Requests[request]
	return r != nil && (r.Own || r.Bot && c.facts.Permissions().HearsBot(r.User) || c.entering.trustedWith(r.Number, r.User) != nil)
}

// notAllowed says why a command may not be given by its requester, if so.
func (c *entering) notAllowed(r *queue.Request, b queue.Inspected) queue.Reason {
	role, who := c.role(r, b), c.commands.Who(c.comesTo(r, b), c.facts.Permissions())
	switch {
	case r.Own:
		return queue.Reason{}
	case r.Bot && !c.facts.Permissions().HearsBot(r.User): // main's configuration has changed since
		return queue.Reason{Code: queue.ReasonNoPermission, Names: []string{r.User, "write"}}
	case c.delegated(r, b):
		return queue.Reason{}
	case who == "", r.Command.Verb == queue.CommandCancel && r.User == b.Author:
		return queue.Reason{}
	case !who.Allows(role, r.User, b.Teams):
		return queue.Reason{Code: queue.ReasonNoPermission, Names: []string{r.User, string(who)}}
	case c.commands.Row(r.Command.Verb).Runs && config.RoleLevel(role) < config.RoleLevel("write"):
		return queue.Reason{Code: queue.ReasonNoPermission, Names: []string{r.User, "write"}}
	}
	return queue.Reason{}
}

// mayRun reports whether a command may run code of a pull request: itself, or by a command that it
// may need the permission of, as an explanation does, which may have the head analyzed. The queue's
// own look at a change runs nothing.
func (c *entering) mayRun(v queue.Verb) bool {
	row := c.commands.Row(v)
	return row.Runs || v != queue.CommandRecheck && slices.ContainsFunc(row.Also, func(also queue.Verb) bool { return c.commands.Row(also).Runs })
}

// comesTo returns the command that a request needs the permission of: /retry of a
// head that was never asked to land here is a /land.
func (c *entering) comesTo(r *queue.Request, b queue.Inspected) queue.Verb {
	if r.Command.Verb != queue.CommandRetry {
		return r.Command.Verb
	}
	if c.settling.tryToRetry(r.Number) != nil {
		return queue.CommandRetry
	}
	for _, ch := range c.s.Changes {
		if ch.Number == r.Number && ch.Head == b.Head && ch.Phase != queue.Trying && ch.Phase != queue.Tried {
			return queue.CommandRetry
		}
	}
	return queue.CommandLand
}

// outrun reports whether a command was not heard when it was given, and its pull request has changed
// since: its author may not have seen the present head.
func (c *entering) outrun(r *queue.Request, b queue.Inspected) bool {
	return c.mayRun(r.Command.Verb) && r.Doubtful(b.Changed) && !b.Unmoved
}

// unvouched returns the forge's answer without the approval of a command that may be about another
// head: an administrator approves only the head that he or she has seen.
func (c *entering) unvouched(r *queue.Request, b queue.Inspected) queue.Inspected {
	if c.outrun(r, b) {
		ch := c.facts.Links.Active(r.Number)
		b.Vouched, b.Approved = false, ch != nil && ch.Head == b.Head && ch.Approved
	}
	return b
}

// outdated says that a command is about an outdated commit, if so. A cancel is compared
// with the queue's head, other commands with the pull request's. A command that was not
// heard when it was given is about the present head only if nothing has changed since. One
// that was given before that head had its verdict was heard in another way, and has its answer.
func (c *entering) outdated(r *queue.Request, b queue.Inspected) queue.Reason {
	now := b.Head
	active := c.facts.Links.Active(r.Number)
	if r.Command.Verb == queue.CommandCancel && active != nil {
		now = active.Head
	} else if try := c.settling.tryOf(r.Number); r.Command.Verb == queue.CommandCancel && try != nil {
		now = try.Head
	}
	if active == nil && !b.Open && (r.Command.Verb == queue.CommandLand || r.Command.Verb == queue.CommandNow) {
		return queue.Reason{} // that it is closed or merged is refused, and no further command changes that
	}
	// Where the queue has a change by now, the command would not get that answer, but take the change out
	// for a head that came back since.
	if answered := active == nil && c.isDecided(r, now); c.outrun(r, b) && !answered {
		// The queue has the present head already where somebody has asked for that, and then the
		// command adds nothing. But a delegation would speak for the head.
		if active == nil || active.Head != now || r.Command.Verb == queue.CommandDelegate {
			return queue.Reason{Code: queue.ReasonHeardLate, Names: []string{string(now)}}
		}
	}
	if p := c.pushed(r.Number); c.mayRun(r.Command.Verb) && p.Head == now && r.Head != now && r.Made != 0 && p.Made > r.Made && p.By != r.User {
		return queue.Reason{Code: queue.ReasonPushed, Names: []string{"", string(now)}} // the push was heard first
	}
	if r.Head == "" || r.Head == now {
		return queue.Reason{}
	}
	return queue.Reason{Code: queue.ReasonPushed, Names: []string{string(r.Head), string(now)}}
}
