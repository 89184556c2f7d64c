package speculation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// tower opens pull requests on top of each other, each in an area of its own.
func tower(t *testing.T, n int) (*world, []*pull) {
	t.Helper()
	l, files := law{needs: map[string][]string{}}, tree{barrier: "go1", unowned: "data", stepsFile: unit}
	for i := range n {
		l.targets = append(l.targets, fmt.Sprintf("t%02d", i))
		files[fileOf(l.targets[i])] = "base"
	}
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	pulls := []*pull{w.open(w.main, edit{fileOf(l.targets[0]): "one"})}
	for i := 1; i < n; i++ {
		pulls = append(pulls, w.openOn(pulls[i-1], edit{fileOf(l.targets[i]): "one"}))
	}
	return w, pulls
}

// The highest stack that there may be, asked for from the top, lands from the
// bottom, in order.
func TestHighestStack(t *testing.T) {
	storetest.OneOf(t, 2)
	w, pulls := tower(t, queue.MaxStack+1)
	w.audit.off = true // it makes each turn three times
	for _, p := range slices.Backward(pulls) {
		w.step(w.say(p, "dev", "/land"))
	}
	w.waitOut()
	w.audit.final()
	var landed []int
	for _, id := range w.audit.before(w.main) {
		landed = append(landed, w.core.State().Changes[id].Number)
	}
	if len(landed) != len(pulls) || !slices.IsSorted(landed) {
		t.Errorf("landed: %v", landed)
	}
}

func TestStackThatIsTooHigh(t *testing.T) {
	w, pulls := tower(t, queue.MaxStack+2)
	top := pulls[len(pulls)-1]
	w.step(w.say(top, "dev", "/land"))
	w.quiesce()
	if p := w.core.State().Pulls[top.number]; p.Active != "" || p.Notice.Code != queue.ReasonStackDeep {
		t.Errorf("the answer is %+v", p)
	}
	w.step(w.say(pulls[len(pulls)-2], "dev", "/land"))
	w.quiesce()
	if ch := w.change(pulls[len(pulls)-2]); ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonParent {
		t.Errorf("the highest that there may be is %s, %+v", ch.Phase, ch.Reason)
	}
}

// Two pull requests ask for each other's branches, one after the other, and the
// queue hears of it in the worst order: both are on top of the other for it at one
// moment, and neither hangs.
func TestStackThatTurnsOver(t *testing.T) {
	w, pulls := tower(t, 2)
	low, high := pulls[0], pulls[1]
	w.step(w.say(high, "dev", "/land"))
	w.quiesce()
	high.base, low.base = "main", branchOf(high)
	w.audit.moved[low.number], w.audit.moved[high.number] = true, true
	w.step(w.say(low, "dev", "/land")) // the one on top is still taken to be
	w.quiesce()
	if n := w.core.State().Pulls[low.number].Notice; n.Code != queue.ReasonStackCircle {
		t.Errorf("the answer is %+v", n)
	}
	w.tell(queue.Retargeted{Number: high.number})
	w.step(w.say(low, "dev", "/land"))
	w.waitOut()
	w.audit.final()
	if a, b := w.change(high), w.change(low); a.Phase != queue.Landed || b.Phase != queue.NothingToLand {
		t.Errorf("%s and %s", a.Phase, b.Phase)
	}
}

// The change below is merged by hand: the one on top lands on main.
func TestStackMergedByHand(t *testing.T) {
	w, pulls := tower(t, 2)
	w.step(w.say(pulls[0], "boss", "/queue pause"))
	for _, p := range pulls {
		w.step(w.say(p, "dev", "/land"))
	}
	w.quiesce()
	c, _ := w.merge(w.main, queue.Pick{Head: pulls[0].head})
	w.commitOutside(c.tree)
	pulls[0].open, pulls[0].merged = false, true
	w.tell(queue.Closed{Number: pulls[0].number, Merged: true})
	w.quiesce()
	if ch := w.change(pulls[1]); ch.Parent != 0 || ch.Phase != queue.Pending {
		t.Errorf("the one on top is %+v", ch)
	}
	w.step(w.say(pulls[1], "boss", "/queue resume"))
	w.waitOut()
	if low, high := w.change(pulls[0]), w.change(pulls[1]); low.Phase != queue.Cancelled || high.Phase != queue.Landed {
		t.Errorf("%s and %s", low.Phase, high.Phase)
	}
}

// A push is lost or refused after the forge has been told to show the one on top
// against main. No person did that, so it stays on top, and is not in the queue
// without the one below.
func TestStackWhosePushFails(t *testing.T) {
	for name, fail := range map[string]func(*world){
		"lost": func(w *world) {
			w.commitOutside(tree{barrier: "go1", unowned: "data", stepsFile: unit, fileOf("t00"): "x", fileOf("t01"): "x"})
		},
		"refused": func(w *world) { w.refuses = true },
	} {
		t.Run(name, func(t *testing.T) {
			w, pulls := tower(t, 2)
			low, high := pulls[0], pulls[1]
			w.step(w.say(low, "boss", "/queue pause"), w.say(high, "dev", "/land"), w.say(low, "dev", "/land"))
			w.quiesce()
			w.step(w.say(low, "boss", "/queue resume"))
			w.mustReachLanding(high)
			if ch := w.change(low); ch.Phase != queue.Landing {
				t.Fatalf("the one below is %s", ch.Phase)
			}
			fail(w)
			w.settleDown()
			if high.base != "main" {
				t.Fatalf("the one on top asks for %s", high.base)
			}
			w.refuses = false
			w.step(w.say(low, "dev", "/land cancel"))
			w.settleDown()
			w.tell(queue.Retargeted{Number: high.number}) // late, or once more
			w.step(w.say(low, "boss", "/queue resume"))
			w.settleDown()
			w.quiesce()
			if ch := w.change(high); ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonParent || ch.Parent != low.number {
				t.Errorf("the one on top of what was taken out is %s, %+v, on top of %d", ch.Phase, ch.Reason, ch.Parent)
			}
		})
	}
}

// A change below another is in the lists of those that conflict with the other only,
// so these are made again when its place changes.
func TestStackThatMovesInTheOrder(t *testing.T) {
	l, files := plain("a", "b", "c")
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue pause"))
	first := w.open(w.main, edit{"c/code": "one"})
	low := w.open(w.main, edit{"a/code": "one"})
	high := w.openOn(low, edit{"b/code": "one"})
	last := w.open(w.main, edit{"b/code": "two", "c/code": "two"})
	for _, p := range []*pull{first, low, high, last} {
		w.step(w.say(p, "dev", "/land"))
		w.now++
	}
	w.quiesce()
	w.core.landing.sortOrder()
	id := w.change(last).ID
	if got, want := w.core.facts.Order.FirstAhead(id), []queue.ChangeID{w.change(first).ID, w.change(low).ID, w.change(high).ID}; !slices.Equal(got, want) {
		t.Fatalf("ahead: %v, want %v", got, want)
	}
	w.core.s.Changes[w.change(low).ID].Virtual = w.change(first).Virtual - 1
	w.core.touchChange(w.core.s.Changes[w.change(low).ID])
	w.core.facts.Order.ForgetAhead(w.change(low).ID, 0)
	w.core.landing.sortOrder()
	if got, want := w.core.facts.Order.FirstAhead(id), w.core.facts.Order.Ahead(id); !slices.Equal(got, want) {
		t.Errorf("ahead: %v, made again %v", got, want)
	}
}

// A try builds what landing would: of a change that is on top of one which has
// landed as another commit, what it adds to that one.
func TestTryOnTopOfWhatWasSquashed(t *testing.T) {
	for _, words := range []string{"/land try", "/land"} {
		w := quiet(t, unit, config.Rules{Landing: config.Landing{Method: config.MethodSquash, Methods: []config.Method{config.MethodSquash}}})
		low := w.open(w.main, edit{"x/a": "one -text"})
		high := w.openOn(low, edit{"x/a": "two -one"})
		w.step(w.say(low, "dev", "/land"))
		w.quiesce()
		w.mustBe(low, queue.Landed)
		high.base = "main"
		w.step(w.say(high, "dev", words))
		w.quiesce()
		p := w.core.State().Pulls[high.number]
		ch := w.core.State().Changes[max(p.Tried, p.Last)]
		if ch == nil || ch.Phase != queue.Tried && ch.Phase != queue.Landed || ch.Reason.Code == queue.ReasonMergeConflict {
			t.Errorf("%s: %+v", words, ch)
		}
	}
}

// A pull request is made to ask for main though the one below it has not landed: it brings all
// that it shows there.
func TestRetargetedToMainWithoutTheOneBelow(t *testing.T) {
	for _, how := range []string{"merge", "squash", "merge, unheard"} {
		method, unheard := strings.CutSuffix(how, ", unheard")
		t.Run(how, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{Landing: config.Landing{Method: config.MethodSquash, Methods: []config.Method{config.MethodSquash, config.MethodMerge}}})
			low := w.open(w.main, edit{"a/code": "one"})
			high := w.openOn(low, edit{"b/code": "two"})
			w.audit.moved[high.number] = true
			w.step(w.say(w.open(w.main, edit{}), "boss", "/queue pause"))
			w.quiesce()
			w.step(w.say(low, "dev", "/land"), w.say(high, "dev", "/land method="+method))
			w.quiesce()
			w.step(w.say(low, "dev", "/land cancel"))
			w.quiesce()
			if ch := w.change(high); ch.Phase != queue.Parked {
				t.Fatalf("%+v", ch)
			}
			high.base = "main"
			if unheard {
				w.step(w.say(high, "dev", "/land"))
			} else {
				w.tell(queue.Retargeted{Number: high.number})
			}
			w.quiesce()
			w.step(w.say(low, "boss", "/queue resume"))
			w.waitOut()
			w.mustBe(high, queue.Landed)
			if got := w.commits[w.main].tree; !setOf(got["a/code"])["one"] || !setOf(got["b/code"])["two"] {
				t.Errorf("main is %v", got)
			}
		})
	}
}

// A pull request in the order is made to ask for main, and the one below it is then taken out: it
// goes on without it.
func TestBelowIsTakenOutAfterARetarget(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	low := w.open(w.main, edit{"a/code": "one"})
	high := w.openOn(low, edit{"b/code": "two"})
	w.audit.moved[high.number] = true
	pause := w.open(w.main, edit{})
	w.step(w.say(pause, "boss", "/queue pause"))
	w.quiesce()
	w.step(w.say(low, "dev", "/land"), w.say(high, "dev", "/land"))
	w.quiesce()
	high.base = "main"
	w.tell(queue.Retargeted{Number: high.number})
	w.quiesce()
	w.step(w.say(low, "dev", "/land cancel"))
	w.quiesce()
	w.step(w.say(pause, "boss", "/queue resume"))
	w.waitOut()
	w.tick(48 * time.Hour)
	w.mustBe(high, queue.Landed)
}

// Others merge the lower pull request while the forge is asked about the upper one: its answer is of
// before that, and nothing else will happen to either.
func TestLowerIsMergedWhileTheUpperIsLookedAt(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	low := w.open(w.main, edit{"a/code": "one"})
	high := w.openOn(low, edit{"b/code": "two"})
	w.step(w.say(high, "dev", "/land"))
	answer := w.mustTake("inspect")
	c, _ := w.merge(w.main, queue.Pick{Head: low.head})
	low.open, low.merged = false, true
	w.commitOutside(c.tree)
	w.tell(queue.MainMoved{Branch: "main"}, queue.Closed{Number: low.number, Merged: true})
	w.settleDown()
	w.tell(answer...)
	w.waitOut()
	w.mustBe(high, queue.Landed)
}
