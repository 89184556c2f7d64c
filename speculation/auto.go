package speculation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Rules of `auto` enter pull requests without a command. Webhooks and lists show some
// facts for nothing (queue.Offered), which rule most pull requests out. The others are
// looked at (CommandAuto). If a rule holds then, the queue's own request asks the pull
// request to land, at that head, through the same door as /land: the same requirements
// count, and the request approves of nothing.
//
// A head has one turn. After people have taken it out, or after its verdict, no rule enters
// it again until the pull request has another head or somebody commands it. A turn that
// ended because the pull request was closed, made a draft, asked for another branch or lost
// the label of its rule does not count: that was not about the head.
//
// Once a change is in, only the labels of its rule still count: people set them to have it
// enter, and take them off to have it leave, as with the queue's own label. Its reviews and
// checks are left to the requirements before it lands.

const (
	autoRequest = queue.OwnRequests + queue.AutoRequests
	lookAgainIn = time.Hour   // a pull request that may enter is looked at once more if the forge has told nothing of it for so long
	lookMost    = time.Minute // between two looks because of checks: the wait doubles up to this
	offerKept   = 24 * time.Hour
)

// autoKey names the rules in force.
func (c *entering) autoKey() queue.Digest {
	return digest.Of("auto1", c.facts.Rules().AutoText())
}

// auto returns the record of a pull request for rules of auto. The caller may change
// it.
func (c *entering) auto(p *queue.Pull) *queue.Auto {
	if p.Auto == nil {
		p.Auto = &queue.Auto{}
	}
	c.touchPull(p)
	return p.Auto
}

// Offers reports whether an offer would be news. If it is not, the forge need not be asked
// again, and nothing need be stored.
func (c *Core) Offers(o queue.Offered) bool {
	p := c.s.Pulls[o.Number]
	return p == nil || p.Auto == nil || !p.Auto.Offered.Offers(o) || p.Auto.Under != c.entering.autoKey() ||
		c.facts.Now >= p.Auto.Last.Add(lookAgainIn) || c.facts.Now >= p.At.Add(offerKept)
}

// offered takes in the facts that an open pull request shows.
func (c *entering) offered(o queue.Offered) {
	if len(c.facts.Rules().Auto) == 0 || o.Number <= 0 {
		return
	}
	if o.Base != c.s.Main.Branch && c.s.Pulls[o.Number] == nil {
		return // it is another queue's, and only that queue stores it
	}
	a := c.auto(c.pull(o.Number))
	if o.At != 0 && a.Offered.At != 0 && o.Head == a.Offered.Head {
		switch {
		case o.At < a.Offered.At:
			return // the stored offer is newer
		case o.At == a.Offered.At:
			o = a.Offered.With(o)
		}
	}
	if a.Offered.Head != o.Head {
		a.Looks = 0
	}
	if !a.Offered.Offers(o) || a.Under != c.autoKey() || c.facts.Now >= a.Last.Add(lookAgainIn) {
		a.Due = c.facts.Now
	}
	a.Offered = o
}

// withdrawn takes in that a pull request is not open any more.
func (c *entering) withdrawn(number int) {
	if p := c.s.Pulls[number]; p != nil && p.Auto != nil {
		a := c.auto(p)
		a.Offered, a.Due = queue.Offered{}, 0
	}
}

// heard has pull requests looked at again because something has happened at the forge.
// Checks end in masses, so such a look waits for more of them. The wait grows with each
// look.
func (c *entering) heard(b queue.Stirred) {
	rules := c.facts.Rules().Auto
	if len(rules) == 0 {
		return
	}
	if p := c.s.Pulls[b.Number]; p != nil {
		c.lookIn(p, 0)
		return
	}
	if b.Number != 0 || b.Head == "" || !slices.ContainsFunc(rules, func(a config.Auto) bool { return len(a.Checks) > 0 }) {
		return
	}
	for _, p := range c.s.Pulls {
		if p.Auto != nil && p.Auto.Offered.Head == b.Head {
			c.lookIn(p, min(gather<<min(p.Auto.Looks, 10), lookMost))
		}
	}
}

func (c *entering) lookIn(p *queue.Pull, wait time.Duration) {
	if p.Auto == nil || !c.mayEnter(p, p.Auto.Offered.Head) || !c.mayHold(p.Auto.Offered) {
		return
	}
	if wait == 0 && p.Auto.Looks > 0 {
		c.auto(p).Looks = 0 // people are slower than checks
	}
	if due := c.facts.Now.Add(wait); p.Auto.Due == 0 || p.Auto.Due > due {
		c.auto(p).Due = due
	}
}

// mayHold reports whether a rule may hold, as far as an offer tells.
func (c *entering) mayHold(o queue.Offered) bool {
	return o.Number != 0 && !o.Draft && o.Base == c.s.Main.Branch && slices.ContainsFunc(c.facts.Rules().Auto, func(a config.Auto) bool {
		return len(a.LacksLabels(o.Labels)) == 0 && (len(a.Authors) == 0 || a.Names(o.Author) || len(a.Teams()) > 0)
	})
}

// mayEnter reports whether a head may still be entered by a rule.
func (c *entering) mayEnter(p *queue.Pull, head queue.CommitID) bool {
	return head != "" && p.Active == "" && !p.Gone && !c.hadTurn(p, head)
}

// hadTurn reports whether a head has had its turn, or was taken out.
func (c *entering) hadTurn(p *queue.Pull, head queue.CommitID) bool {
	if a := p.Auto; a != nil && (a.Out == head || a.Spent == head) {
		return true
	}
	last := c.s.Changes[p.Last]
	return last != nil && last.Head == head && last.Phase.Final() && (isOut(last) || isSpent(last))
}

// isOut reports whether people have taken a change out.
func isOut(ch *queue.Change) bool {
	return ch.Phase == queue.Cancelled && ch.Reason.Code == queue.ReasonCancelled
}

// isSpent reports whether a change has ended for a reason that lies in its head.
func isSpent(ch *queue.Change) bool {
	if ch.Phase != queue.Cancelled {
		return true
	}
	switch ch.Reason.Code {
	case queue.ReasonUnruled, queue.ReasonDraft, queue.ReasonClosed, queue.ReasonRetargeted, queue.ReasonPushed, queue.ReasonSuperseded, queue.ReasonCancelled:
		return false
	}
	return true
}

// over remembers how the turn of a change has ended, longer than the change is known.
func (c *entering) over(ch *queue.Change) {
	p := c.s.Pulls[ch.Number]
	if p == nil || p.Auto == nil && len(c.facts.Rules().Auto) == 0 {
		return
	}
	a := c.auto(p)
	switch {
	case isOut(ch):
		a.Out = ch.Head
	case isSpent(ch):
		a.Spent = ch.Head
	}
	if a.Offered.Number != 0 && ch.Phase != queue.Landed && ch.Phase != queue.NothingToLand {
		a.Due = c.facts.Now + 1
		c.wakeAt(a.Due)
	}
}

// keepOut follows a command to take out a pull request that is not in the queue: no
// rule enters it.
func (c *entering) keepOut(number int, head queue.CommitID) {
	if number == 0 || head == "" || len(c.facts.Rules().Auto) == 0 {
		return
	}
	if p := c.pull(number); p.Active == "" {
		c.auto(p).Out = head
	}
}

// looks has those pull requests looked at that are due.
func (c *entering) looks() {
	if len(c.facts.Rules().Auto) == 0 {
		return
	}
	var due []int
	for n, p := range c.s.Pulls {
		switch {
		case p.Auto == nil || p.Auto.Due == 0:
		case p.Auto.Due > c.facts.Now:
			c.wakeAt(p.Auto.Due)
		default:
			due = append(due, n)
		}
	}
	slices.Sort(due)
	under := c.autoKey()
	for _, n := range due {
		p := c.s.Pulls[n]
		a := c.auto(p)
		a.Due, a.Last, a.Under = 0, c.facts.Now, under
		if !c.mayEnter(p, a.Offered.Head) || !c.mayHold(a.Offered) {
			continue
		}
		a.Looks++
		if r := c.looking(n); r != nil {
			c.upkeep.renew(queue.Inspect{Request: r.ID, Number: n, User: r.User}) // the look under way may show an older state
			continue
		}
		c.request(queue.Request{ID: autoRequest + "look/" + strconv.Itoa(n) + c.atNow(), Number: n, User: ourName, Own: true,
			Command: queue.Command{Verb: queue.CommandAuto}, At: c.facts.Now})
	}
}

func (c *entering) atNow() string { return "@" + strconv.FormatInt(int64(c.facts.Now), 10) }

// looking returns the look at a pull request that is under way, or nil.
func (c *entering) looking(number int) *queue.Request {
	for _, r := range c.s.Requests {
		if r.Number == number && r.Command.Verb == queue.CommandAuto {
			return r
		}
	}
	return nil
}

// looked takes in a look at a pull request: if a rule holds for it, the queue's own
// request asks it to land.
func (c *entering) looked(r *queue.Request, b queue.Inspected) {
	c.forget(r)
	if !b.Open {
		c.withdrawn(r.Number)
		return
	}
	i := slices.IndexFunc(b.Auto, func(x queue.Ruling) bool { return len(x.Lacks) == 0 })
	if p := c.s.Pulls[r.Number]; i < 0 || p == nil || !c.mayEnter(p, b.Head) {
		return
	}
	rule, known := c.facts.Rules().AutoRule(b.Auto[i].Rule)
	if !known {
		return
	}
	c.request(queue.Request{ID: autoRequest + strconv.Itoa(r.Number) + "/" + rule.Name + c.atNow(), Number: r.Number, User: "rule " + rule.Name, // no account has a name like that
		Own: true, Rule: rule.Name, Head: b.Head, At: c.facts.Now,
		Command: queue.Command{Verb: queue.CommandLand, Lane: rule.Priority, Method: string(rule.Method)}})
}

// byRule reports whether a request to land that a rule has made still holds.
func (c *entering) byRule(r *queue.Request, b queue.Inspected) bool {
	rule, known := c.facts.Rules().AutoRule(r.Rule)
	p := c.s.Pulls[r.Number]
	return known && p != nil && p.Auto != nil && b.Open && !b.Draft && b.Base == c.s.Main.Branch && c.mayEnter(p, b.Head) &&
		len(rule.LacksLabels(p.Auto.Offered.Labels)) == 0
}

// unsaid reports whether a request is the queue's own, to enter by a rule: no person waits
// for an answer.
func unsaid(r *queue.Request) bool { return queue.IsAuto(r.ID) }

// unlabelled takes in that a label was taken off a pull request. If a rule with this label
// has entered its change, the change is taken out of the queue.
func (c *entering) unlabelled(b queue.Labeled) {
	if p := c.s.Pulls[b.Number]; !b.On && p != nil && p.Auto != nil && slices.Contains(p.Auto.Offered.Labels, b.Label) {
		a := c.auto(p)
		a.Offered.Labels = slices.DeleteFunc(slices.Clone(a.Offered.Labels), func(l string) bool { return l == b.Label })
	}
	ch := c.facts.Links.Active(b.Number)
	if ch == nil || ch.Rule == "" {
		return
	}
	switch rule, known := c.facts.Rules().AutoRule(ch.Rule); {
	case b.On && len(ch.Unruled) > 0: // the others are still off
		ch.Unruled = slices.DeleteFunc(slices.Clone(ch.Unruled), func(l string) bool { return strings.EqualFold(l, b.Label) })
		c.touchChange(ch)
	case b.On || !known || !rule.Labelled(b.Label):
	case ch.Phase == queue.Landing:
		if !slices.ContainsFunc(ch.Unruled, func(l string) bool { return strings.EqualFold(l, b.Label) }) {
			ch.Unruled = append(slices.Clone(ch.Unruled), b.Label) // no more than the rule has labels
			c.touchChange(ch)
		}
	default:
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonUnruled, Names: []string{ch.Rule, b.Label}}, nil)
	}
}

// unruled takes a change out of the queue when its push has not moved main, if a label of its
// rule was taken off while it was landing, when that was too late. Where a person has asked to
// land it since, that stands (askedFor).
func (c *entering) unruled(ch *queue.Change) {
	gone := ch.Unruled
	ch.Unruled = nil
	if rule, known := c.facts.Rules().AutoRule(ch.Rule); known {
		if i := slices.IndexFunc(gone, rule.Labelled); i >= 0 {
			c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonUnruled, Names: []string{ch.Rule, gone[i]}}, nil)
		}
	}
}

// askedFor notes that somebody asks to land a change, after all that has taken it back so far.
func (c *entering) askedFor(ch *queue.Change) {
	if ch.Recall != "" || len(ch.Unruled) > 0 {
		ch.Recall, ch.Unruled = "", nil
		c.touchChange(ch)
	}
}

// commanded forgets the reasons that kept a pull request out: somebody has asked to
// land it.
func (c *entering) commanded(number int) {
	if p := c.s.Pulls[number]; p != nil && p.Auto != nil {
		a := c.auto(p)
		a.Out, a.Spent = "", ""
	}
}

// rulings returns the answers of the rules about a pull request that is to be
// explained.
func (c *entering) rulings(number int, b queue.Inspected) []queue.Ruling {
	out := slices.Clone(b.Auto)
	if p := c.s.Pulls[number]; p != nil && c.hadTurn(p, b.Head) {
		for i := range out {
			out[i].Lacks = append([]queue.Lack{{Kind: queue.LackTurn}}, out[i].Lacks...)
		}
	}
	return out
}
