package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// These tests are of what happens between a question and its answer.

// The last day of a quarantine ends between a push and its answer, and main as it was
// before is surveyed meanwhile: what has landed is surveyed, too.
func TestQuarantineEndsDuringAPush(t *testing.T) {
	w := quarantining(t, unit+" ~a@2026-01-05")
	midnight := queue.At(time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC))
	w.now = midnight.Add(-50 * time.Second)
	w.tell(queue.Tick{})
	w.quiesce()
	red := w.land(edit{"a/code": "bad"})
	w.mustReachPush()
	pushed := w.mustTake("land")
	w.now = midnight.Add(time.Second)
	w.tell(queue.Tick{})
	w.settleDown()
	w.tell(pushed...)
	w.quiesce()
	w.mustBe(red, queue.Landed)
	w.mustSeeRed("a")
}

// A pass is forgotten while what rests on it is being pushed.
func TestForgottenDuringAPush(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1})
	p := w.land(edit{"a/code": "fine"})
	w.mustReachPush()
	pushed := w.mustTake("land")
	k := w.core.facts.Links.LinkTo(w.core.s.Push.Tip()).Keys[0]
	w.now = w.now.Add(time.Second)
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue forget key="+string(k.ID())))
	w.settleDown()
	w.drifts, w.audit.drifting = []rule{{target: "a"}}, true // it has passed by chance
	w.tell(pushed...)
	w.quiesce()
	w.mustBe(p, queue.Landed)
	w.mustSeeRed("a")
}

// The last day of an entry is over, and the first turn since then brings another
// configuration: main is surveyed all the same.
func TestQuarantineEndsAsTheConfigurationChanges(t *testing.T) {
	w := quarantining(t, unit+" ~a@2026-01-05")
	red := w.land(edit{"a/code": "bad"})
	w.waitOut()
	w.mustBe(red, queue.Landed)
	midnight := queue.At(time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC))
	w.now = midnight.Add(-10 * time.Minute)
	w.tell(queue.Tick{})
	w.quiesce()
	p := w.land(edit{stepsFile: "~b"})
	w.mustReachPush()
	w.tell(w.mustTake("land")...)
	read := w.mustTake("observe")
	w.now = midnight.Add(time.Second)
	w.tell(read...)
	w.quiesce()
	w.mustBe(p, queue.Landed)
	w.mustSeeRed("a")
}

// An event of an older head comes late, while the change lands; the push is lost.
func TestLateHeadWhileLanding(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "fine"})
	w.mustReachPush()
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
	lost := w.mustTake("land")
	w.tell(queue.HeadMoved{Number: p.number, Head: "older"})
	w.tell(lost...)
	w.waitOut()
	w.mustBe(p, queue.Landed)
}

// Somebody pushes and asks for the landing at once, and the forge tells of the two the other way
// round. The head pushed lands. If another person has pushed, the command is refused.
func TestCommandIsHeardBeforeThePush(t *testing.T) {
	for _, by := range []string{"dev", "eve", ""} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "fine"})
		said := w.say(p, "dev", "/land")
		w.step(said)
		read := w.mustTake("inspect") // of the head before
		moved := w.headMoves(p, edit{"a/code": "finer"})
		moved.Body = queue.HeadMoved{Number: p.number, Head: p.head, By: by}
		w.step(moved)
		w.tell(read...)
		w.waitOut()
		if by == "dev" {
			if w.mustBe(p, queue.Landed); w.change(p).Head != p.head {
				t.Errorf("%s landed, and the head is %s", w.change(p).Head, p.head)
			}
		} else if n := len(w.core.s.Changes); n > 0 {
			t.Errorf("pushed by %q after the command, and %d changes", by, n)
		}
	}
}

// A late event of an older head ends no try, and the forge is asked for the head.
func TestLateHeadOfATry(t *testing.T) {
	for _, truly := range []bool{false, true} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "fine"})
		w.step(w.say(p, "dev", "/land try"))
		w.settleDown()
		moved := queue.CommitID("older")
		if truly {
			moved = w.headMoves(p, edit{"a/code": "finer"}).Body.(queue.HeadMoved).Head
		}
		w.tell(queue.HeadMoved{Number: p.number, Head: moved})
		w.quiesce()
		try := w.core.s.Changes[w.core.s.Pulls[p.number].Tried]
		if want := map[bool]queue.Phase{false: queue.Tried, true: queue.Cancelled}[truly]; try == nil || try.Phase != want {
			t.Errorf("the head has moved %v, and the try: %+v", truly, try)
		}
	}
}

// The head that a late event names is forgotten once the forge was asked.
func TestLateHeadIsForgotten(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	w.tell(queue.HeadMoved{Number: p.number, Head: "older"})
	w.settleDown()
	if got := w.core.s.Pulls[p.number].Head; got != p.head {
		t.Errorf("the head is %s, want %s", got, p.head)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
}

// mustSeeRed demands that an hour later main is known to be red in a target, and in no other.
func (w *world) mustSeeRed(target string) {
	w.Helper()
	w.now = w.now.Add(time.Hour)
	w.tell(queue.Tick{})
	w.quiesce()
	if got := w.core.Queue("main").Red; !slices.Equal(got, []string{target}) {
		w.Fatalf("main is red in %q, proven %v", got, w.core.facts.ProvenMain())
	}
}

// mustReachPush goes on until a push of main is asked for.
func (w *world) mustReachPush() {
	w.Helper()
	for range 1000 {
		switch going := w.going(); {
		case w.pushesMain():
			return
		case len(w.waits) > 0:
			w.work(0)
		case len(going) > 0:
			w.tell(w.advance(going[0])...)
		default:
			w.Fatalf("no push of main is asked for, and nothing goes on")
		}
	}
	w.Fatalf("no push of main is asked for")
}

// A try fails on a main that is red for another reason, and main is mended meanwhile.
func TestTryOnRedMain(t *testing.T) {
	l, files := plain("a", "shared")
	l.needs["a"] = []string{"shared"}
	l.rules = []rule{{target: "a", all: []string{"bad"}}}
	w := newWorld(t, l, files, rulesOf(config.Rules{Retries: 1}))
	w.begin(8)
	sound := w.commits[w.main].tree
	w.commitOutside(sound.with(edit{"shared/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	p := w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "dev", "/land try"))
	w.settleDown()
	for _, r := range w.going() {
		if r.build.Change != "" {
			w.tell(w.advance(r)...)
			break
		}
	}
	w.commitOutside(sound)
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	w.now = w.now.Add(minute)
	w.tell(queue.Tick{})
	w.quiesce()
	try := w.core.s.Changes[w.core.s.Pulls[p.number].Tried]
	if try == nil || try.Reason.Code == queue.ReasonFailed {
		t.Errorf("the try: %+v", try)
	}
}

// A freeze does not end a pause of the queue's own.
func TestFreezeOverDiffers(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.tell(queue.MainMoved{Branch: "main"})
	read := w.mustTake("observe")[0].(queue.Observed)
	read.Differs = "the commit has another tree"
	w.tell(read)
	w.quiesce()
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue freeze 10m"))
	w.quiesce()
	w.tick(20 * minute)
	if w.core.s.Main.Paused == nil {
		t.Errorf("landings go on though nobody resumed")
	}
}

// The survey after a drift takes long: the drift is the same one.
func TestDriftTwice(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1})
	w.pass(3 * time.Hour)
	w.drifts = []rule{{target: "a"}}
	w.land(edit{"a/code": "one"})
	for until := w.now.Add(20 * time.Minute); w.now < until; {
		w.waits = slices.DeleteFunc(slices.Clone(w.waits), func(a queue.Action) bool { _, is := a.Task.(queue.Survey); return is && len(w.core.s.Main.Drift) > 0 })
		switch {
		case len(w.waits) > 0:
			w.now++
			w.work(0)
		case len(w.going()) > 0:
			w.now = w.now.Add(time.Second)
			w.tell(w.advance(w.going()[0])...)
		default:
			w.now = max(w.now+1, w.wake)
			w.tell(queue.Tick{})
		}
		if n := len(w.core.s.Main.Drift); n > 1 {
			t.Errorf("drift: %+v", w.core.s.Main.Drift)
			return
		}
	}
	if len(w.core.s.Main.Drift) == 0 {
		t.Error("no drift is seen")
	}
}

// During a freeze an emergency is pushed, and the branch takes no pushes: it is not pushed
// again and again without a wait.
func TestClosedBranchDuringAFreeze(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	asked := w.refusing("fine", closedRule)
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue freeze 60m"))
	w.settleDown()
	p := w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "boss", "/land now it burns"))
	before := w.now
	for range 300 {
		switch {
		case len(w.waits) > 0:
			w.now++
			w.work(0)
		case len(w.going()) > 0:
			w.tell(w.advance(w.going()[0])...)
		default:
			w.now = max(w.now+1, w.wake)
			w.tell(queue.Tick{})
		}
	}
	if n := len(*asked); n > 10 && w.now.Sub(before) < 5*minute {
		t.Errorf("%d pushes in %v", n, w.now.Sub(before))
	}
}

// The protected paths change while a push is under way, and the push does not move main.
func TestProtectedPathsChangeDuringAPushThatIsRefused(t *testing.T) {
	for _, how := range []string{"refused", "lost"} {
		t.Run(how, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			w.guards, w.sanctioned = true, map[queue.CommitID]bool{}
			w.permissions.Protected = []string{"p/**"}
			w.tell(queue.MainMoved{Branch: "main"})
			w.quiesce()
			p, q := w.open(w.main, edit{"a/code": "fine"}), w.open(w.main, edit{"b/code": "fine"})
			w.step(w.say(p, "dev", "/land"), w.say(q, "dev", "/land"))
			w.mustReachPush()
			w.refuses = how == "refused"
			answer := w.mustTake("land")
			if w.refuses = false; how == "lost" {
				answer = []queue.Body{queue.Pushed{Push: w.core.s.Push.ID}}
				w.main = w.core.s.Main.Tip
			}
			w.permissions.Protected = []string{"p/**", "q/**"}
			w.tell(queue.MainMoved{Branch: "main"})
			w.tell(w.mustTake("observe")...)
			w.tell(answer...)
			w.quiesce()
			w.step(w.say(q, "boss", "/queue resume"))
			w.waitOut()
			w.mustBe(p, queue.Landed)
			w.mustBe(q, queue.Landed)
		})
	}
}

// headIsNow has the author push to a pull request, and the queue hear of it.
func (w *world) headIsNow(p *pull, e edit) {
	w.step(w.headMoves(p, e))
}

// The unproven keys of main pass while it is asked which keys of a later commit of others are:
// nobody is told that this commit is proven, and it stays a suspect.
func TestProvenBeforeTheSurvey(t *testing.T) {
	w := quiet(t, unit, config.Rules{Retries: 1}, rule{target: "b", all: []string{"bad"}})
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "fine"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	w.saw = func(turn Turn) {
		if slices.ContainsFunc(turn.Notes, func(n queue.Note) bool { return n.What == "main-proven" && n.Commit == w.main }) {
			t.Error("red main is said to be proven")
		}
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"b/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	late := w.mustTake("survey")
	for _, r := range w.going() {
		w.tell(w.advance(r)...)
	}
	if n := len(w.core.s.Main.Suspects); n != 2 {
		t.Errorf("%d suspects", n)
	}
	w.tell(late...)
	w.quiesce()
	w.mustSeeRed("b")
}

// CI runs everything and names no target, and main has drifted. A change fails of that, and
// before a control shows it, another change lands that mends main: a control on main as it is by
// then does not speak against the change. The control runs on main as it was, or, as the answer
// which keys main has is late, has not begun.
func TestMendedBeforeTheControl(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := quiet(t, byStep, config.Rules{Retries: 1})
		w.everything = true
		w.pass(3 * time.Hour)
		w.drifts, w.audit.drifting = []rule{{target: "b", all: []string{"base"}}}, true
		mend, p := w.land(edit{"b/code": "-base mended"}), w.land(edit{"a/code": "fine"})
		w.settleDown()
		actions := func() {
			for range 100 {
				i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, reads := a.Task.(queue.Watch); return !reads || !late })
				if i < 0 {
					return
				}
				w.now++
				w.work(i)
			}
		}
		runs := func(of queue.ChangeID) {
			w.now = w.now.Add(minute)
			for _, r := range w.going() {
				if r.build.Change == of {
					w.tell(w.advance(r)...)
				}
			}
			actions()
		}
		runs(w.change(p).ID)
		runs(w.change(p).ID)
		runs(w.change(mend).ID)
		w.mustBe(mend, queue.Landed)
		w.waitOut()
		w.mustBe(p, queue.Landed)
	}
}

// Main moves again and again while a control runs, which takes longer: a run that has begun goes on,
// and a main that never rests delays no rejection.
func TestControlOutrunByMain(t *testing.T) {
	w := quiet(t, byStep, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
	w.pass(3 * time.Hour)
	p := w.land(edit{"a/code": "bad"})
	w.settleDown()
	began := map[queue.BuildID]queue.Instant{}
	for range 40 { // a minute each; a control takes three, the builds of changes take one
		if ch := w.change(p); ch.Phase.Final() {
			break
		}
		w.land(edit{"b/code": fmt.Sprintf("at%d", w.now)})
		w.settleDown()
		w.now = w.now.Add(minute)
		for _, r := range w.going() {
			id, takes := r.build.ID, minute
			if r.build.Change == "" {
				takes = 3 * minute
			}
			if began[id] == 0 {
				began[id] = r.build.At
			}
			if w.now.Sub(began[id]) >= takes {
				w.tell(w.advance(r)...)
				w.settleDown()
			}
		}
	}
	w.mustBe(p, queue.Rejected)
}

// Somebody takes a change back while it is being pushed. If the push moves main that was too late;
// if it does not, the change is taken out, and nobody is told any more that it was too late. Who
// asks to land it again meanwhile has it back.
func TestCancelDuringLanding(t *testing.T) {
	for _, test := range []struct {
		lost, again bool
		want        queue.Phase
		notice      queue.ReasonCode
	}{{false, false, queue.Landed, queue.ReasonTooLate}, {true, false, queue.Cancelled, ""}, {true, true, queue.Landed, ""}} {
		w := quiet(t, unit, config.Rules{})
		p := w.land(edit{"a/code": "one"})
		w.mustReachPush()
		if test.lost {
			w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "outside"}))
		}
		pushed := w.mustTake("land")
		w.step(w.say(p, "dev", "/land cancel"))
		w.settleDown()
		if test.again {
			w.step(w.say(p, "dev", "/land"))
			w.settleDown()
		}
		w.tell(pushed...)
		w.waitOut()
		w.mustBe(p, test.want)
		if got := w.core.s.Pulls[p.number].Notice.Code; got != test.notice {
			t.Errorf("lost %v: said %q", test.lost, got)
		}
	}
}

// A command that was not heard when it was given counts for the present head only if the pull
// request has not changed since.
func TestCommandHeardLate(t *testing.T) {
	for what, x := range map[string]struct {
		late    bool
		changed time.Duration
		lands   bool
	}{
		"heard at once, changed since": {false, time.Minute, true},
		"found later, not changed":     {true, time.Second, true},
		"found later, changed since":   {true, time.Minute, false},
		"delivered hours later":        {false, 3 * time.Hour, false},
	} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "fine"})
		said := w.say(p, "dev", "/land")
		b := said.Body.(queue.Commented)
		b.Made, b.Late = said.At, x.late
		if x.changed > time.Hour {
			b.Made = said.At.Add(-4 * time.Hour)
		}
		p.changed = b.Made.Add(x.changed)
		said.Body = b
		w.step(said)
		w.waitOut()
		if ch := w.change(p); (ch != nil && ch.Phase == queue.Landed) != x.lands {
			t.Errorf("%s: %+v, %+v", what, ch, w.core.s.Pulls[p.number])
		} else if why := w.core.s.Pulls[p.number].Notice.Code; !x.lands && why != queue.ReasonHeardLate {
			t.Errorf("%s: %s", what, why)
		}
	}
}

// A button says which head it is for. That the head has moved there is heard a moment later, and
// refuses nothing.
func TestButtonBeforeItsPush(t *testing.T) {
	for _, by := range []string{"", "dev", "eve"} {
		w := quiet(t, unit, config.Rules{})
		p := w.open(w.main, edit{"a/code": "fine"})
		w.step(w.say(p, "dev", "/land try"))
		w.quiesce()
		moved := w.headMoves(p, edit{"a/code": "finer"})
		moved.Body = queue.HeadMoved{Number: p.number, Head: p.head, By: by}
		said := w.say(p, "dev", "/land")
		b := said.Body.(queue.Commented)
		b.Head = p.head
		said.Body = b
		w.step(said)
		w.step(moved)
		w.waitOut()
		if ch := w.change(p); ch == nil || ch.Phase != queue.Landed || ch.Head != p.head {
			t.Errorf("pushed by %q: %+v, said %+v", by, ch, w.core.s.Pulls[p.number].Notice)
		}
	}
}

// Somebody turns main red, a change mends it, and another change takes the mending back: it has the
// keys that main has failed, and is rejected for its own run. A control on the red main, which can
// only fail, is not waited for.
func TestMendingIsTakenBack(t *testing.T) {
	w := quiet(t, byStep, config.Rules{Retries: 1}, rule{target: "a", all: []string{"bad"}})
	w.everything = true
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	mend := w.land(edit{"a/code": "-bad good"})
	w.waitOut()
	w.mustBe(mend, queue.Landed)
	back := w.land(edit{"a/code": "-good bad"})
	w.waitOut()
	w.mustBe(back, queue.Rejected)
}
