package speculation

import (
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// The forge's own stacks (queue.Stack.Native). The queue treats them like other stacks,
// except for three things.
//
// A request to land a member also asks to land the members below it, as the forge's own
// button does. Each of them needs what it would need if it were asked for alone.
//
// The forge alone changes the base of a member. It does so when it has seen that all
// members below are merged. So a member lands alone (Change.Pinned), after the others; it
// is built on them before that. If the forge does not do its part, the member waits with
// RequireRestack, which tells its author how to go on. The forge is asked about it from
// time to time, since no webhook tells that a stack was dissolved. It also waits while
// the forge has changed the base and not yet the head. If it landed then, its head would
// not be the one that the forge is about to show, so the forge would not show it as
// merged.
//
// As its part, the forge makes the member's commits anew, and moves the head by force.
// That is no push of the author's: the approved content lands (goOn).

// restackFor is how long the forge may take from the change of a base to that of the head.
const restackFor = time.Minute

// restacked reports whether an inspection shows a change's commits unchanged, on top of
// others.
func restacked(ch *queue.Change, b queue.Inspected) bool {
	return b.Open && b.Same != "" && b.Same == ch.Head && b.Head != ch.Head
}

// goOn has a change go on at another head that has the same commits on top of others. It
// keeps its place, its lane, its method, its requester and the rule that entered it; and its
// approvals, if it had those that it needs. It does not keep an administrator's approval,
// which is of one commit: git may have taken edits of others along into a protected path,
// where only the new head holds them. As always, proofs count as far as the content is the
// same. It reports whether the change goes on.
func (c *entering) goOn(ch *queue.Change, b queue.Inspected) bool {
	id := queue.NewChangeID(ch.Number, b.Head, string(ch.ID))
	if c.s.Changes[id] != nil {
		return false
	}
	next := &queue.Change{
		ID: id, Number: ch.Number, Head: b.Head, HeadRef: b.HeadRef, Branch: b.Branch, Title: b.Title, Author: b.Author, Requester: ch.Requester, URL: b.URL,
		Basis: queue.Basis{Base: c.baseIn(b), Parent: c.parentIn(b), Stack: b.Stack.Native, Restacked: b.Stack.Native != 0 && c.parentIn(b) == 0}, Arrival: ch.Arrival, Now: ch.Now, Lane: ch.Lane,
		Foreseen: ch.Foreseen, Manner: ch.Manner, Own: ch.Own, Rule: ch.Rule, Consent: ch.Consent, Course: queue.Course{Builds: ch.Builds, Spent: ch.Spent},
	}
	next.Below = b.Below
	if next.Kept = ch.Kept || wasApproved(ch); next.Kept {
		next.KeptAt = c.facts.Now
	}
	next.Approved, next.Vouched = false, false
	p := c.pull(ch.Number)
	if p.Head == b.Head && p.Pushes > 0 {
		p.Pushes-- // this push was taken for a push of the author
	}
	next.Facets = c.facetsOf(ch.Number, b)
	// This parks the changes on top of it, since their merges had the former head below.
	// They come back in the same turn.
	c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonRestacked, Names: []string{string(ch.Head), string(b.Head)}}, nil)
	p.Ended--
	c.move(next, queue.Analyzing, queue.Reason{Code: queue.ReasonAnalyzing})
	c.standOn(next)
	c.s.Changes[id] = next
	c.touchChange(next)
	p.Active, p.Head, p.Gone, p.Landed, p.Branch = id, b.Head, false, false, b.Branch
	c.note(queue.Note{Change: id, Number: ch.Number, What: "entered", Commit: b.Head})
	if !c.guarding.admit(next, b) {
		return true
	}
	if why := c.settling.leaning(next); why.Code != "" {
		c.settling.park(next, why, 0)
	} else {
		c.upkeep.ask(c.settling.analysis(next))
	}
	return true
}

// wasApproved reports whether a change had the reviews that it needs when it was last
// looked at.
func wasApproved(ch *queue.Change) bool {
	if waitsOutside(ch) {
		return !slices.ContainsFunc(ch.Reason.Unmet, func(q queue.Requirement) bool { return ofReviews(q.Kind) })
	}
	return ch.Met > 1 // 1: something has happened since (stirred), and the change may have lost an approval by that
}

// askBelow asks to land the pull requests below a member of the forge's own stack, in
// the name of the requester of the member.
func (c *entering) askBelow(r *queue.Request, b queue.Inspected) {
	if b.Stack.Native == 0 || r.Own {
		return
	}
	for _, n := range b.Stack.Below {
		if p := c.s.Pulls[n]; p != nil && (p.Active != "" || p.Landed) {
			continue
		}
		// The id begins with that of the request, which shows where it came from.
		c.request(queue.Request{ID: r.ID + "/below/" + strconv.Itoa(n), Number: n, User: r.User, At: r.At, Bot: r.Bot, Made: r.Made, Late: r.Late,
			Command: queue.Command{Verb: queue.CommandLand, Lane: r.Command.Lane, Method: r.Command.Method}})
	}
}

// inStack notes which of the forge's own stacks a change is in by now, and whether the
// forge has begun to restack it. Call it before the change's base is noted.
func (c *entering) inStack(ch *queue.Change, b queue.Inspected) {
	if ch.Pinned() && b.Stack.Native != 0 && c.baseIn(b) == "" && b.Head == ch.Head && !ch.Restacked && ch.Restack == 0 {
		ch.Restack = c.facts.Now.Add(restackFor)
		c.touchChange(ch)
	}
	if ch.Stack != b.Stack.Native {
		ch.Stack = b.Stack.Native
		c.touchChange(ch)
	}
}

// restacking is the requirement of a change when the forge has changed its base and
// may yet move its head.
func (c *entering) restacking(ch *queue.Change, b queue.Inspected) []queue.Requirement {
	if b.Stack.Native == 0 || c.facts.Now >= ch.Restack {
		return nil
	}
	return []queue.Requirement{{Kind: queue.RequireRestack, Names: []string{strconv.Itoa(b.Stack.Native)}}}
}

// toRestack is the requirement of a pull request in one of the forge's own stacks that
// has no member below it any more, and asks for another branch than the queue's.
func (c *entering) toRestack(b queue.Inspected) []queue.Requirement {
	if base := c.baseIn(b); b.Stack.Native != 0 && base != "" && c.parentIn(b) == 0 {
		return []queue.Requirement{{Kind: queue.RequireRestack, Names: []string{strconv.Itoa(b.Stack.Native), base, c.s.Main.Branch}}}
	}
	return nil
}
