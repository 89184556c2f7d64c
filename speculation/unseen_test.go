package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// saidAt is say at a time of the forge's.
func (w *world) saidAt(p *pull, user, text string, made queue.Instant) queue.Event {
	e := w.say(p, user, text)
	b := e.Body.(queue.Commented)
	b.Made = made
	e.Body = b
	return e
}

// pushedBy has somebody push to a pull request, and returns the event that tells of it.
func (w *world) pushedBy(p *pull, by string, made queue.Instant, e edit) queue.Event {
	p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(e)}).id
	return w.event(queue.HeadMoved{Number: p.number, Head: p.head, By: by, Made: made})
}

// knownPull opens a pull request that the queue has a record of.
func (w *world) knownPull() *pull {
	w.Helper()
	p := w.open(w.main, edit{"a/code": "seen"})
	w.step(w.say(p, "boss", "/land status"))
	w.settleDown()
	return p
}

// mustNotLand demands that a pull request has not landed in the end.
func (w *world) mustNotLand(p *pull) {
	w.Helper()
	w.waitOut()
	if ch := w.change(p); ch != nil && ch.Phase == queue.Landed {
		w.Fatalf("it has landed at %s, which nobody has seen", ch.Head)
	}
}

// Somebody says /land, and another person pushes at once. The forge shows the new head when it is
// asked about the command, and tells of the push later, or has told of it before: either way nobody
// has asked for that head.
func TestPushBetweenACommandAndTheLook(t *testing.T) {
	for name, c := range map[string]struct {
		by    string
		after time.Duration // from the command to the push
		first bool          // the push is heard first
		lands bool
	}{
		"by another person":                        {by: "mallory", after: time.Second},
		"within the same second":                   {by: "mallory"},
		"by another person, heard first":           {by: "mallory", after: time.Second, first: true},
		"by the author of the command":             {by: "boss", after: time.Second, lands: true},
		"before the command, and heard after it":   {by: "mallory", after: -time.Second, lands: true},
		"before the command, by its author, first": {by: "boss", after: -time.Second, first: true, lands: true},
	} {
		for _, verb := range []string{"/land", "/land try"} {
			t.Run(verb+" "+name, func(t *testing.T) {
				w := quiet(t, unit, config.Rules{})
				p := w.open(w.main, edit{"a/code": "seen"})
				w.step(w.say(p, "boss", "/land status")) // the queue knows the pull request
				w.settleDown()
				made := w.now
				moved := w.pushedBy(p, c.by, made.Add(c.after), edit{"a/code": "unseen"})
				asked := w.saidAt(p, "boss", verb, made)
				if c.first {
					w.step(moved, asked)
					w.settleDown()
				} else {
					w.step(asked)
					w.settleDown()
					w.step(moved)
				}
				w.waitOut()
				s := w.core.State()
				last, tried := s.Changes[s.Pulls[p.number].Last], s.Changes[s.Pulls[p.number].Tried]
				landed := last != nil && last.Phase == queue.Landed || tried != nil && tried.Phase == queue.Tried
				if landed != c.lands {
					t.Errorf("it has ended well: %v", landed)
				}
			})
		}
	}
}

// Nobody has said anything on the pull request before, and the push is heard before the command.
func TestPushToAnUnknownPullIsHeardFirst(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p, made := w.open(w.main, edit{"a/code": "seen"}), w.now
	moved := w.pushedBy(p, "mallory", made.Add(time.Second), edit{"a/code": "unseen"})
	for range 2 * queue.MostPushes { // to others
		o := w.open(w.main, edit{})
		w.step(w.pushedBy(o, "dev", made.Add(-time.Second), edit{"a/code": "other"}))
	}
	w.step(moved, moved)
	if n := len(w.core.s.Main.Pushes); n != queue.MostPushes {
		t.Errorf("%d pushes are kept", n)
	}
	w.step(w.saidAt(p, "boss", "/land", made))
	w.mustNotLand(p)
}

// Two pushes, one before the command and one after it, are heard in the other order, and then the
// command.
func TestPushesAreHeardInTheOtherOrder(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p, made := w.knownPull(), w.now
	first := w.pushedBy(p, "mallory", made.Add(-time.Second), edit{"a/code": "one"})
	second := w.pushedBy(p, "mallory", made.Add(time.Second), edit{"a/code": "two"})
	w.step(second)
	w.step(first)
	w.step(w.saidAt(p, "boss", "/land", made))
	w.mustNotLand(p)
}

// A push that is told of twice takes nothing out that it has not taken out the first time.
func TestPushIsToldOfTwice(t *testing.T) {
	for name, putBack := range map[string]bool{"put back": true, "in the second of the command": false} {
		w := quiet(t, unit, config.Rules{})
		p := w.knownPull()
		w.step(w.say(p, "boss", "/queue pause"))
		w.settleDown()
		seen, made := p.head, w.now
		moved := w.pushedBy(p, "mallory", made, edit{"a/code": "other"})
		asked := w.saidAt(p, "boss", "/land", made)
		if putBack {
			p.head = seen
			w.step(asked)
			w.quiesce()
			w.step(w.event(queue.HeadMoved{Number: p.number, Head: moved.Body.(queue.HeadMoved).Head, By: "mallory", Made: made.Add(time.Second)}))
			moved = w.event(queue.HeadMoved{Number: p.number, Head: seen, By: "mallory", Made: made.Add(2 * time.Second)})
			w.quiesce()
			w.step(moved)
		} else {
			w.step(moved)
			w.step(asked)
		}
		w.quiesce()
		if ch := w.change(p); ch == nil || ch.Phase.Final() {
			t.Fatalf("%s: told of once: %+v", name, ch)
		}
		w.step(moved)
		w.quiesce()
		if ch := w.change(p); ch.Phase.Final() {
			t.Errorf("%s: told of twice: %+v", name, ch.Reason)
		}
	}
}

// Somebody asks once more, in any way, for a head that was pushed after the first command: that head
// was seen, though its push is heard only then.
func TestAskedForAgainAtAHeadThatIsHeardLate(t *testing.T) {
	for _, words := range []string{"/land", "/land try", "/land retry", "/land now it burns", "a button"} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "seen"})
		w.step(w.say(p, "boss", "/queue pause"))
		w.settleDown()
		first, made := "/land", w.now
		if words == "/land try" {
			first = words
		}
		moved := w.pushedBy(p, "mallory", made.Add(time.Second), edit{"a/code": "other"})
		w.step(w.saidAt(p, "boss", first, made))
		w.settleDown()
		if words == "a button" {
			w.tell(queue.Commented{Number: p.number, Author: "boss", Body: "/land", Head: p.head})
		} else {
			w.step(w.saidAt(p, "boss", words, made.Add(2*time.Second)))
		}
		w.settleDown()
		w.step(moved)
		w.settleDown()
		if q := w.core.s.Pulls[p.number]; q.Active == "" && q.Try == "" {
			t.Errorf("%s: it is taken out", words)
		}
	}
}

// An administrator asks for a head, somebody pushes an edit of a protected path, and another person,
// who has seen that, asks too: the administrator has not approved it.
func TestNobodyVouchesForAHeadUnseen(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.guards, w.requires, w.sanctioned = true, true, map[queue.CommitID]bool{}
	w.permissions.Protected = []string{"p/**"}
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "more"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	p, made := w.knownPull(), w.now
	moved := w.pushedBy(p, "mallory", made.Add(time.Second), edit{guarded: "unseen"})
	w.step(w.saidAt(p, "boss", "/land", made))
	w.settleDown()
	w.step(w.saidAt(p, "dev", "/land", made.Add(2*time.Second)))
	w.settleDown()
	w.step(moved)
	w.mustNotLand(p)
}

// The push is heard while the change is landing, which is too late; but main is not moved.
func TestUnseenHeadIsHeardOfWhileItLands(t *testing.T) {
	for _, method := range []config.Method{config.MethodMerge, config.MethodSquash} {
		w := quiet(t, unit, config.Rules{Landing: config.Landing{Method: method}})
		if method == config.MethodSquash {
			w.branches = &branches{of: map[int]*branch{}}
		}
		p, made := w.knownPull(), w.now
		moved := w.pushedBy(p, "mallory", made.Add(time.Second), edit{"a/code": "unseen"})
		w.step(w.saidAt(p, "boss", "/land", made))
		w.mustReachPush()
		w.step(moved)
		w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
		w.mustNotLand(p)
	}
}

// A maintainer delegates a pull request to its author without write access, who pushes at once: the
// maintainer has vouched for no head.
func TestDelegatedAtAHeadUnseen(t *testing.T) {
	for name, last := range map[string]bool{"the push is heard before the author's command": false, "and after it": true} {
		w := quiet(t, unit, config.Rules{})
		p, made := w.knownPull(), w.now
		p.author = "stranger"
		moved := w.pushedBy(p, "stranger", made.Add(time.Second), edit{"a/code": "unseen"})
		w.step(w.saidAt(p, "boss", "/land delegate @stranger", made))
		w.settleDown()
		asked := w.saidAt(p, "stranger", "/land", made.Add(2*time.Second))
		if last {
			w.step(asked)
			w.settleDown()
			w.step(moved)
		} else {
			w.step(moved)
			w.settleDown()
			w.step(asked)
		}
		w.waitOut()
		if ch := w.change(p); ch != nil && ch.Phase == queue.Landed {
			t.Errorf("%s: it has landed", name)
		}
	}
}
