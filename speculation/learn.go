package speculation

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// learning has the queue learn models of its own past, and says which of them is used.
//
// Learning is an action (queue.Learn). The owner of the queue carries it out, beside the
// turns, so only one of several servers does it. After a crash the next owner begins it
// again. Its result is one event with the whole model, which is a record of the state
// from then on: a core that is made anew plans with the same one.
//
// A queue learns when enough changes have ended, once a day, when many have ended since,
// when the model in use has lately done worse than no model (predict.Drifted), and when a
// maintainer asks for it (/queue model learn). A model no part of which beats its baselines
// on later changes is kept for people to see, and not used. A newer model comes into use
// automatically, unless a maintainer has chosen a model, or none.
type learning struct {
	*Core
	without predict.Model // the one to ask if no learned model is in use
}

// When a queue learns, in changes that have landed or failed since the latest attempt.
const (
	learnFirst = predict.FewestDecided
	learnDaily = 100
	learnGrown = 2000
	learnDrift = 300

	learnEvery = 24 * time.Hour
	learnPause = time.Hour // between two attempts at least

	keepModels = 8 // versions, beside the one in use
)

// use has all predictions from now on come from the model in use.
func (c *learning) use() {
	c.facts.Beliefs.Ask(c.without)
	m := c.s.Models[c.s.Model.Using]
	if m == nil || !c.without.Cold() {
		return
	}
	if t := new(predict.Trained); json.Unmarshal([]byte(m.Text), t) == nil {
		c.facts.Beliefs.Ask(t) // else its version cannot be read here
	}
}

// choose puts a version into use, or none.
func (c *learning) choose(version int) {
	if c.s.Model.Using == version {
		return
	}
	c.s.Model.Using = version
	c.s.Learned.Shift, c.s.Learned.Credit = queue.Shift{}, queue.Credit{}
	c.touch(queue.KindMeta, queue.MetaLearned)
	c.touch(queue.KindMeta, queue.MetaModel)
	c.use()
}

// due asks for a model when it is time to.
func (c *learning) due() {
	m := &c.s.Model
	if !c.without.Cold() || c.underWay() {
		return
	}
	cause, ok := c.cause()
	if !ok {
		return
	}
	m.Latest++
	m.Asked = nil
	m.Tried = queue.LearnAttempt{At: c.facts.Now, Seen: m.Seen, Cause: cause}
	c.touch(queue.KindMeta, queue.MetaModel)
	c.upkeep.ask(queue.Learn{Version: m.Latest, Cause: cause})
}

// underWay reports whether a model is being learned.
func (c *learning) underWay() bool {
	v := c.s.Model.Latest
	return v > 0 && c.facts.Asked(queue.Learn{Version: v}) != ""
}

// cause returns why a model is to be learned now. If only time is missing, it has the
// queue woken then.
func (c *learning) cause() (queue.LearnCause, bool) {
	m := &c.s.Model
	if m.Asked != nil {
		return queue.LearnAsk, true
	}
	since := m.Seen - m.Tried.Seen
	at := queue.Instant(0)
	because := queue.LearnCause("")
	switch credit := c.s.Learned.Credit; {
	case m.Tried.At == 0:
		return queue.LearnFirst, since >= learnFirst
	case since >= learnGrown:
		because, at = queue.LearnGrown, m.Tried.At.Add(learnPause)
	case m.Using > 0 && since >= learnDrift && (predict.Drifted(credit.Good) || predict.Drifted(credit.Took)):
		because, at = queue.LearnDrift, m.Tried.At.Add(learnPause)
	case since >= learnDaily:
		because, at = queue.LearnDaily, m.Tried.At.Add(learnEvery)
	default:
		return "", false
	}
	if c.facts.Now < at {
		c.wakeAt(at)
		return "", false
	}
	return because, true
}

// learnt takes in the result of learning.
func (c *learning) learnt(b queue.Learnt) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	t := a.Task.(queue.Learn)
	c.tried(b.Why)
	if b.Model == nil || b.Model.Version != t.Version {
		return
	}
	c.s.Models[b.Model.Version] = b.Model
	c.touch(queue.KindModel, strconv.Itoa(b.Model.Version))
	if m := &c.s.Model; !m.Fixed {
		switch {
		case b.Model.Useful():
			c.choose(b.Model.Version)
		case t.Cause == queue.LearnDrift:
			c.choose(0)
		}
	}
	c.note(queue.Note{What: "learned", Reason: queue.Reason{Names: []string{strconv.Itoa(b.Model.Version), string(t.Cause)}}})
	c.forget()
}

// tried takes in why an attempt has made no model; "": it has.
func (c *learning) tried(why string) {
	c.s.Model.Tried.Why = why
	c.touch(queue.KindMeta, queue.MetaModel)
}

// forget drops the oldest versions.
func (c *learning) forget() {
	old := slices.DeleteFunc(derived.Sorted(c.s.Models), func(v int) bool { return v == c.s.Model.Using })
	for _, v := range old[:max(0, len(old)-keepModels)] {
		delete(c.s.Models, v)
		c.touch(queue.KindModel, strconv.Itoa(v))
	}
}

// seen counts a change that has landed or failed.
func (c *learning) seen() {
	c.s.Model.Seen++
	c.touch(queue.KindMeta, queue.MetaModel)
}

// follow carries out /queue model.
func (c *learning) follow(r *queue.Request) {
	m := &c.s.Model
	switch r.Command.Text {
	case queue.ModelLearn:
		m.Asked = &queue.LearnAsked{By: r.User, At: c.facts.Now}
	case queue.ModelNone:
		m.Fixed, m.By = true, r.User
		c.choose(0)
	case queue.ModelNewest:
		m.Fixed, m.By = false, ""
		newest := 0
		for v, x := range c.s.Models {
			if x.Useful() {
				newest = max(newest, v)
			}
		}
		c.choose(newest)
	default:
		v, _ := strconv.Atoi(r.Command.Text)
		if x := c.s.Models[v]; x == nil || !x.Useful() {
			c.entering.refuse(r, queue.Reason{Code: queue.ReasonUnknown, Names: []string{"/queue model " + r.Command.Text, "/queue model " + queue.ModelNewest}})
			return
		}
		m.Fixed, m.By = true, r.User
		c.choose(v)
	}
	c.touch(queue.KindMeta, queue.MetaModel)
	c.note(queue.Note{Number: r.Number, What: "model", Reason: queue.Reason{Names: []string{r.User, r.Command.Text}}})
	c.entering.accept(r)
}

// view returns the models as people see them.
func (c *learning) view() queue.ModelsView {
	v := queue.ModelsView{Models: c.s.Model, Learning: c.underWay()}
	if c.s.Model.Using > 0 {
		credit := c.s.Learned.Credit
		v.Chances, v.Durations = predict.Weight(credit.Good), predict.Weight(credit.Took)
		_, reads := c.facts.Beliefs.Model.(predict.Reader)
		v.Unread = !reads
	}
	for _, n := range slices.Backward(derived.Sorted(c.s.Models)) {
		v.List = append(v.List, c.s.Models[n])
	}
	return v
}
