package speculation

import (
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// An emergency goes before all others: it is first in the order and on the train,
// and its builds take the slots of others. It must prove the same as every
// change. It passes a freeze, which is planned, but no pause, which people make
// because something is wrong. Each is written down with its author and reason,
// and the number a day is limited.

const (
	nowStart = 50 * 365 * 24 * time.Hour // head start of an emergency in the order

	nowDefault = 3 // emergencies per day
)

// emergency puts a pull request before all others, in the queue or not yet.
func (c *entering) emergency(r *queue.Request, b queue.Inspected) {
	if ch := c.facts.Links.Active(r.Number); ch != nil && ch.Now != nil && ch.Head == b.Head {
		c.askedAt(ch, r, b)
		c.accept(r)
		return
	}
	if c.turnedAway(r, b) {
		return // a change that may not enter has no emergency, and uses none up
	}
	if why := c.nowLeft(); why.Code != "" {
		c.refuse(r, why)
		return
	}
	c.enter(r, b)
	ch := c.facts.Links.Active(r.Number)
	if ch == nil || ch.Head != b.Head {
		return // it was refused
	}
	e := queue.Emergency{By: r.User, Reason: r.Command.Text, At: c.facts.Now, Change: ch.ID}
	c.s.Main.Nows = append(slices.Clone(c.s.Main.Nows), e)
	c.touchMain()
	c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: "now", Commit: ch.Head,
		Reason: queue.Reason{Names: []string{e.By}, Detail: e.Reason}})
	c.rush(ch, e)
}

// nowLeft says why there is no room for another emergency, if so.
func (c *entering) nowLeft() queue.Reason {
	const day = 24 * time.Hour
	m := &c.s.Main
	if n := slices.IndexFunc(m.Nows, func(e queue.Emergency) bool { return c.facts.Now.Sub(e.At) < day }); n != 0 && len(m.Nows) > 0 {
		if n < 0 {
			n = len(m.Nows)
		}
		m.Nows = slices.Clone(m.Nows[n:])
		c.touchMain()
	}
	limit := c.facts.Rules().NowPerDay
	if limit == 0 {
		limit = nowDefault
	}
	if len(m.Nows) < limit {
		return queue.Reason{}
	}
	return queue.Reason{Code: queue.ReasonNowQuota, Names: []string{strconv.Itoa(limit)}, Until: m.Nows[len(m.Nows)-limit].At.Add(day)}
}

// rush moves a change to the front.
func (c *entering) rush(ch *queue.Change, e queue.Emergency) {
	ch.Now = &e
	c.touchChange(ch)
	if ch.Virtual != 0 {
		ch.Virtual, ch.Lead = c.landing.virtual(ch), 0
		c.facts.Order.StaleAll()
	}
}

// first puts the emergencies among some changes first, then the changes that land through
// the present freeze, then all others.
func (c *entering) first(ids []queue.ChangeID) {
	rank := func(id queue.ChangeID) int {
		if calm := c.calm(id); calm == 0 || !c.facts.Order.Passing[id] {
			return 2 * calm
		}
		return 1
	}
	slices.SortStableFunc(ids, func(a, b queue.ChangeID) int { return rank(a) - rank(b) })
}

func (c *entering) calm(id queue.ChangeID) int {
	if ch := c.s.Changes[id]; ch != nil && ch.Now != nil {
		return 0
	}
	return 1
}

// freeze holds landings until a moment.
func (c *entering) freeze(r *queue.Request) {
	until, why, ok := queue.FreezeUntil(r.Command.Text, r.At)
	if !ok || until <= c.facts.Now {
		c.refuse(r, queue.Reason{Code: queue.ReasonBadUntil, Names: []string{r.Command.Text}})
		return
	}
	if p := c.s.Main.Paused; p != nil && p.Until == 0 {
		c.refuse(r, queue.Reason{Code: queue.ReasonPaused, Names: []string{p.By}, Detail: p.Reason}) // the end of the freeze would end the pause, which only a person may end
		return
	}
	c.ruled(r)
	c.s.Main.Paused = &queue.Pause{By: r.User, Reason: why, At: c.facts.Now, Until: until}
	c.touchMain()
	c.note(queue.Note{Number: r.Number, What: "frozen", Reason: queue.Reason{Code: queue.ReasonPaused, Names: []string{r.User}, Detail: why, Until: until}})
	c.accept(r)
}

// thaw ends a freeze when it is time.
func (c *entering) thaw() {
	p := c.s.Main.Paused
	switch {
	case p == nil || p.Until == 0:
	case c.facts.Now < p.Until:
		c.wakeAt(p.Until)
	default:
		c.mainline.goOn("submitqueue")
	}
}

// paused reports whether a pause, or the switch to another version of the
// analyzer, keeps a link from landing.
func (c *entering) paused(l *queue.Link) bool {
	if (c.s.Main.Paused == nil || c.landing.probing() && c.hidden == nil) && !c.facts.Changing() {
		return false
	}
	return c.landing.halted() || slices.ContainsFunc(l.Changes(), func(id queue.ChangeID) bool { return c.calm(id) != 0 && !c.excepted(id) })
}
