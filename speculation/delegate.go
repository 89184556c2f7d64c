package speculation

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A delegation lets a user land, retry and cancel one pull request without the
// permissions for that. It ends when the pull request is closed. For a user
// without write access it holds for the head that it was given at: the author of the
// command has vouched for that head, and not for the next one. It opens no lane and
// approves no protected path.

// maxTrusted bounds the number of people that one pull request is delegated to.
const maxTrusted = 20

func (c *entering) delegate(r *queue.Request, b queue.Inspected) {
	if !b.Open {
		c.refuse(r, c.notOpen(r.Number, b))
		return
	}
	p, user := c.pull(r.Number), strings.TrimPrefix(r.Command.User, "@")
	p.Trusted = slices.DeleteFunc(slices.Clone(p.Trusted), func(t queue.Trusted) bool { return strings.EqualFold(t.User, user) })
	if len(p.Trusted) == maxTrusted {
		p.Trusted = p.Trusted[1:]
	}
	p.Trusted = append(p.Trusted, queue.Trusted{User: user, By: r.User, Head: b.Head, Made: r.Made, At: c.facts.Now})
	c.told1(r, "delegated", queue.Reason{Code: queue.ReasonDelegated, Names: []string{user, r.User}})
}

func (c *entering) undelegate(r *queue.Request) {
	p, user := c.pull(r.Number), strings.TrimPrefix(r.Command.User, "@")
	var names []string
	p.Trusted = slices.DeleteFunc(slices.Clone(p.Trusted), func(t queue.Trusted) bool {
		gone := user == "" || strings.EqualFold(t.User, user)
		if gone {
			names = append(names, t.User)
		}
		return gone
	})
	c.told1(r, "undelegated", queue.Reason{Code: queue.ReasonUndelegated, Names: names})
}

// distrust ends the delegations of a pull request that is closed.
func (c *entering) distrust(number int) {
	if p := c.s.Pulls[number]; p != nil && len(p.Trusted) > 0 {
		p.Trusted = nil
		c.touchPull(p)
	}
}

// told1 writes a word into the history, answers with it and accepts the command.
func (c *entering) told1(r *queue.Request, what string, why queue.Reason) {
	c.note(queue.Note{Number: r.Number, What: what, Reason: why})
	c.answer(r, why)
	c.react(r, true)
}

// trustedWith returns the delegation of a pull request to a user, or nil.
func (c *entering) trustedWith(number int, user string) *queue.Trusted {
	p := c.s.Pulls[number]
	if p == nil {
		return nil
	}
	for i := range p.Trusted {
		if strings.EqualFold(p.Trusted[i].User, user) {
			return &p.Trusted[i]
		}
	}
	return nil
}

// delegated reports whether a command may be given because of a delegation.
func (c *entering) delegated(r *queue.Request, b queue.Inspected) bool {
	return c.commands.Row(r.Command.Verb).Delegated && c.entrusted(r.Number, r.User, b)
}

// entrusted reports whether a delegation of a pull request to a user holds for
// its head.
func (c *entering) entrusted(number int, user string, b queue.Inspected) bool {
	t := c.trustedWith(number, user)
	return t != nil && (t.Head != "" && t.Head == b.Head || config.RoleLevel(b.Permission) >= config.RoleLevel("write"))
}
