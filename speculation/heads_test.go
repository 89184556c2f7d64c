package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// squashing is a world that lands by squash, with one pull request that has been asked for
// and of which the branch is about to be moved.
func squashing(t *testing.T) (w *world, p *pull, a queue.Action) {
	w = quiet(t, unit, config.Rules{Landing: config.Landing{Method: config.MethodSquash, HeadWait: 10 * time.Second}})
	w.branches = &branches{of: map[int]*branch{}}
	p = w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "dev", "/land"))
	for range 200 {
		if i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, moves := a.Task.(queue.MoveHeads); return moves }); i >= 0 {
			a = w.waits[i]
			w.waits = slices.Delete(slices.Clone(w.waits), i, i+1)
			return w, p, a
		}
		if len(w.waits) > 0 {
			w.work(0)
		} else if going := w.going(); len(going) > 0 {
			w.now = w.now.Add(10 * time.Second)
			w.tell(w.advance(going[0])...)
		}
	}
	t.Fatal("no branch is moved")
	return nil, nil, queue.Action{}
}

// passesTo makes time pass, to each moment at which the queue wants to be woken.
func (w *world) passesTo(at queue.Instant) {
	w.Helper()
	for w.now < at {
		w.now = min(at, max(w.now+1, w.wake))
		w.tell(queue.Tick{})
	}
}

// pushesMain reports whether main is asked to move.
func (w *world) pushesMain() bool {
	return slices.ContainsFunc(w.waits, func(a queue.Action) bool { _, lands := a.Task.(queue.Land); return lands })
}

// Nobody says what has become of the branches: main moves after a minute all the same, and
// what had moved is known when the forge tells.
func TestMainDoesNotWaitForBranches(t *testing.T) {
	w, p, a := squashing(t)
	begun := w.now
	w.branches.notes = func() bool { return false }
	w.carryOut(a) // and the answer is lost
	w.passesTo(begun.Add(moveWithin - time.Second))
	if w.pushesMain() {
		t.Error("main moves before it is known what has become of the branch")
	}
	w.passesTo(begun.Add(moveWithin + time.Second))
	if !w.pushesMain() {
		t.Fatal("main waits for the branch for longer than it should")
	}
	w.settleDown()
	w.noteAll()
	w.settleDown()
	w.mustBe(p, queue.Landed)
	if v := w.change(p).Verdict; !v.Along || !v.Closed || w.branches.closed != 1 {
		t.Errorf("%+v, %+v", v, w.branches)
	}
}

// The forge takes no note of the branch: main moves after head_wait.
func TestMainDoesNotWaitForTheForge(t *testing.T) {
	w, p, a := squashing(t)
	w.branches.notes = func() bool { return false }
	begun := w.now
	w.tell(w.carryOut(a)...)
	w.passesTo(begun.Add(9 * time.Second))
	if w.pushesMain() {
		t.Error("main moves before the forge has taken note, and before head_wait has passed")
	}
	w.passesTo(begun.Add(11 * time.Second))
	if !w.pushesMain() {
		t.Fatal("main waits for longer than head_wait")
	}
	w.settleDown()
	w.mustBe(p, queue.Landed)
}

// The forge cannot be asked whether it has taken note of the branch: main moves, and the queue
// closes the pull request itself, since the forge may never show it as merged.
func TestMainMovesWhereTheForgeCannotBeAsked(t *testing.T) {
	w, p, a := squashing(t)
	w.branches.notes = func() bool { return false }
	w.tell(w.carryOut(a)...)
	see := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, sees := a.Task.(queue.SeeHeads); return sees })
	if see < 0 {
		t.Fatalf("the forge is not asked: %v", w.waits)
	}
	failed := w.waits[see]
	w.waits = slices.Delete(slices.Clone(w.waits), see, see+1)
	w.tell(queue.Failed{Action: failed.Key, Error: "the forge is away"})
	w.settleDown()
	w.mustBe(p, queue.Landed)
	if v := w.change(p).Verdict; !v.Along || !v.Closed {
		t.Errorf("it counts as shown as merged: %+v", v)
	}
}

// The branch was moved for a push that was lost, and is back, and the forge has dismissed no
// approval. A reviewer who takes the approval back later has taken it back.
func TestApprovalTakenBackAfterALostPush(t *testing.T) {
	w, p, a := squashing(t)
	w.requires = true
	w.tell(w.carryOut(a)...)
	w.settleDown()
	w.mustBe(p, queue.Landed)
	p = w.open(w.main, edit{"b/code": "fine"})
	w.step(w.say(p, "dev", "/land"))
	w.mustReachPush()
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
	lost := w.mustTake("land")
	w.step(w.say(p, "boss", "/queue pause"))
	w.tell(lost...)
	w.quiesce()
	if ch := w.mustBe(p, queue.Pending); !ch.Kept || w.shows(p) != p.head {
		t.Fatalf("%+v", ch)
	}
	for range 4 { // looked at now and then, as events come
		w.pass(5 * time.Minute)
		w.tell(queue.Stirred{Number: p.number})
		w.quiesce()
	}
	p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	w.tell(queue.Stirred{Number: p.number})
	w.quiesce()
	w.step(w.say(p, "boss", "/queue resume"))
	w.waitOut()
	if ch := w.mustBe(p, queue.Parked); !waitsOutside(ch) {
		t.Errorf("%+v", ch.Reason)
	}
}

// Somebody asks for something that waits for the end of a push, which is lost, and the queue puts the
// head back: nobody has pushed since.
func TestCommandThatWaitsForAPushThatIsLost(t *testing.T) {
	w, p, a := squashing(t)
	w.tell(w.carryOut(a)...)
	w.step(w.saidAt(p, "boss", "/land now it burns", w.now))
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
	w.waitOut()
	if ch := w.mustBe(p, queue.Landed); ch.Now == nil || w.branches.returned == 0 {
		t.Errorf("%+v, and it was answered %+v", ch.Now, w.core.s.Pulls[p.number].Notice)
	}
}

// What was delegated before a push that is lost is so afterwards.
func TestDelegatedBeforeAPushThatIsLost(t *testing.T) {
	w, p, a := squashing(t)
	w.tell(w.carryOut(a)...)
	w.step(w.saidAt(p, "boss", "/land delegate @stranger", w.now))
	w.settleDown()
	w.mustBe(p, queue.Landed)
	p = w.open(w.main, edit{"b/code": "fine"})
	w.step(w.saidAt(p, "dev", "/land", w.now))
	w.step(w.saidAt(p, "boss", "/land delegate @stranger", w.now))
	w.mustReachPush()
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
	lost := w.mustTake("land")
	w.step(w.say(p, "boss", "/queue pause"))
	w.tell(lost...)
	w.quiesce()
	w.mustBe(p, queue.Pending)
	if q := w.core.s.Pulls[p.number]; len(q.Trusted) != 1 || q.Trusted[0].Head != p.head {
		t.Errorf("%+v", q.Trusted)
	}
}
