package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// wide is a history in which all of the world's settings are drawn at once, and all commands are
// given by all kinds of people, in all ways that there are.
type wide struct {
	*history
	branch  string // the present name of main
	follows bool   // the queue goes along when main is renamed
	stood   int    // how often it was told that it does not
	watched *watched
	ended   map[int]map[queue.ReasonCode]bool // reasons to take a pull request out, as they came true
	focus   *pull
	missing map[int]bool          // pull requests that were deleted
	moved   map[int]queue.Instant // when a head moved last
	blurred map[int]bool          // pull requests with pushes that nobody has told of
}

// people are those who give commands, with the forge's roles.
var people = map[string]string{"boss": "admin", "mia": "maintain", "dev": "write", "eve": "write", "tri": "triage", "rea": "read", "stranger": "none", "good[bot]": "none", "bad[bot]": "none"}

// somePull returns one that several things happen to, one after the other, or any.
func (x *wide) somePull() *pull {
	if x.focus == nil || x.chance(25, "another") {
		if x.focus = x.history.somePull(); x.focus == nil {
			return nil
		}
	}
	if x.chance(20, "besides") {
		return x.history.somePull()
	}
	return x.focus
}

// named has events name main as it is called now.
func (x *wide) named(b queue.Body) queue.Body {
	if x == nil {
		return b
	}
	switch b := b.(type) {
	case queue.Inspected:
		if a := x.core.State().Actions[b.Action]; a != nil && !b.Missing {
			x.watched.known[a.Task.(queue.Inspect).Number] = b
		}
	case queue.MainMoved:
		b.Branch = x.branch
		return b
	case queue.Offered:
		if b.Base == "main" {
			b.Base = x.branch
		}
		return b
	}
	return b
}

// writes is what the comment of a pull request is once it is written.
func (x *wide) writes(p *pull, t queue.Publish, _ queue.View) queue.Said {
	if x != nil {
		p.said = queue.Said{Marker: "<!-- submitqueue:acme/shop@main -->", Text: t.Want}
	}
	return p.said
}

// answers says what else the forge has to say than what a pull request is like.
func (x *wide) answers(p *pull, key string, t queue.Inspect) queue.Body {
	switch {
	case x == nil:
	case t.Number == 0:
		return queue.Inspected{Action: key, ConfigAt: x.core.State().Main.ConfigAt, Permission: x.roleOf(t.User)}
	case p == nil || x.missing[t.Number]:
		return queue.Inspected{Action: key, Missing: true, ConfigAt: x.core.State().Main.ConfigAt}
	case p.open && p.base == "main":
		return x.elsewhere(key)
	}
	return nil
}

// elsewhere is the answer of a forge that has renamed main.
func (x *wide) elsewhere(key string) queue.Body {
	if x == nil || x.branch == x.core.State().Main.Branch {
		return nil
	}
	return x.renaming(key)
}

func (x *wide) renaming(key string) queue.Body {
	out := queue.Renamed{Action: key, From: x.core.State().Main.Branch, To: x.branch}
	if x.follows {
		return out
	}
	if x.stood++; x.stood > 8 {
		x.stood, x.branch = 0, out.From
		x.logf("## main is called %s again", x.branch)
		return nil
	}
	out.Why = "the branch was renamed"
	return out
}

func (x *wide) roleOf(user string) string { return cmp.Or(x.roles[user], people[user], "none") }

// tells says what the app does: of people who may not run anything, little is asked.
func (x *wide) tells(p *pull, t queue.Inspect, out *queue.Inspected) {
	if x == nil {
		return
	}
	out.Permission = x.roleOf(t.User)
	out.Fork = p.fork
	r := x.core.State().Requests[t.Request]
	verb := queue.Verb("")
	if r != nil {
		verb = r.Command.Verb
	}
	if out.Base == "main" {
		out.Base = x.branch
	}
	if out.Stack.Foot == "main" {
		out.Stack.Foot = x.branch
	}
	if verb != queue.CommandAuto && verb != queue.CommandExplain {
		out.Auto = nil
	}
	ours := verb == queue.CommandRecheck
	if vouched := x.core.Vouched(t.Request); config.RoleLevel(out.Permission) < config.RoleLevel("write") && !vouched && !ours {
		*out = queue.Inspected{Action: out.Action, ConfigAt: out.ConfigAt, Head: out.Head, HeadRef: out.HeadRef, Branch: out.Branch, Base: out.Base, Fork: out.Fork, Merged: out.Merged,
			Title: out.Title, Author: out.Author, Facets: out.Facets, Changed: out.Changed, Open: out.Open, Draft: out.Draft, Permission: out.Permission}
		return
	}
	if r != nil && r.Doubtful(out.Changed) {
		out.Unmoved = x.moved[p.number] <= r.Made
	}
	if !slices.Contains([]queue.Verb{queue.CommandLand, queue.CommandRetry, queue.CommandNow, queue.CommandTry, queue.CommandExplain}, verb) {
		out.Below = "" // the app works out how it would land for these only
	}
	if verb == queue.CommandExplain && out.Open && out.Head != "" {
		if c, conflicts := x.merge(x.main, queue.Pick{Head: out.Head}); len(conflicts) == 0 {
			out.Already = c.id == x.main
		}
	}
	vouches := out.Permission == "admin" && !ours && !queue.IsOwn(t.Request)
	out.Vouched = vouches
	if x.guards {
		out.Approved = x.sanctioned[out.Head] || vouches
		if vouches {
			x.sanctioned[out.Head] = true
		}
	}
}
