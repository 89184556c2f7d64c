package speculation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// told is what the comment of a pull request is to say, with its digest: a
// cache, because few of them change in one turn.
type told struct {
	facts string
	want  queue.Digest
}

// glance holds the facts of a pending change that can change without a change of its
// records.
type glance struct {
	place, builds, red          int
	ahead, proven, paused, root bool
	changing                    bool
	quota, with, renamed        string
	benched                     string
}

// around is the part of a glance that is the same for all.
func (c *telling) around() glance {
	g := glance{paused: c.s.Main.Paused != nil, changing: c.facts.Changing(), renamed: c.s.Main.Renamed, benched: strings.Join(c.benching.missed(), " ")}
	if c.facts.Root() != nil {
		g.root, g.red = true, len(c.redTargets())
	}
	return g
}

// glanceAt completes the common part of a glance for the pending change at a rank.
func (c *telling) glanceAt(g glance, ch *queue.Change, rank int) glance {
	g.place, g.builds = rank+1, c.facts.Builds.BuildsOf[ch.ID]
	g.ahead, g.proven = len(c.facts.Order.FirstAhead(ch.ID)) > 0, c.facts.Futures.Verified[ch.ID]
	if g.place > 5 {
		g.place = (g.place + 9) / 10 * 10 // far back, only the tens are news
	}
	if g.proven {
		g.benched = "" // it waits for no build
	}
	for _, id := range c.landing.partners(ch) {
		g.with += string(id) + " "
	}
	if g.builds == 0 && len(c.facts.Quotas.Quotas()) > 0 {
		var f factWriter
		f.reason(c.facts.Quotas.Crowded(ch))
		g.quota = f.String()
	} else if g.builds == 0 {
		g.quota = uncrowded
	}
	return g
}

// publish asks for the comment and check of every pull request with facts that
// are not shown yet. One publication of a pull request is under way at a time;
// the next one shows later facts.
func (c *telling) publish() {
	c.facts.Quotas.Recount() // the plan has counted builds that are still to be started
	for _, n := range c.tellable() {
		p := c.s.Pulls[n]
		facts := c.factsOf(p)
		if facts == "" {
			if c.publishing[n] != "" {
				c.markPassing(p)
			}
			continue
		}
		t := c.told[n]
		if t.facts != facts {
			t = told{facts: facts, want: digest.Of("facts1", facts)}
			c.told[n] = t
		}
		switch under := c.publishing[n]; {
		case under == "" && p.Shown != t.want:
			c.upkeep.ask(queue.Publish{Number: n, Want: t.want})
		case under != "" && under != t.want:
			c.markPassing(p)
		}
	}
}

// markPassing notes that the facts being written may hold only for the moment.
func (c *telling) markPassing(p *queue.Pull) {
	if !p.Passing {
		p.Passing = true
		c.touch(queue.KindPull, strconv.Itoa(p.Number))
	}
}

// tellable returns, in order, the pull requests with comments that may have to
// change: those with a changed record or glance.
func (c *telling) tellable() []int {
	out := c.glance()
	if lane := c.facts.Rules().DefaultLane; !c.toldAll || c.toldBroken != c.s.Main.Broken || c.toldLane != lane {
		c.toldAll, c.toldBroken, c.toldLane = true, c.s.Main.Broken, lane
		return derived.Sorted(c.s.Pulls)
	}
	for r := range c.dirty {
		switch r.Kind {
		case queue.KindPull:
			if n, err := strconv.Atoi(r.ID); err == nil {
				out = append(out, n)
			}
		case queue.KindChange:
			if ch := c.s.Changes[queue.ChangeID(r.ID)]; ch != nil {
				out = append(out, ch.Number)
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n int) bool { return c.s.Pulls[n] == nil })
}

// glance looks at all pending changes, unless nothing has changed since the last time,
// and returns the pull requests of those that look different.
func (c *telling) glance() []int {
	changing := c.facts.Changing() // this depends on the time and on the actions under way: no record says so
	if c.toldAll && c.toldAt == c.facts.Freshness() && c.toldChanging == changing {
		return nil
	}
	c.toldAt, c.toldChanging = c.facts.Freshness(), changing
	var out []int
	around, before, old := c.around(), c.glances, c.toldOf
	c.glances, c.toldOf = derived.Resize(c.spareGlances, len(c.facts.Order.Pending)), c.facts.Order.Pending
	c.spareGlances = before
	at := 0 // a change that stays in the order keeps its place relative to most others
	for i, ch := range c.facts.Order.Pending {
		g := c.glanceAt(around, ch, i)
		c.glances[i] = g
		if same := slices.Index(old[at:], ch); same < 0 {
			out = append(out, ch.Number)
		} else {
			if at += same; before[at] != g {
				out = append(out, ch.Number)
			}
			at++
		}
	}
	return out
}

// factsOf writes down the facts that a person would want to be told of, without each
// second's progress. "" means that there is nothing to say.
func (c *telling) factsOf(p *queue.Pull) string {
	ch := c.settling.shownOf(p)
	if ch == nil && p.Notice.Code == "" {
		return ""
	}
	var f factWriter
	f.reason(p.Notice)
	f.text(p.NoticeTo)
	if p.Edited != 0 {
		f.text(strconv.FormatInt(int64(p.Edited), 10))
	}
	if ch == nil {
		return f.String()
	}
	f.text(string(ch.ID))
	f.text(string(ch.Phase))
	f.text(c.entering.shownLane(ch))
	if ch.Now != nil {
		f.text(ch.Now.By)
	}
	f.reason(ch.Reason)
	if ch.Parent != 0 {
		f.number(ch.Parent)
		if ch.Stack != 0 {
			f.number(ch.Stack)
		}
	}
	f.text(c.s.Main.Broken)
	if ch.Verdict != nil && ch.Verdict.Along {
		f.yes(true)
		if ch.Verdict.Closed {
			f.text("closed")
		}
	}
	if ch.Verdict != nil && ch.Verdict.ByForge {
		f.text("by forge")
	}
	if ch.Touches.Unknown != "" {
		f.text(ch.Touches.Unknown)
	}
	for _, id := range c.landing.partners(ch) {
		f.text(string(id))
	}
	if ch.Phase == queue.Trying {
		f.number(ch.Builds)
	}
	if ch.Phase == queue.Pending {
		g := c.glanceAt(c.around(), ch, c.facts.Order.Rank[ch.ID])
		f.number(g.place)
		f.number(g.builds)
		f.yes(g.ahead)
		f.yes(g.proven)
		f.yes(g.paused)
		if g.changing {
			f.yes(true)
		}
		if g.renamed != "" {
			f.text(g.renamed)
		}
		f.yes(g.root)
		f.number(g.red)
		if g.benched != "" {
			f.text(g.benched)
		}
		if g.quota != "" {
			f.WriteString(g.quota)
		}
	}
	return f.String()
}

// uncrowded are the facts of no reason.
const uncrowded = "0 0 0 "

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
	for _, x := range r.Culprits {
		f.culprit(x)
	}
	for _, q := range r.Unmet {
		f.text(string(q.Kind))
		for _, n := range q.Names {
			f.text(n)
		}
		f.yes(q.Merged)
		f.number(len(q.On))
		for _, id := range q.On {
			f.text(string(id))
		}
	}
}

func (f *factWriter) culprit(x queue.Culprit) {
	f.text(string(x.Commit))
	for _, n := range slices.Concat(x.Names, x.Targets) {
		f.text(n)
	}
	for _, l := range x.Later {
		f.text(string(l.Commit))
	}
	if r := x.Revert; r != nil {
		f.text(string(r.State))
		f.number(r.Number)
		f.yes(r.Landing)
		f.text(r.Trouble)
	}
}
