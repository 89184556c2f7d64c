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

// fold takes one event into the state. It gives none of the verdicts that settle gives.
func (c *Core) fold(e queue.Event) {
	switch b := e.Body.(type) {
	case queue.Commented:
		if b.Bot && !c.facts.Permissions().HearsBot(b.Author) {
			return
		}
		id := b.Comment
		if b.Head != "" { // a button; another queue may have the pull request
			if id = e.ID; c.s.Pulls[b.Number] == nil {
				return
			}
		} else if !b.Late { // to react may change the pull request, and then nothing shows whether it has changed since
			c.hear(b)
		}
		for i, cmd := range c.entering.commands.Parse(b.Body) {
			c.request(queue.Request{ID: id + "#" + strconv.Itoa(i), Number: b.Number, User: b.Author,
				Comment: b.Comment, Command: cmd, At: e.At, Bot: b.Bot, Head: b.Head, Made: b.Made, Late: b.Late || heardLate(e, b.Made)})
		}
	case queue.Edited:
		c.edited(e, b)
	case queue.Labeled:
		c.labeled(e, b)
	case queue.HeadMoved:
		c.headMoved(e, b)
	case queue.Closed:
		c.closed(e, b)
	case queue.Retargeted:
		c.inspectAgain(b.Number)
		if ch := c.facts.Links.Active(b.Number); ch != nil {
			c.request(queue.Request{ID: "recheck/" + e.ID, Number: b.Number, User: ch.Requester,
				Command: queue.Command{Verb: queue.CommandRecheck}, At: e.At})
		}
	case queue.Offered:
		c.entering.offered(b)
	case queue.Stirred:
		c.guarding.stirred(b)
		c.entering.heard(b)
	case queue.MainMoved:
		if b.Branch == c.s.Main.Branch {
			c.mainline.readNow()
		}
	case queue.Access:
		c.mainline.access(b)
	case queue.Observed:
		c.mainline.observed(b)
	case queue.Surveyed:
		c.mainline.surveyed(b)
	case queue.Traced:
		c.hunting.traced(b)
	case queue.Controlled:
		c.judging.controlled(b)
	case queue.Inspected:
		c.entering.inspected(b)
	case queue.Analyzed:
		a := c.upkeep.done(b.Action)
		c.analyzed(b, a != nil && a.Task.(queue.Analyze).Analyzer == b.Analyzer)
	case queue.Attested:
		c.judging.attested(b)
	case queue.HeadChecked:
		c.judging.headChecked(b)
	case queue.Met:
		c.settling.met(b)
	case queue.Resolved:
		c.judging.resolved(b)
	case queue.Weighed:
		c.hunting.weighedLater(b)
	case queue.Proposed:
		c.hunting.proposed(b)
	case queue.BuildStarted:
		if build := c.s.Builds[b.Build]; build != nil && build.Started == 0 {
			build.Started = c.facts.Now
			c.touch(queue.KindBuild, string(build.ID))
		}
	case queue.JobDone:
		c.judging.jobDone(b)
	case queue.BuildDone:
		c.upkeep.done(b.Action)
		c.judging.buildDone(b)
	case queue.HeadsMoved:
		c.mainline.headsMoved(b)
	case queue.HeadsSeen:
		c.mainline.headsSeen(b)
	case queue.HeadsReturned:
		c.mainline.headsReturned(b)
	case queue.Pushed:
		c.mainline.pushed(b)
	case queue.Done:
		c.doneShowing(b)
	case queue.Failed:
		c.upkeep.failed(b)
	case queue.Learnt:
		c.learning.learnt(b)
	case queue.Renamed:
		c.mainline.renamed(b)
	case queue.Capacity:
		c.guarding.capacity(b)
	case queue.Fleet:
		c.benching.fleet(b)
	case queue.Tick:
	}
}

func (c *Core) pull(number int) *queue.Pull {
	p := c.s.Pulls[number]
	if p == nil {
		p = &queue.Pull{Number: number}
		c.s.Pulls[number] = p
	}
	p.At = c.facts.Now
	c.touchPull(p)
	return p
}

// edited follows a toggle of the box, and has the comment written anew where it is not as
// we have written it. A toggle counts only on the very text that was written last, so
// that the person saw the present state. Edits by an App are left alone if its commands
// do not count, lest two programs edit in turns for ever.
func (c *Core) edited(e queue.Event, b queue.Edited) {
	p := c.s.Pulls[b.Number]
	if p == nil || p.Said.Marker == "" || p.Said.Marker != b.Before.Marker || b.Bot && !c.facts.Permissions().HearsBot(b.Author) {
		return
	}
	if b.Command == "" || b.Before != p.Said || c.facts.Rules().Checkbox == config.CheckboxOff {
		c.pull(b.Number).Edited = e.At
		return
	}
	for _, cmd := range c.entering.commands.Parse(b.Command) {
		c.request(queue.Request{ID: "box/" + e.ID, Number: b.Number, User: b.Author, Command: cmd, At: e.At, Bot: b.Bot, Box: true,
			Made: b.Made, Late: heardLate(e, b.Made)})
	}
}

// hear acknowledges a comment with commands at once, before anything is asked of
// the forge.
func (c *Core) hear(b queue.Commented) {
	if b.Comment != "" && b.Number != 0 && len(c.entering.commands.Parse(b.Body)) > 0 {
		c.upkeep.ask(queue.React{Number: b.Number, Comment: b.Comment, Seen: true})
	}
}

func (c *Core) request(r queue.Request) {
	if c.s.Requests[r.ID] != nil {
		return
	}
	c.s.Requests[r.ID] = &r
	c.touch(queue.KindRequest, r.ID)
}

// inspect asks about the oldest command of each pull request, so that a cancel
// is not followed before the landing that it cancels; and so that a resume is not
// followed before the pause that it ends, about the oldest of those that hold all
// landings or end that, wherever they were given. Commands can be answered only
// after the target branch has been read.
func (c *Core) inspect() {
	if c.s.Main.Tip == "" {
		return
	}
	oldest := map[int]*queue.Request{}
	var holds *queue.Request
	for _, id := range derived.Sorted(c.s.Requests) {
		r := c.s.Requests[id]
		if r.Held {
			if ch := c.facts.Links.Active(r.Number); ch != nil && ch.Phase == queue.Landing {
				continue
			}
		}
		if first := oldest[r.Number]; first == nil || r.Earlier(first) {
			oldest[r.Number] = r
		}
		if holdsAll(r) && c.facts.Now < r.At.Add(turnsAfter) && (holds == nil || r.Earlier(holds)) {
			holds = r
		}
	}
	for _, n := range derived.Sorted(oldest) {
		r := oldest[n]
		if holds != nil && holdsAll(r) && holds.Earlier(r) {
			c.mainline.wakeAt(holds.At.Add(turnsAfter)) // one that the forge has no answer about does not hold up the others
		} else {
			c.upkeep.ask(queue.Inspect{Request: r.ID, Number: r.Number, User: r.User})
		}
	}
}

// turnsAfter is how long a command that holds all landings waits for the answer to an earlier one.
const turnsAfter = 30 * time.Second

// holdsAll reports whether a command holds all landings, or ends that.
func holdsAll(r *queue.Request) bool {
	return r.Command.Verb == queue.CommandPause || r.Command.Verb == queue.CommandFreeze || r.Command.Verb == queue.CommandResume
}

func (c *Core) labeled(e queue.Event, b queue.Labeled) {
	c.entering.unlabelled(b) // whichever account took the label off: no command made the change enter
	if b.Bot && !c.facts.Permissions().HearsBot(b.Actor) {
		return
	}
	label := "land"
	if l := c.facts.Rules().Label; l != "" {
		label = l
	}
	if b.Assigned {
		if c.facts.Rules().Assignment == config.AssignmentOff {
			return
		}
		b.Label = label
	}
	lane := ""
	if rules, l := c.facts.Rules(), []string{b.Label}; len(rules.Blocking(l)) > 0 || len(rules.Excepting(l)) > 0 {
		c.guarding.stirred(queue.Stirred{Number: b.Number})
		return
	}
	if b.Label != label {
		rest, ours := strings.CutPrefix(b.Label, label+":")
		l, known := c.facts.Rules().Lane(strings.ToLower(rest))
		if !ours || !known {
			return
		}
		lane = l.Name
	}
	cmd := queue.Command{Verb: queue.CommandLand, Lane: lane}
	if !b.On {
		cmd = queue.Command{Verb: queue.CommandCancel}
		if ch := c.facts.Links.Active(b.Number); ch == nil || lane != "" && ch.Lane != lane {
			return // the change is in another lane by now, which this label did not ask for
		}
	}
	c.request(queue.Request{ID: "label/" + e.ID, Number: b.Number, User: b.Actor, Command: cmd, At: e.At, Bot: b.Bot, Made: b.Made, Late: b.Late || heardLate(e, b.Made)})
}

// heardLate reports whether a command was not heard when it was given, by the forge's clock.
func heardLate(e queue.Event, made queue.Instant) bool {
	return made != 0 && e.At.Sub(made) > queue.ClocksDiffer
}

// inspectAgain asks anew about the commands that wait on a pull request, which has
// changed since an inspection under way may have read it.
func (c *Core) inspectAgain(number int) {
	for _, id := range derived.Sorted(c.s.Requests) {
		if r := c.s.Requests[id]; r.Number == number {
			t := queue.Inspect{Request: r.ID, Number: r.Number, User: r.User}
			if a := c.s.Actions[c.facts.Asked(t)]; a != nil && a.NotBefore <= c.facts.Now { // else it has not looked yet
				c.upkeep.renew(t)
			}
		}
	}
}

// headMoved takes out requests for another head. The event may be late, so a queued
// change is looked at again, and the forge's answer decides whether it is taken out.
// But the head of a command that is not followed yet is not known; the command is
// refused, and the author gives it once more. Where a person pushes and commands at once, the pushed
// head is meant, whichever of the two events comes first: the forge is asked anew. A push
// long after the command is another one, also where the forge has not answered since. A command
// that waits for the end of a push is about a head that is known (waitsForPush), and is compared then.
func (c *Core) headMoved(e queue.Event, b queue.HeadMoved) {
	if c.entering.movedByUs(b) {
		return
	}
	known := c.s.Pulls[b.Number]
	if known == nil && b.Made != 0 {
		c.pushedUnknown(b)
	}
	if known != nil && b.Made != 0 && b != known.Pushed {
		c.overtaken(b, known.Pushed)
		if b.Made >= known.Pushed.Made {
			c.pull(b.Number).Pushed = b
		}
	}
	if known == nil || known.Head != b.Head {
		for _, id := range derived.Sorted(c.s.Requests) {
			r := c.s.Requests[id]
			if r.Number == b.Number && c.entering.mayRun(r.Command.Verb) && !r.Held && r.Head != b.Head &&
				(b.By == "" || b.By != r.User || r.Head != "" || e.At.Sub(r.At) > queue.ClocksDiffer) {
				c.upkeep.drop(queue.Inspect{Request: r.ID, Number: r.Number, User: r.User})
				c.entering.refuse(r, queue.Reason{Code: queue.ReasonPushed, Names: []string{"", string(b.Head)}})
			}
		}
	}
	if known != nil && known.Head != b.Head {
		p := c.pull(b.Number)
		if p.Head != "" {
			p.Pushes++
		}
		p.Head = b.Head
	}
	c.inspectAgain(b.Number)
	if try := c.settling.tryOf(b.Number); try != nil && try.Head != b.Head {
		c.doubt(try, "head/"+e.ID)
	}
	switch ch := c.facts.Links.Active(b.Number); {
	case ch == nil || ch.Head == b.Head:
	case ch.Phase == queue.Landing:
		p := c.pull(b.Number)
		p.Notice, p.NoticeTo = queue.Reason{Code: queue.ReasonTooLate, Names: []string{string(ch.Head), string(b.Head)}}, ""
	default:
		c.doubt(ch, "head/"+e.ID)
	}
}

// overtaken takes out the change, or the try, of a head that somebody has pushed after another
// person's command: the forge showed the new head when it was asked about the command, before it
// told of the push. The author of the command has not seen that head, unless it was the head before
// another one that was pushed meanwhile, and has been put back. What was delegated at such a head was
// delegated for none.
func (c *Core) overtaken(b, before queue.HeadMoved) {
	unseen := func(head queue.CommitID, made queue.Instant, by string) bool {
		return head == b.Head && made != 0 && b.Made >= made && b.By != by &&
			(before.Head == b.Head || before.Made <= made || before.Made > b.Made)
	}
	why := queue.Reason{Code: queue.ReasonPushed, Names: []string{"", string(b.Head)}}
	if try := c.settling.tryOf(b.Number); try != nil && unseen(try.Head, try.Made, try.Requester) {
		c.settling.endTry(try, queue.Cancelled, why, nil)
	}
	ch := c.facts.Links.Active(b.Number)
	out := ch != nil && unseen(ch.Head, ch.Made, ch.Requester)
	p := c.pull(b.Number)
	p.Trusted = slices.Clone(p.Trusted)
	for i := range p.Trusted {
		if t := &p.Trusted[i]; unseen(t.Head, t.Made, t.By) {
			out = out || ch != nil && ch.Head == t.Head && strings.EqualFold(ch.Requester, t.User)
			t.Head = ""
		}
	}
	switch {
	case !out:
	case ch.Phase == queue.Landing:
		ch.Unseen = true // too late, unless its push does not move main
		c.touchChange(ch)
	default:
		c.settling.decide(ch, queue.Cancelled, why, nil)
	}
}

// pushedUnknown keeps a push to a pull request that the queue has no record of, as long as a command
// from before the push may still be heard.
func (c *Core) pushedUnknown(b queue.HeadMoved) {
	m := &c.s.Main
	if slices.Contains(m.Pushes, b) {
		return
	}
	m.Pushes = append(slices.DeleteFunc(slices.Clone(m.Pushes), func(o queue.HeadMoved) bool {
		return o.Number == b.Number && o.Made <= b.Made || o.Made.Add(queue.ClocksDiffer) < b.Made
	}), b)
	m.Pushes = m.Pushes[max(0, len(m.Pushes)-queue.MostPushes):]
	c.dirty[queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain}] = true // no plan and no comment rests on it
}

// pushed returns the latest push to a pull request, as far as it is known; else its head is empty.
func (c *Core) pushed(number int) (last queue.HeadMoved) {
	if p := c.s.Pulls[number]; p != nil {
		last = p.Pushed
	}
	for _, b := range c.s.Main.Pushes {
		if b.Number == number && b.Made >= last.Made {
			last = b
		}
	}
	return last
}

// doubt has the pull request of a change looked at again. Until that is done
// the change does not board a train.
func (c *Core) doubt(ch *queue.Change, why string) {
	c.request(queue.Request{ID: "recheck/" + why, Number: ch.Number, User: ch.Requester,
		Command: queue.Command{Verb: queue.CommandRecheck}, At: c.facts.Now})
}

func (c *Core) closed(e queue.Event, b queue.Closed) {
	c.inspectAgain(b.Number)
	if try := c.settling.tryOf(b.Number); try != nil && !b.Merged {
		c.doubt(try, "closed/"+e.ID) // it may be open again by now
	} else {
		c.settling.endTry(try, queue.Cancelled, closedAs(b.Merged), nil)
	}
	c.entering.distrust(b.Number)
	ch := c.facts.Links.Active(b.Number)
	c.entering.withdrawn(b.Number)
	if !b.Merged {
		c.mainline.shownClosed(b.Number)
	}
	if ch == nil && b.Merged {
		c.entering.wasMerged(b.Number)
	}
	if ch == nil || ch.Phase == queue.Landing {
		if high := c.facts.Order.OnTop(b.Number); ch == nil && b.Merged && len(high) > 0 { // into which branch, the forge tells
			c.request(queue.Request{ID: "recheck/below/" + e.ID, Number: b.Number, User: high[0].Requester,
				Command: queue.Command{Verb: queue.CommandRecheck}, At: c.facts.Now})
		}
		return
	}
	if !b.Merged {
		c.doubt(ch, "closed/"+e.ID)
		return
	}
	// The forge says merged: by us, as main will show, or by somebody else.
	c.pull(b.Number).Gone = true
	c.upkeep.observe()
}

func (c *Core) doneShowing(b queue.Done) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	switch t := a.Task.(type) {
	case queue.Tell:
		c.hunting.toldMain(t)
	case queue.Publish:
		if p := c.s.Pulls[t.Number]; p != nil {
			p.Shown = t.Want
			if b.Said.Marker != "" {
				p.Said = b.Said
			}
			if p.Passing {
				p.Shown, p.Passing = "", false
			}
			c.touchPull(p)
		}
	}
}

// analyzed takes in a footprint. A footprint that the change waits for is good even if
// main has moved since: if the move had made it old, the change would no longer wait
// for it (reanalyze).
func (c *Core) analyzed(b queue.Analyzed, awaited bool) {
	ch := c.s.Changes[b.Change]
	if ch == nil || ch.Phase.Final() {
		return
	}
	if ch.Phase == queue.Trying {
		if ch.Would != nil {
			c.entering.explained(ch, b.Footprint)
		}
		return
	}
	f := b.Footprint
	current := awaited || f.Main == c.s.Main.Tip && b.Analyzer == c.s.Main.Analyzer
	if !current && c.s.Footprints[ch.ID] != nil {
		return // a newer one is known or on its way
	}
	f.Write, f.Read, f.Affected = slices.Clone(f.Write), slices.Clone(f.Read), slices.Clone(f.Affected)
	if f.At = 0; f.Again {
		f.At = c.facts.Now
	}
	if old := c.s.Footprints[ch.ID]; old != nil {
		f.Merges, f.Clashes = old.Merges, old.Clashes // these are facts of its head, on any main
	}
	if derived.InOrder(ch) {
		c.landing.leave(ch.ID)
	}
	if old := c.s.Footprints[ch.ID]; c.facts.Futures.NewFootprint(ch.ID, old, &f) && old != nil {
		c.blaming.carryTested(ch.ID, old, &f)
	}
	c.s.Footprints[ch.ID] = &f
	c.touch(queue.KindFootprint, string(ch.ID))
	ch.Stale = ch.Stale && !current
	ch.Touches = c.settling.touches(&f)
	c.facts.Beliefs.Read(ch, &f)
	c.touchChange(ch)
	if ch.Virtual == 0 {
		ch.Predicted = c.facts.Beliefs.Predict(ch, &f)
		ch.Virtual = c.landing.virtual(ch)
		c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: "analyzed"})
		c.rowArrival(ch, &f)
	}
	c.settling.pend(ch, &f)
}

// PickOf returns the facts of a change that a merge needs.
func PickOf(ch *queue.Change) queue.Pick { return pickOf(ch) }

func pickOf(ch *queue.Change) queue.Pick {
	return queue.Pick{Change: ch.ID, Number: ch.Number, Head: ch.Head, HeadRef: ch.HeadRef, Title: ch.Title,
		Author: ch.Author, Arrival: ch.Arrival, Method: ch.Method, Wording: ch.Wording, Skip: ch.Skip, Below: ch.Below, Revert: ch.Revert}
}
