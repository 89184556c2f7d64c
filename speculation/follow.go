package speculation

import "github.com/submitqueue/submitqueue/queue"

// follower carries out a permitted command and ends its request: it accepts, refuses or
// answers it.
type follower func(c *entering, r *queue.Request, b queue.Inspected)

// followers returns the follower of each command; all else about a command is in its row
// of queue.Commands. The queue's own commands, recheck and auto, are not in the map.
func followers() map[queue.Verb]follower {
	return map[queue.Verb]follower{
		queue.CommandLand:       (*entering).enter,
		queue.CommandCancel:     (*entering).cancel,
		queue.CommandRetry:      (*entering).retry,
		queue.CommandTry:        func(c *entering, r *queue.Request, b queue.Inspected) { c.settling.tryOut(r, b) },
		queue.CommandExplain:    (*entering).explainTo,
		queue.CommandDelegate:   (*entering).delegate,
		queue.CommandUndelegate: func(c *entering, r *queue.Request, _ queue.Inspected) { c.undelegate(r) },
		queue.CommandNow:        (*entering).emergency,
		queue.CommandStatus: func(c *entering, r *queue.Request, _ queue.Inspected) {
			c.pull(r.Number).Shown = ""
			c.accept(r)
		},
		queue.CommandHelp: func(c *entering, r *queue.Request, _ queue.Inspected) {
			c.answer(r, queue.Reason{Code: queue.ReasonHelp})
			c.react(r, true)
		},
		queue.CommandPause: func(c *entering, r *queue.Request, _ queue.Inspected) { c.pause(r) },
		queue.CommandResume: func(c *entering, r *queue.Request, _ queue.Inspected) {
			c.mainline.resume(r.User)
			c.ruled(r)
			c.accept(r)
		},
		queue.CommandFreeze: func(c *entering, r *queue.Request, _ queue.Inspected) { c.freeze(r) },
		queue.CommandBlame: func(c *entering, r *queue.Request, _ queue.Inspected) {
			c.answer(r, c.Blame())
			c.react(r, true)
		},
		queue.CommandModel:  func(c *entering, r *queue.Request, _ queue.Inspected) { c.learning.follow(r) },
		queue.CommandForget: func(c *entering, r *queue.Request, _ queue.Inspected) { c.judging.takeBack(r) },
	}
}

// follow carries out a permitted command.
func (c *entering) follow(r *queue.Request, b queue.Inspected) {
	if holdsAll(r) && r.Before(c.s.Main.Ruled) {
		c.accept(r) // somebody has said since whether changes land, and that was followed already
		return
	}
	if f := c.follows[r.Command.Verb]; f != nil {
		f(c, r, b)
		return
	}
	c.refuse(r, queue.Reason{Code: queue.ReasonUnknown, Names: []string{r.Command.Text, r.Command.Near}})
}

// cancel takes a change, or a try, out of the queue.
func (c *entering) cancel(r *queue.Request, b queue.Inspected) {
	c.keepOut(r.Number, b.Head)
	if r.Number != 0 {
		if p := c.pull(r.Number); !r.Before(p.Recalled) {
			p.Recalled = r.Word()
		}
		c.dropHeld(r)
	}
	ch := c.facts.Links.Active(r.Number)
	switch try := c.settling.tryOf(r.Number); {
	case ch == nil && try != nil:
		c.settling.endTry(try, queue.Cancelled, queue.Reason{Code: queue.ReasonCancelled, Names: []string{r.User}}, nil)
		c.accept(r)
	case ch == nil:
		why := c.notOpen(r.Number, b)
		if b.Open || len(why.Names) == 0 {
			why = queue.Reason{Code: queue.ReasonNotQueued}
		}
		c.refuse(r, why)
	case ch.Phase == queue.Landing:
		ch.Recall = r.User
		c.touchChange(ch)
		c.refuse(r, queue.Reason{Code: queue.ReasonTooLate, Names: []string{string(ch.Head)}})
	default:
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonCancelled, Names: []string{r.User}}, nil)
		c.accept(r)
	}
}

// ruled notes when a command was given that holds all landings, or ends that. Such commands
// are followed as the forge answers about their authors, and are found later in any order; one that
// was given before another one that was followed is over, so that the last word that people gave stands.
func (c *entering) ruled(r *queue.Request) {
	if !r.Before(c.s.Main.Ruled) {
		c.s.Main.Ruled = r.Word()
		c.touchMain()
	}
}

// pause holds all landings; builds go on.
func (c *entering) pause(r *queue.Request) {
	c.ruled(r)
	c.s.Main.Paused = &queue.Pause{By: r.User, Reason: r.Command.Text, At: c.facts.Now}
	c.touchMain()
	c.note(queue.Note{Number: r.Number, What: "paused", Reason: queue.Reason{Code: queue.ReasonPaused, Names: []string{r.User}, Detail: r.Command.Text}})
	c.accept(r)
}
