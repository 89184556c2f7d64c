package speculation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// told is what the comment of a pull request is to say, with its digest: a
// cache, because few of them change in one turn.
type told struct {
	facts string
	want  queue.Digest
}

// publish asks for the comment and check of every pull request whose facts are
// not the ones shown. One publication of a pull request is under way at a
// time; what changes meanwhile is shown by the next.
func (c *Core) publish() {
	c.rations = nil // the plan has counted builds that are still to be started
	builds := map[queue.ChangeID]int{}
	for _, b := range c.s.Builds {
		for _, id := range b.For() {
			builds[id]++
		}
	}
	for _, n := range c.tellable() {
		p := c.s.Pulls[n]
		facts := c.factsOf(p, builds)
		if facts == "" {
			continue
		}
		t := c.told[n]
		if t.facts != facts {
			t = told{facts: facts, want: queue.DigestOf("facts1", facts)}
			c.told[n] = t
		}
		switch under := c.publishing[n]; {
		case under == "" && p.Shown != t.want:
			c.ask(queue.Publish{Number: n, Want: t.want})
		case under != "" && under != t.want && !p.Passing:
			p.Passing = true // whatever is written now may be what holds for this moment only
			c.touch(queue.KindPull, strconv.Itoa(n))
		}
	}
}

// tellable returns the pull requests of which something may be to be told, in
// order: those in the queue, and those of which something has changed.
func (c *Core) tellable() []int {
	if !c.toldAll || c.toldBroken != c.s.Main.Broken {
		c.toldAll, c.toldBroken = true, c.s.Main.Broken
		return sorted(c.s.Pulls)
	}
	some := map[int]bool{}
	for _, ch := range c.s.Changes {
		if !ch.Phase.Final() {
			some[ch.Number] = true
		}
	}
	for r := range c.dirty {
		switch r.Kind {
		case queue.KindPull:
			if n, err := strconv.Atoi(r.ID); err == nil {
				some[n] = true
			}
		case queue.KindChange:
			if ch := c.s.Changes[queue.ChangeID(r.ID)]; ch != nil {
				some[ch.Number] = true
			}
		}
	}
	out := make([]int, 0, len(some))
	for n := range some {
		if c.s.Pulls[n] != nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// factsOf writes down what a person would want to be told of: not each
// second's progress. "" means that there is nothing to say.
func (c *Core) factsOf(p *queue.Pull, builds map[queue.ChangeID]int) string {
	ch := c.s.Changes[p.Active]
	if ch == nil {
		ch = c.s.Changes[p.Last]
	}
	if ch == nil && p.Notice.Code == "" {
		return ""
	}
	var f factWriter
	f.reason(p.Notice)
	f.text(p.NoticeTo)
	if ch == nil {
		return f.String()
	}
	f.text(string(ch.ID))
	f.text(string(ch.Phase))
	f.text(c.shownLane(ch))
	f.reason(ch.Reason)
	f.text(c.s.Main.Broken)
	for _, id := range c.partners(ch) {
		f.text(string(id))
	}
	if ch.Phase == queue.Pending {
		place := c.rank[ch.ID] + 1
		if place > 5 {
			place = (place + 9) / 10 * 10 // far back, only the tens are news
		}
		f.number(place)
		f.number(builds[ch.ID])
		f.yes(len(c.firstAhead(ch.ID)) > 0)
		f.yes(c.verified[ch.ID])
		f.yes(c.s.Main.Paused != nil)
		f.yes(c.root() != nil)
		f.number(len(c.redTargets()))
		if builds[ch.ID] == 0 {
			f.reason(c.crowded(ch))
		}
	}
	return f.String()
}

// factWriter writes facts one after the other, each framed.
type factWriter struct{ strings.Builder }

func (f *factWriter) text(s string) {
	f.number(len(s))
	f.WriteString(s)
}

func (f *factWriter) number(n int) {
	f.WriteString(strconv.Itoa(n))
	f.WriteByte(' ')
}

func (f *factWriter) yes(b bool) {
	if b {
		f.number(1)
	} else {
		f.number(0)
	}
}

func (f *factWriter) reason(r queue.Reason) {
	f.text(string(r.Code))
	f.number(len(r.Names))
	for _, n := range r.Names {
		f.text(n)
	}
	f.text(r.Detail)
}
