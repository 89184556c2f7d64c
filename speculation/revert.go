package speculation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// The revert of a culprit. When a hunt has found the commit that turned main red, the
// queue tries a commit that reverts it on main as it is: a try (tryout.go) without a pull
// request. The revert is proven when the keys that it brings pass, and so do the red keys
// of main that it leaves as they are. When main moves, the revert is made again on the
// new tip.
//
// The queue always does this. If configured, a proven revert is proposed as a pull
// request, and the queue asks to land that as a person would: it enters by enter, is
// built, and lands by the gate. So there is no other way onto main. If a revert does
// not merge, or main stays red with it, people are told and nothing else is done.

// ourName is the author of requests by main's configuration.
const ourName = "submitqueue"

// reverts goes on with the reverts of the commits that have turned main red.
func (c *hunting) reverts() {
	m := &c.s.Main
	if m.Tip == "" || m.Config == nil {
		return
	}
	for _, id := range derived.Sorted(c.s.Hunts) {
		h := c.s.Hunts[id]
		for i := range h.Culprits {
			x := &h.Culprits[i]
			c.weighLater(h, x)
			switch {
			case h.Over != 0:
			case !c.facts.Rules().RedMain.Revert.Prepares():
				c.withdraw(h, x)
			case !c.elsewhere(h, x):
				c.takeBackCulprit(h, x)
			}
		}
	}
}

// elsewhere reports whether another hunt that goes on has found the same commit and
// handles its revert. The hunt that has begun the revert handles it, else the first by
// name.
func (c *hunting) elsewhere(h *queue.Hunt, x *queue.Culprit) bool {
	if x.Revert != nil {
		return false
	}
	for _, id := range derived.Sorted(c.s.Hunts) {
		o := c.s.Hunts[id]
		if o.Over == 0 && o != h && slices.ContainsFunc(o.Culprits, func(y queue.Culprit) bool {
			return y.Commit == x.Commit && (y.Revert != nil || o.ID < h.ID)
		}) {
			return true
		}
	}
	return false
}

// takeBackCulprit goes on with the revert of one culprit.
func (c *hunting) takeBackCulprit(h *queue.Hunt, x *queue.Culprit) {
	m := &c.s.Main
	if r := x.Revert; r != nil && r.State == queue.RevertTrying {
		c.revertTried(h, x)
	}
	r := x.Revert
	proposing := c.facts.Asked(queue.Propose{Hunt: h.ID, Commit: x.Commit}) != ""
	switch {
	case proposing: // the commit that is being proposed is the one to land
	case c.s.Push != nil || m.Surveyed != m.Tip || c.facts.Root() == nil || r != nil && r.Number != 0:
	case r == nil, r.On != m.Tip, r.Of != c.accusations(x.Commit):
		c.tryRevert(h, x)
	case r.State == queue.RevertUnknown:
		if ch := c.s.Changes[r.Change]; ch == nil || ch.Decided.Add(parkedRetry) <= c.facts.Now {
			c.tryRevert(h, x)
		} else {
			c.wakeAt(ch.Decided.Add(parkedRetry))
		}
	}
	policy := c.facts.Rules().RedMain.Revert
	if policy != config.RevertLand {
		c.takeOut(h, x)
	}
	if r = x.Revert; r == nil || r.Trouble != "" {
		return
	}
	switch {
	case r.Number == 0:
		ch := c.s.Changes[r.Change]
		if policy.Proposes() && r.State == queue.RevertProven && r.On == m.Tip && ch != nil && c.s.Push == nil {
			c.upkeep.ask(queue.Propose{Hunt: h.ID, Commit: x.Commit, On: r.On, Head: r.Commit, Pick: pickOf(ch)})
		}
	case policy == config.RevertLand && !r.Landing:
		r.Landing = true
		c.request(queue.Request{ID: c.landRequest(h, x), Number: r.Number, User: ourName,
			Command: queue.Command{Verb: queue.CommandLand}, At: c.facts.Now, Head: r.Commit, Own: true})
		c.retell(h, x)
	}
}

// tryRevert begins to try the revert of a culprit on main as it is, in place of one that
// was tried before.
func (c *hunting) tryRevert(h *queue.Hunt, x *queue.Culprit) {
	m := &c.s.Main
	if x.Revert != nil {
		c.endRevert(c.s.Changes[x.Revert.Change])
	}
	version := "revert/" + string(m.Tip) + "/" + strconv.FormatInt(int64(c.facts.Now), 10)
	id := queue.NewChangeID(0, x.Commit, version)
	for c.s.Changes[id] != nil { // one that was given up at this very moment
		version += "+"
		id = queue.NewChangeID(0, x.Commit, version)
	}
	ch := &queue.Change{ID: id, Head: x.Commit, Title: x.Subject, Requester: ourName,
		Arrival: c.facts.Now, On: m.Tip, Revert: x.Commit}
	c.move(ch, queue.Trying, queue.Reason{Code: queue.ReasonTrying})
	c.s.Changes[ch.ID] = ch
	c.touchChange(ch)
	x.Revert = &queue.Revert{Change: ch.ID, State: queue.RevertTrying, On: m.Tip, Of: c.accusations(x.Commit)}
	c.retell(h, x)
}

// endRevert gives the try of a revert up.
func (c *hunting) endRevert(ch *queue.Change) {
	c.settling.endTry(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonSuperseded, Names: []string{ourName}}, nil)
}

// revertTried takes in the outcome of the try of a revert.
func (c *hunting) revertTried(h *queue.Hunt, x *queue.Culprit) {
	r := x.Revert
	ch := c.s.Changes[r.Change]
	switch {
	case ch == nil:
		r.State = queue.RevertUnknown
	case !ch.Phase.Final() && ch.On == r.On:
		return
	case !ch.Phase.Final(): // its merge was made anew on main's new tip
		r.On = ch.On
		c.touchHunt(h)
		return
	default:
		r.State, r.Why = queue.RevertUnknown, queue.Reason{}
		switch ch.Reason.Code {
		case queue.ReasonTried:
			r.State, r.Commit = queue.RevertProven, ch.Verdict.Commit
		case queue.ReasonMergeConflict:
			r.State, r.Conflicts = queue.RevertConflict, ch.Reason.Names
		case queue.ReasonAlready:
			r.State = queue.RevertEmpty
		case queue.ReasonFailed, queue.ReasonRedMain:
			r.State, r.Failed = queue.RevertFails, ch.Reason.Names
		default:
			r.Why = ch.Reason
		}
	}
	c.retell(h, x)
	c.note(queue.Note{What: "revert-" + string(r.State), Commit: x.Commit, Number: x.Number, Reason: queue.Reason{Names: slices.Concat(r.Conflicts, r.Failed)}})
}

// alsoRed adds to the link of a revert the keys that are red on main, as far as the
// culprit is to blame for them and its revert leaves them as they are. A revert with
// which main stays red is of no use.
func (c *hunting) alsoRed(l *queue.Link) {
	ch, root := c.s.Changes[l.Change], c.facts.Root()
	if ch == nil || ch.Revert == "" || l.Outcome != queue.Merged || root == nil || root.Commit != l.Parent || root.Analyzer != l.Analyzer {
		return
	}
	set := c.s.Steps[l.Steps]
	if set == nil {
		return
	}
	for _, k := range root.Keys {
		st, ok := c.facts.Links.Step(root, k)
		if !ok || !c.isAccused(ch.Revert, st.Name, k.Target) || slices.Contains(l.Gone, k.Target) {
			continue
		}
		if _, same := set.Step(k.Step); same && !slices.ContainsFunc(l.Keys, func(o queue.Key) bool { return o.Step == k.Step && o.Target == k.Target }) {
			l.Keys = append(slices.Clip(l.Keys), k)
		}
	}
}

// isAccused reports whether a commit is held to have turned a step red on a target.
func (c *hunting) isAccused(commit queue.CommitID, step, target string) bool {
	for _, h := range c.s.Hunts {
		if h.Over == 0 && slices.ContainsFunc(h.Trails, func(t queue.Trail) bool {
			return t.Named == commit && t.Step == step && slices.Contains(t.Targets, target)
		}) {
			return true
		}
	}
	return false
}

// takesBack reports whether a change is the proposed revert of a culprit, at the head
// that was proven.
func (c *hunting) takesBack(id queue.ChangeID) bool {
	ch := c.s.Changes[id]
	if ch == nil || ch.Number == 0 {
		return false
	}
	for _, h := range c.s.Hunts {
		for i := range h.Culprits {
			if r := h.Culprits[i].Revert; h.Over == 0 && r != nil && r.Number == ch.Number && r.State == queue.RevertProven && r.Commit == ch.Head {
				return true
			}
		}
	}
	return false
}

// accusations is the digest of the steps and targets that a commit is held to have
// turned red.
func (c *hunting) accusations(commit queue.CommitID) queue.Digest {
	var aims []string
	for _, h := range c.s.Hunts {
		for i := range h.Trails {
			if t := &h.Trails[i]; h.Over == 0 && t.Named == commit {
				for _, target := range t.Targets {
					aims = append(aims, queue.Aim{Step: t.Step, Target: target}.ID())
				}
			}
		}
	}
	return digest.Of(append([]string{"accused2"}, with(aims)...)...)
}

// culpritIn returns the culprit of a live hunt, or nil.
func (c *hunting) culpritIn(hunt string, commit queue.CommitID) (*queue.Hunt, *queue.Culprit) {
	h := c.s.Hunts[hunt]
	if h == nil || h.Over != 0 {
		return nil, nil
	}
	for i := range h.Culprits {
		if h.Culprits[i].Commit == commit {
			return h, &h.Culprits[i]
		}
	}
	return nil, nil
}

// weighLater asks which commits behind a culprit its revert concerns, up to main's
// present tip.
func (c *hunting) weighLater(h *queue.Hunt, x *queue.Culprit) {
	m := &c.s.Main
	if h.Over != 0 || x.Weighed == m.Tip || m.Surveyed != m.Tip || c.s.Push != nil {
		return
	}
	for _, key := range derived.Sorted(c.s.Actions) {
		if t, ok := c.s.Actions[key].Task.(queue.Weigh); ok && t.Hunt == h.ID && t.Commit == x.Commit && t.Tip != m.Tip {
			c.upkeep.done(key) // main has moved on
		}
	}
	c.upkeep.ask(queue.Weigh{Hunt: h.ID, Commit: x.Commit, Tip: m.Tip, Analyzer: m.Analyzer})
}

// weighedLater takes in which later commits a revert concerns.
func (c *hunting) weighedLater(b queue.Weighed) {
	if c.upkeep.done(b.Action) == nil {
		return
	}
	if h, x := c.culpritIn(b.Hunt, b.Commit); x != nil && b.Tip == c.s.Main.Tip {
		x.Weighed, x.Later = b.Tip, b.Later[:min(len(b.Later), queue.MostLater)]
		c.retell(h, x)
	}
}

// proposed takes in the pull request of a revert.
func (c *hunting) proposed(b queue.Proposed) {
	if c.upkeep.done(b.Action) == nil {
		return
	}
	h, x := c.culpritIn(b.Hunt, b.Commit)
	if x == nil || x.Revert == nil || x.Revert.Number != 0 {
		return
	}
	r := x.Revert
	switch {
	case b.Number == 0:
		r.Trouble = b.Refused
	default:
		r.Number, r.URL = b.Number, b.URL
		if b.Head != r.Commit {
			r.Trouble = "it was proposed before, on another state of the branch: look at it, and land it by hand"
		}
		c.note(queue.Note{What: "revert-proposed", Commit: x.Commit, Number: b.Number})
	}
	c.retell(h, x)
}

// notProposed takes in that a revert could not be proposed.
func (c *hunting) notProposed(t queue.Propose, cause string) {
	if h, x := c.culpritIn(t.Hunt, t.Commit); x != nil && x.Revert != nil && x.Revert.Number == 0 {
		x.Revert.Trouble = cause
		c.retell(h, x)
	}
}

// withdraw gives up the revert of a commit that is no culprit any more: the queue no
// longer builds or lands it. A pull request stays, for people.
func (c *hunting) withdraw(h *queue.Hunt, x *queue.Culprit) {
	r := x.Revert
	if r == nil {
		return
	}
	c.endRevert(c.s.Changes[r.Change])
	c.upkeep.drop(queue.Propose{Hunt: h.ID, Commit: x.Commit})
	c.takeOut(h, x)
	if r.State == queue.RevertTrying {
		x.Revert = nil
		c.retell(h, x)
	}
}

// landRequest names the request to land a revert. A revert that the queue has taken out is
// asked for under another name; a revert that people have taken out stays out.
func (c *hunting) landRequest(h *queue.Hunt, x *queue.Culprit) string {
	id := ownRequest(h, x)
	if p := c.s.Pulls[x.Revert.Number]; p != nil {
		last := c.s.Changes[p.Last]
		if last != nil && last.Own && last.Phase == queue.Cancelled && last.Reason.Code == queue.ReasonCancelled && slices.Equal(last.Reason.Names, []string{ourName}) {
			id += "@" + strconv.FormatInt(int64(c.facts.Now), 10)
		}
	}
	return id
}

func ownRequest(h *queue.Hunt, x *queue.Culprit) string {
	return queue.OwnRequests + h.ID + "/" + string(x.Commit)
}

// takeOut takes back the queue's request to land a revert that it may not, or is not
// to, land any more.
func (c *hunting) takeOut(h *queue.Hunt, x *queue.Culprit) {
	r := x.Revert
	if r == nil || r.Number == 0 {
		return
	}
	for _, id := range derived.Sorted(c.s.Requests) {
		if q := c.s.Requests[id]; q.Own && strings.HasPrefix(id, ownRequest(h, x)) {
			c.upkeep.drop(queue.Inspect{Request: q.ID, Number: q.Number, User: q.User})
			c.entering.forget(q)
		}
	}
	if ch := c.facts.Links.Active(r.Number); ch != nil && ch.Own && ch.Phase != queue.Landing {
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonCancelled, Names: []string{ourName}}, nil)
	}
	if r.Landing {
		r.Landing = false
		c.touchHunt(h)
	}
}

// retell stores the present facts of a culprit, and has its pull request told.
func (c *hunting) retell(h *queue.Hunt, x *queue.Culprit) {
	c.touchHunt(h)
	if p := c.s.Pulls[x.Number]; x.Told && p != nil && p.Notice.Code == queue.ReasonCulprit && slices.Contains(p.Notice.Names, string(x.Commit)) {
		x.Told = false
		c.tellCulprit(x)
	}
}
