package speculation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Requirements. A forge may ask things of a pull request before it lands: reviews,
// checks, resolved conversations. A change that does not meet them waits, parked,
// with the list of them (ReasonRequirements); the forge is asked again when
// something has happened there (Stirred). It is also asked from time to time, in case
// that event was lost.
//
// The forge is asked about a change in the order once more right before it lands: a
// change boards no push if its requirements were last seen to be met longer than
// metFor ago. It keeps its place in the train meanwhile, so that no other change has
// to be merged anew. If the answer takes long, the others go first. A change that no
// longer meets its requirements is parked, which does not affect any other change.
//
// All of this is off for changes of a forge that has no requirements: their Met is 0.

const (
	metFor        = time.Minute      // for so long requirements are assumed to stay met
	boardingFor   = 15 * time.Second // for so long the train waits for the answer
	boardingRetry = 2 * time.Minute  // a change about which there was no answer is asked about again after this
	gather        = 2 * time.Second  // when a check has ended, the queue waits so long for further ones
	keptFor       = 10 * time.Minute // a forge that dismisses approvals because of a push has done so after this time
	minWait       = time.Minute      // between two questions about a change that waits, without news of it
	maxWait       = time.Hour
	maxWaitOther  = 10 * time.Minute // maxWait for a change that waits for another pull request, which may be another server's, or for the end of a stack, of which no webhook tells
)

// waitsOutside reports whether a change waits for the requirements of its pull request.
func waitsOutside(ch *queue.Change) bool {
	return ch.Phase == queue.Parked && ch.Reason.Code == queue.ReasonRequirements
}

// wanting returns the requirements that a pull request does not meet. vouched says that
// an administrator has approved its head by asking to land it.
func wanting(b queue.Inspected, vouched bool) []queue.Requirement {
	if !b.Requires {
		return nil
	}
	var out []queue.Requirement
	if b.Draft {
		out = append(out, queue.Requirement{Kind: queue.RequireReady})
	}
	if len(b.Protected) > 0 && !b.Approved && !vouched {
		out = append(out, queue.Requirement{Kind: queue.RequireAdministrator, Names: b.Protected})
	}
	out = append(out, b.Unmet...)
	if !slices.ContainsFunc(out, func(r queue.Requirement) bool { return r.Kind != queue.RequireMerge }) {
		return nil // if the forge only says that it does not merge, the queue's own merge gives the verdict
	}
	return out
}

// misses reports whether an answer about a pull request shows that a change which does not wait
// outside is to do so.
func (c *guarding) misses(ch *queue.Change, b queue.Inspected) bool {
	return !waitsOutside(ch) && len(wanting(asKept(ch, b), ch.Vouched || ch.Met == 0)) > 0
}

// asKept returns an inspection with the approvals restored that only our own pushes of
// the head, or the forge's, have taken away. The pull request was approved at the head
// that it has again, or at one with the same commits (goOn). A forge that dismisses
// approvals on each push has done so because of our push, or its own.
func asKept(ch *queue.Change, b queue.Inspected) queue.Inspected {
	if !ch.Kept || ch.Head != b.Head {
		return b
	}
	b.Approved = b.Approved || ch.Approved
	b.Unmet = slices.DeleteFunc(slices.Clone(b.Unmet), func(r queue.Requirement) bool { return ofReviews(r.Kind) })
	return b
}

// endKept ends that approvals count which the forge no longer shows (asKept), once the forge
// shows by itself that all are there, after the time in which it dismisses any. If one is missing
// later, a person has taken it back.
func (c *guarding) endKept(ch *queue.Change, b queue.Inspected) {
	if !ch.Kept || ch.Head != b.Head || !b.Requires || c.facts.Now < ch.KeptAt.Add(keptFor) {
		return
	}
	kept := asKept(ch, b)
	if len(kept.Unmet) == len(b.Unmet) && (kept.Approved == b.Approved || len(b.Protected)+len(b.Guarded) == 0) {
		ch.Kept, ch.KeptAt = false, 0
		c.touchChange(ch)
	}
}

// ofReviews reports whether a forge takes a requirement for unmet again after a push.
func ofReviews(k queue.RequirementKind) bool {
	return k == queue.RequireReviews || k == queue.RequireCodeOwners || k == queue.RequireLastPush
}

// admit takes in an inspection of a change that somebody asks to land, or to try again.
// It reports whether the requirements are met; if not, the change waits.
func (c *guarding) admit(ch *queue.Change, b queue.Inspected) bool {
	if b.Vouched && !ch.Vouched {
		ch.Vouched = true
		c.touchChange(ch)
	}
	c.spare(ch, b)
	c.entering.reword(ch, b)
	if lacks := c.lacking(ch, b, ch.Vouched); len(lacks) > 0 {
		c.await(ch, lacks)
		return false
	}
	c.seenMet(ch, b)
	return true
}

// stay takes in an inspection of a change that nobody has asked for anew: the change
// waits, goes on or comes back.
func (c *guarding) stay(ch *queue.Change, b queue.Inspected) {
	// A change that has entered under a former version was approved then.
	vouched := ch.Vouched || ch.Met == 0 && !waitsOutside(ch)
	c.spare(ch, b)
	c.entering.reword(ch, b)
	if lacks := c.lacking(ch, b, vouched); len(lacks) > 0 {
		c.await(ch, lacks)
		return
	}
	c.seenMet(ch, b)
	if waitsOutside(ch) {
		c.settling.unpark(ch)
	}
}

// spare notes which labels except a change from freezes.
func (c *guarding) spare(ch *queue.Change, b queue.Inspected) {
	if b.Requires && !slices.Equal(ch.Spared, b.Spared) {
		ch.Spared = b.Spared
		c.touchChange(ch)
	}
}

func (c *guarding) seenMet(ch *queue.Change, b queue.Inspected) {
	if ch.Met = 0; b.Requires {
		ch.Met, ch.Stuck = c.mainline.seenAt, 0
	}
	if waitsOutside(ch) && ch.Virtual == 0 {
		ch.Arrival = c.facts.Now // it enters the order only now, behind the changes that are there
	}
	c.touch(queue.KindChange, string(ch.ID))
}

// await parks a change until it meets its requirements.
func (c *guarding) await(ch *queue.Change, lacks []queue.Requirement) {
	why := queue.Reason{Code: queue.ReasonRequirements, Unmet: lacks}
	switch {
	case ch.Phase != queue.Parked:
		c.settling.park(ch, why, c.facts.Now.Add(minWait))
	case ch.Reason.Code != queue.ReasonRequirements || !sameRequirements(ch.Reason.Unmet, lacks):
		until := c.nextLook(ch)
		if waitsOutside(ch) && ch.Until > c.facts.Now {
			until = min(until, ch.Until) // of news that came after the forge was asked, a look is due earlier
		}
		ch.Reason, ch.Until = why, until
		if c.facts.Now < ch.Restack {
			ch.Until = min(ch.Until, ch.Restack)
		}
		c.touchChange(ch)
	}
}

func sameRequirements(a, b []queue.Requirement) bool {
	return slices.EqualFunc(a, b, func(x, y queue.Requirement) bool {
		return x.Kind == y.Kind && x.Merged == y.Merged && slices.Equal(x.Names, y.Names) && slices.Equal(x.On, y.On)
	})
}

// nextLook is when the forge is asked about a change that waits without news: the
// longer it has waited, the later.
func (c *guarding) nextLook(ch *queue.Change) queue.Instant {
	most := maxWait
	if slices.ContainsFunc(ch.Reason.Unmet, func(q queue.Requirement) bool { return q.Kind == queue.RequireLanded || q.Kind == queue.RequireRestack }) {
		most = maxWaitOther
	}
	return c.facts.Now.Add(min(max(c.facts.Now.Sub(ch.Decided), minWait), most))
}

// inspectWaiting asks about a change that waits without news.
func (c *guarding) inspectWaiting(ch *queue.Change) {
	ch.Until = c.nextLook(ch)
	c.touchChange(ch)
	c.reconsider(ch)
	c.inspect()
}

// reconsider has the pull request of a change looked at again: only once, however many
// callers ask for it.
func (c *guarding) reconsider(ch *queue.Change) {
	if ch.Phase.Final() || ch.Phase == queue.Landing {
		return
	}
	for _, id := range derived.Sorted(c.s.Requests) {
		if r := c.s.Requests[id]; r.Number == ch.Number && r.Command.Verb == queue.CommandRecheck && !r.Boarding {
			if !r.Again {
				r.Again = true
				c.touch(queue.KindRequest, r.ID)
			}
			return
		}
	}
	c.doubt(ch, "stirred/"+string(ch.ID)+"@"+strconv.FormatInt(int64(c.facts.Now), 10))
}

// stirred takes in that something has happened at the forge. A change in the order is
// looked at at once only if the event names its pull request; events of checks come in
// masses. The forge is asked in any case before a change lands.
func (c *guarding) stirred(b queue.Stirred) {
	if b.Number != 0 {
		c.inspectAgain(b.Number)
		switch ch := c.facts.Links.Active(b.Number); {
		case ch == nil || ch.Phase == queue.Landing || c.asked(ch):
		case waitsOutside(ch):
			c.reconsider(ch)
		case ch.Met != 0:
			ch.Met = 1 // long ago
			c.touch(queue.KindChange, string(ch.ID))
			c.check(ch)
		}
		return
	}
	// Checks end in masses, so the look waits for more of them.
	for _, id := range derived.Sorted(c.facts.Open) {
		soon := c.facts.Now.Add(gather)
		if ch := c.facts.Open[id]; ch.Head == b.Head && waitsOutside(ch) && (ch.Until == 0 || ch.Until > soon) {
			ch.Until = soon
			c.touchChange(ch)
		}
	}
}

// newRequirements looks again at all changes that wait: the configuration has changed.
func (c *guarding) newRequirements() {
	for _, ch := range c.settling.parked() {
		if waitsOutside(ch) {
			c.reconsider(ch)
		}
	}
}

// fresh reports whether the requirements of a change's pull request allow it to board a
// push.
func (c *guarding) fresh(ch *queue.Change) bool {
	return ch.Met == 0 || c.facts.Now < ch.Met.Add(metFor)
}

// check asks the forge about a change right before it lands, unless that is under way.
func (c *guarding) check(ch *queue.Change) {
	if !c.asked(ch) {
		c.request(queue.Request{ID: "recheck/boarding/" + string(ch.ID) + "@" + strconv.FormatInt(int64(c.facts.Now), 10), Number: ch.Number,
			User: ch.Requester, Command: queue.Command{Verb: queue.CommandRecheck}, At: c.facts.Now, Boarding: true})
	}
}

// asked reports whether a change is being looked at again.
func (c *guarding) asked(ch *queue.Change) bool {
	for _, r := range c.s.Requests {
		if r.Number == ch.Number && r.Command.Verb == queue.CommandRecheck {
			return true
		}
	}
	return false
}

// unanswered ends a request that the forge has given no answer to. A change that was
// about to land leaves the order for a while, so that the others can land.
func (c *guarding) unanswered(r *queue.Request, cause string) {
	c.entering.forget(r)
	if r.Boarding {
		c.settling.park(c.facts.Links.Active(r.Number), queue.Reason{Code: queue.ReasonStuck, Detail: cause}, c.facts.Now.Add(boardingRetry))
	}
}

// stillMay reports whether the requester of a change may still ask for it, by
// one of the commands that put a pull request into the queue.
func (c *guarding) stillMay(ch *queue.Change, b queue.Inspected) bool {
	if ch.Own || !b.Requires || c.entering.entrusted(ch.Number, ch.Requester, b) {
		return true
	}
	role := b.Permission
	if strings.HasSuffix(ch.Requester, "[bot]") && c.facts.Permissions().HearsBot(ch.Requester) {
		role = "write" // as when it asked
	}
	if config.RoleLevel(role) < config.RoleLevel("write") {
		return false
	}
	return slices.ContainsFunc(c.entering.commands, func(row queue.CommandRow) bool {
		return row.Enters && (row.Verb != queue.CommandNow || ch.Now != nil) && row.Who(c.facts.Permissions()).Allows(role, ch.Requester, b.Teams)
	})
}

// holdsUp reports whether the train still waits for the answer to a request of
// check. It does not wait if the answer takes long or had to be asked for twice.
func (c *guarding) holdsUp(r *queue.Request) bool {
	if !r.Boarding || c.facts.Now >= r.At.Add(boardingFor) {
		return false
	}
	key := c.facts.Asked(queue.Inspect{Request: r.ID, Number: r.Number, User: r.User})
	if a := c.s.Actions[key]; a != nil && a.Attempt > 1 && a.Error != "" {
		return false
	}
	c.wakeAt(r.At.Add(boardingFor))
	return true
}
