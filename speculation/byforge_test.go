package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// merging is a world whose forge merges what lands by squash itself.
func merging(t *testing.T) *world {
	w := quiet(t, unit, config.Rules{Landing: config.Landing{Method: config.MethodSquash, Methods: []config.Method{config.MethodMerge}, MergeAPI: config.MergeAPIOn}})
	w.branches = &branches{of: map[int]*branch{}, declines: func() bool { return false }}
	return w
}

// seeThrough has a pull request land by itself.
func (w *world) seeThrough(p *pull) {
	w.Helper()
	w.step(w.say(p, "dev", "/land"))
	for range 200 {
		if w.settleDown(); w.change(p).Phase.Final() {
			return
		}
		for _, b := range w.going() {
			w.now = w.now.Add(minute)
			w.tell(w.advance(b)...)
		}
	}
	w.Fatalf("%+v", w.change(p))
}

// What the forge has made is the landing: main is as proven as before, and what comes next
// stands on it.
func TestForgeMerges(t *testing.T) {
	w := merging(t)
	first, second := w.open(w.main, edit{"a/code": "fine"}), w.open(w.main, edit{"b/code": "fine"})
	w.seeThrough(first)
	m := w.core.State().Main
	if v := w.change(first).Verdict; !v.ByForge || v.Unproven || v.Tested || v.Keys == 0 || v.Commit != w.main || m.Tip != w.main || m.Surveyed != w.main || len(m.Suspects) > 0 {
		t.Errorf("%+v; main is %+v", v, m)
	}
	w.seeThrough(second)
	if w.branches.byForge != 2 || len(w.branches.of) > 0 {
		t.Errorf("%+v", w.branches)
	}
}

// Where somebody else has pushed right before, main is verified like after any push of
// others, and the verdict claims no proof.
func TestForgeMergesOnOthers(t *testing.T) {
	w := merging(t)
	p := w.open(w.main, edit{"a/code": "fine"})
	w.branches.declines = func() bool { // at the moment of the call
		c, _ := w.merge(w.main, queue.Pick{Head: w.open(w.main, edit{"b/code": "other"}).head})
		w.commits[c.id].change, w.commits[c.id].head = "", ""
		at := w.core.State().Push
		made, _ := w.merge(c.id, pickOf(w.core.State().Changes[at.Changes[0]]))
		x := *made
		x.id = "forge" + x.id
		w.commits[x.id], w.main = &x, x.id
		w.audit.ours[x.id] = slices.Clone(at.Changes)
		w.pulls[1].open, w.pulls[1].merged = false, true
		return true
	}
	epoch := w.core.State().Main.Line.Epoch
	w.step(w.say(p, "dev", "/land"))
	for range 50 {
		if len(w.waits) > 0 && !w.pushesMain() {
			w.work(0)
		} else if w.pushesMain() {
			break
		} else {
			for _, b := range w.going() {
				w.tell(w.advance(b)...)
			}
		}
	}
	i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, lands := a.Task.(queue.Land); return lands })
	if i < 0 {
		t.Fatal("nothing is pushed")
	}
	a := w.waits[i]
	w.waits = slices.Delete(slices.Clone(w.waits), i, i+1)
	w.branches.declines()
	w.tell(queue.Pushed{Action: a.Key, Push: w.core.State().Push.ID})
	w.settleDown()
	m := w.core.State().Main
	if v := w.change(p).Verdict; w.change(p).Phase != queue.Landed || !v.ByForge || !v.Unproven || v.Keys != 0 || m.Line.Epoch == epoch || w.core.State().Push != nil || len(m.Suspects) == 0 {
		t.Errorf("%+v; main is %+v", v, m)
	}
}

// A refusal has the push go the usual way, once; one that is late counts for nothing.
func TestForgeDeclines(t *testing.T) {
	w := merging(t)
	w.branches.declines = func() bool { return true }
	p := w.open(w.main, edit{"a/code": "fine"})
	late := queue.Pushed{}
	w.audit.looks = func() {
		if push := w.core.State().Push; push != nil && !push.ByForge && late.Push == "" {
			late = queue.Pushed{Push: push.ID, Declined: "late"}
			w.mail = append(w.mail, w.event(late))
		}
	}
	w.seeThrough(p)
	if v := w.change(p).Verdict; late.Push == "" || v.ByForge || !v.Along || v.Closed || w.branches.byForge != 0 || w.branches.merged != 1 {
		t.Errorf("%+v, %+v", v, w.branches)
	}
}

// The forge is not asked for what lands by another method, or has another pull request on
// top of it.
func TestForgeIsAskedForSinglesAlone(t *testing.T) {
	w := merging(t)
	w.branches.declines = nil // it fails where it is asked
	low := w.open(w.main, edit{"a/code": "fine"})
	high := w.open(low.head, edit{"b/code": "fine"})
	high.base = branchOf(low)
	w.step(w.say(high, "dev", "/land"), w.say(low, "dev", "/land"))
	w.seeThrough(low)
	other := w.open(w.main, edit{"c/code": "fine"})
	w.step(w.say(other, "dev", "/land method=merge"))
	w.seeThrough(other)
	w.mustBe(other, queue.Landed)
}
