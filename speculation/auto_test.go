package speculation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// autoRules are a rule by what a list shows, in a lane, and one by what the forge is asked for.
func autoRules(lane string) config.Rules {
	return config.Rules{Lanes: config.DefaultLanes(), DefaultLane: "normal", Admission: config.Admission{Auto: []config.Auto{
		{Name: "byLabel", Labels: []string{"ready"}, Priority: lane},
		{Name: "byCheck", Authors: []string{"robo[bot]"}, Checks: []string{"ci"}},
	}}}
}

// rulings says what the rules say of a pull request as it is.
func (w *world) rulings(p *pull) (out []queue.Ruling) {
	for _, a := range w.rules.Auto {
		r := queue.Ruling{Rule: a.Name}
		if l := a.LacksLabels(p.labels); len(l) > 0 {
			r.Lacks = append(r.Lacks, queue.Lack{Kind: queue.LackLabels, Names: l})
		}
		if len(a.Authors) > 0 && !a.Names(cmp.Or(p.author, "dev")) {
			r.Lacks = append(r.Lacks, queue.Lack{Kind: queue.LackAuthor})
		}
		if len(a.Checks) > 0 && !p.green {
			r.Lacks = append(r.Lacks, queue.Lack{Kind: queue.LackChecks})
		}
		out = append(out, r)
	}
	return out
}

// offer is what a webhook shows of a pull request.
func (w *world) offer(p *pull) queue.Offered {
	return queue.Offered{Number: p.number, Head: p.head, Base: p.base, Author: cmp.Or(p.author, "dev"), Draft: p.draft, Labels: slices.Clone(p.labels)}
}

func (w *world) looksAt(p *pull) (n int) {
	for _, a := range w.waits {
		if t, is := a.Task.(queue.Inspect); is && t.Number == p.number {
			n++
		}
	}
	return n
}

func TestAutoEntersAsACommandDoes(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	other := w.open(w.main, edit{"a/code": "other"})
	other.base, other.labels = "release", []string{"ready"}
	if w.tell(w.offer(other)); w.core.State().Pulls[other.number] != nil {
		t.Error("what another queue may have is remembered")
	}
	p := w.open(w.main, edit{"a/code": "one"})
	w.tell(w.offer(p), queue.Stirred{Number: p.number}, queue.Stirred{Head: p.head})
	if n := w.looksAt(p); n != 0 {
		t.Errorf("%d looks at what no rule can hold for", n)
	}
	p.labels = []string{"Ready"}
	w.tell(queue.Labeled{Number: p.number, Label: "Ready", Actor: "robo[bot]", On: true, Bot: true}, w.offer(p))
	if n := w.looksAt(p); n != 1 {
		t.Errorf("%d looks at one event", n)
	}
	w.quiesce()
	if ch := w.change(p); w.phases(p) != "landed landed" || ch.Rule != "byLabel" || ch.Lane != "high" || !ch.Own {
		t.Errorf("%s: %+v", w.phases(p), ch)
	}
}

// Where many checks end, the looks become rarer; the last of them is looked at.
func TestAutoLooksRarelyAtManyChecks(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	p := w.open(w.main, edit{"a/code": "one"})
	p.author = "robo[bot]"
	looks := 0
	w.saw = func(turn Turn) {
		for _, a := range turn.Actions {
			if _, is := a.Task.(queue.Inspect); is {
				looks++
			}
		}
	}
	w.tell(w.offer(p))
	for range 600 {
		w.settleDown()
		w.now = w.now.Add(time.Second)
		w.tell(queue.Stirred{Head: p.head})
	}
	if looks < 5 || looks > 20 {
		t.Errorf("%d looks in 10 minutes with a check each second", looks)
	}
	p.green = true
	w.tell(queue.Stirred{Head: p.head})
	from := w.now
	for range 100 {
		w.quiesce()
		if w.core.State().Pulls[p.number].Last != "" {
			break
		}
		w.now = max(w.wake, w.now+1)
		w.tell(queue.Tick{})
	}
	if w.phases(p) != "landed landed" || w.now.Sub(from) > 2*time.Minute {
		t.Errorf("%s after %s", w.phases(p), w.now.Sub(from))
	}
}

// What is shown while a look is under way is looked at, too.
func TestAutoLooksAgainAtWhatChangesMeanwhile(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	p := w.open(w.main, edit{"a/code": "one"})
	p.labels = []string{"ready"}
	w.tell(w.offer(p))
	i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, is := a.Task.(queue.Inspect); return is })
	seen := w.carryOut(w.waits[i]) // read with the label
	w.waits = slices.Delete(w.waits, i, i+1)
	p.labels = nil
	w.tell(queue.Labeled{Number: p.number, Label: "ready", Actor: "dev"}, w.offer(p))
	w.tell(seen...)
	w.quiesce()
	if q := w.core.State().Pulls[p.number]; q.Active != "" || q.Last != "" {
		t.Error("it has entered without its label")
	}
}

// A command puts in what a command has taken out; then the head has its turn again.
// Webhooks and lists arrive in any order, and a webhook that did not arrive is sent again:
// the newest by the forge's clock counts, and of one second what may have a rule hold. The
// look tells the truth.
func TestAutoNewestOfferCounts(t *testing.T) {
	rules := config.Rules{Admission: config.Admission{Auto: []config.Auto{{Name: "both", Labels: []string{"ready"}, Checks: []string{"ci"}}}}}
	for name, c := range map[string]struct {
		older  time.Duration // of what shows no label, before what shows it
		first  bool          // it arrives first
		enters bool
	}{
		"an older list behind the webhook":       {time.Second, false, true},
		"an older webhook behind the list":       {time.Minute, false, true},
		"in order":                               {time.Second, true, true},
		"of the same second, the older behind":   {0, false, true},
		"of the same second, the older first":    {0, true, true},
		"the label is taken off since, and told": {-time.Second, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t, unit, rules)
			p := w.open(w.main, edit{"a/code": "one"})
			without := w.offer(p)
			without.At = w.now
			p.labels = []string{"ready"}
			with := w.offer(p)
			with.At = w.now.Add(c.older)
			told := []queue.Offered{with, without}
			if c.first {
				told = []queue.Offered{without, with}
			}
			for _, o := range told {
				w.tell(o)
				w.quiesce()
			}
			if !c.enters {
				p.labels = nil
			}
			p.green = true
			w.tell(queue.Stirred{Head: p.head})
			w.settleDown()
			w.now = max(w.now, w.wake) // checks are waited for
			w.tell(queue.Tick{})
			w.quiesce()
			if entered := w.core.State().Pulls[p.number].Last != ""; entered != c.enters {
				t.Fatalf("it has landed: %v, after %+v", entered, w.core.State().Pulls[p.number].Auto)
			}
		})
	}
}

// A label that is taken off within a second of its setting is off.
func TestAutoLabelTakenOffAtOnce(t *testing.T) {
	w := quiet(t, unit, config.Rules{Admission: config.Admission{Auto: []config.Auto{{Name: "ready", Labels: []string{"ready"}}}}})
	p := w.open(w.main, edit{"a/code": "one"})
	p.labels = []string{"ready"}
	on := w.offer(p)
	on.At = w.now
	p.labels = nil
	off := w.offer(p)
	off.At = w.now
	w.tell(queue.Labeled{Number: p.number, Label: "ready", Actor: "dev", On: true}, on, queue.Labeled{Number: p.number, Label: "ready", Actor: "dev"}, off)
	w.quiesce()
	if a := w.core.State().Pulls[p.number]; a.Last != "" || len(a.Auto.Offered.Labels) > 0 {
		t.Errorf("it is remembered as %+v", a.Auto)
	}
}

// ruledThenLost has a rule enter a pull request with labels, and returns the answer to the push of
// it, which has lost against somebody else's.
func (w *world) ruledThenLost(labels ...string) (p *pull, lost []queue.Body) {
	w.Helper()
	p = w.open(w.main, edit{"a/code": "one"})
	p.labels = labels
	w.tell(w.offer(p))
	w.mustReachPush()
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
	return p, w.mustTake("land")
}

// The label of a rule is taken off while the change lands, and the push is lost.
func TestAutoLabelTakenOffDuringAPushThatIsLost(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	p, lost := w.ruledThenLost("ready")
	p.labels = nil
	w.tell(queue.Labeled{Number: p.number, Label: "ready", Actor: "dev"}, w.offer(p))
	w.tell(lost...)
	w.waitOut()
	if ch := w.mustBe(p, queue.Cancelled); ch.Reason.Code != queue.ReasonUnruled {
		t.Errorf("%+v", ch.Reason)
	}
}

func TestAutoAfterCommands(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	pause := w.open(w.main, edit{"b/code": "x"})
	w.step(w.say(pause, "boss", "/queue pause"))
	w.quiesce()
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land cancel")) // before it has entered
	w.quiesce()
	p.labels = []string{"ready"}
	enter := func(want bool, after string) {
		t.Helper()
		w.tell(w.offer(p))
		w.now = w.now.Add(2 * time.Hour) // nor by the sweep
		w.tell(w.offer(p))
		w.quiesce()
		if in := w.core.State().Pulls[p.number].Active != ""; in != want {
			t.Errorf("%s: in the queue: %v", after, in)
		}
	}
	enter(false, "kept out")
	w.step(w.say(p, "dev", "/land"))
	enter(true, "/land")
	p.draft = true
	w.tell(queue.Retargeted{Number: p.number}, w.offer(p))
	enter(false, "a draft")
	p.draft = false
	enter(true, "ready again")
	w.step(w.say(p, "dev", "/land cancel"))
	enter(false, "taken out")
	p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(edit{"a/code": "two"})}).id
	w.tell(queue.HeadMoved{Number: p.number, Head: p.head})
	enter(true, "another head")
}

// TestAnyHistoryWithAuto: whatever people do, and whatever is lost, late or said twice, no
// rule enters a head that people have taken out, that has had a verdict, or that is a
// draft's; and a head enters by a rule at most once more than people have given a reason to.
func TestAnyHistoryWithAuto(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.rules.Auto = autoRules("").Auto
		h.requires = true
		h.begin(rapid.IntRange(1, 6).Draw(rt, "slots"))

		h.faulty()
		shut, kept, entered, reasons := map[string]string{}, map[int]bool{}, map[string]int{}, map[int]int{}
		h.saw = func(turn Turn) {
			for _, n := range turn.Notes {
				ch := h.core.State().Changes[n.Change]
				if ch == nil {
					continue
				}
				at := fmt.Sprint(ch.Number, "@", ch.Head)
				switch {
				case n.What == "entered" && ch.Rule == "":
					delete(shut, at)
				case n.What == "entered":
					if why := shut[at]; why != "" {
						rt.Fatalf("%s enters by %s, and was %s", at, ch.Rule, why)
					}
					if entered[at]++; entered[at] > 1+reasons[ch.Number] {
						rt.Fatalf("%s has entered %d times, of which people asked for %d", at, entered[at], reasons[ch.Number])
					}
				case n.What == "rejected", n.What == "cancelled" && n.Reason.Code == queue.ReasonCancelled:
					shut[at] = n.What
				}
			}
		}
		for range rapid.IntRange(10, 60).Draw(rt, "events") {
			h.now = h.now.Add(time.Duration(1+h.pick(90, "seconds")) * time.Second)
			switch n := h.pick(100, "what"); {
			case n < 25:
				h.act()
			case n < 40:
				h.build()
			case n < 46:
				h.deliver()
			case n < 50:
				h.mustRestart()
			case n < 55:
				h.quiesce()
			case n < 62:
				h.tell(queue.Tick{})
			default:
				h.ruled(reasons, kept)
			}
		}
		for _, p := range h.pulls {
			p.lacks = nil
		}
		h.calm()
		for range 10 { // as the sweep does
			h.now = h.now.Add(2 * time.Hour)
			for _, n := range slices.Sorted(maps.Keys(h.pulls)) {
				if p := h.pulls[n]; p.open && h.core.Offers(h.offer(p)) {
					h.tell(h.offer(p))
				}
			}
			h.waitOut()
		}
		for n, p := range h.pulls {
			at := fmt.Sprint(n, "@", p.head)
			q := h.core.State().Pulls[n]
			holds := slices.ContainsFunc(h.rulings(p), func(r queue.Ruling) bool { return len(r.Lacks) == 0 })
			if p.open && !p.draft && p.base == "main" && holds && (q == nil || q.Active == "" && q.Last == "") && !kept[n] {
				rt.Errorf("a rule holds for %s, and it never entered", at)
			}
		}
		h.audit.final()
	})
}

// ruled is something that people, or checks, do by which a rule may hold or not. The
// queue hears of it, late, twice or not at all.
func (h *history) ruled(reasons map[int]int, kept map[int]bool) {
	h.Helper()
	p := h.somePull()
	if p == nil || h.chance(25, "another") {
		at := h.line(h.main)
		from := at[h.pick(min(len(at), 3), "from")].id
		p = h.open(from, h.edit(h.commits[from].tree))
		p.author = []string{"", "robo[bot]"}[h.pick(2, "author")]
	}
	reasons[p.number]++
	var said []queue.Body
	switch h.pick(9, "deed") {
	case 0, 1:
		p.labels = []string{"ready"}
		said = append(said, queue.Labeled{Number: p.number, Label: "ready", Actor: "dev", On: true})
	case 2:
		p.labels = nil
		said = append(said, queue.Labeled{Number: p.number, Label: "ready", Actor: "stranger"})
	case 3:
		p.green = !p.green
		h.logf("## pull %d is green: %v", p.number, p.green)
		h.hears(queue.Stirred{Head: p.head})
		return
	case 4:
		words := []string{"/land cancel", "/land", "/land retry", "/land cancel"}[h.pick(4, "words")]
		if words == "/land cancel" {
			kept[p.number] = true // at whatever head it is read
		}
		h.step(h.say(p, "dev", words))
		return
	case 5:
		p.head = h.put(commit{parent: p.head, tree: h.commits[p.head].tree.with(h.edit(h.commits[p.head].tree))}).id
		h.logf("## pull %d is now at %s", p.number, p.head)
		said = append(said, queue.HeadMoved{Number: p.number, Head: p.head})
	case 6:
		p.draft = !p.draft
		said = append(said, queue.Retargeted{Number: p.number})
	case 7:
		if p.open = !p.open; !p.open {
			h.hears(queue.Closed{Number: p.number})
			return
		}
		said = append(said, queue.Retargeted{Number: p.number})
	}
	h.hears(append(said, h.offer(p))...)
}

// hears tells the queue of something, later, twice, or not at all.
func (h *history) hears(said ...queue.Body) {
	switch h.pick(6, "heard") {
	case 0:
	case 1:
		for _, b := range said {
			h.mail = append(h.mail, h.event(b))
		}
	case 2:
		h.tell(said...)
		h.tell(said...)
	default:
		h.tell(said...)
	}
}

// A person asks to land a change whose rule's label was taken off while it is being pushed. The
// push is lost: the person's word stands.
func TestAskedForAfterTheLabelIsOff(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	p, lost := w.ruledThenLost("ready")
	p.labels = nil
	w.tell(queue.Labeled{Number: p.number, Label: "ready", Actor: "dev"}, w.offer(p))
	w.step(w.say(p, "dev", "/land"))
	w.settleDown()
	w.tell(lost...)
	w.waitOut()
	if ch := w.change(p); ch.Phase != queue.Landed {
		t.Errorf("%s %+v", ch.Phase, ch.Reason)
	}
}

// The configuration asks for another label while a change is being pushed that a rule has entered.
// The push is lost: no label was taken off.
func TestRuleEditedDuringAPushThatIsLost(t *testing.T) {
	w := quiet(t, unit, autoRules("high"))
	p := w.open(w.main, edit{"a/code": "one"})
	p.labels = []string{"ready"}
	w.tell(w.offer(p))
	w.mustReachPush()
	w.mustTake("land")
	w.rules.Auto = append([]config.Auto(nil), w.rules.Auto...)
	w.rules.Auto[0].Labels = []string{"ready", "extra"}
	w.main = w.core.s.Main.Tip
	w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "other"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.waitOut()
	if ch := w.change(p); ch.Phase == queue.Cancelled {
		t.Errorf("%s %+v", ch.Phase, ch.Reason)
	}
}

// Two labels of a rule are taken off while its change is being pushed, and one is put back. The push
// is lost: the other one is still off, so the change does not land.
func TestTwoLabelsOffDuringAPushThatIsLost(t *testing.T) {
	for _, back := range []string{"ready", "extra", "both"} {
		t.Run(back, func(t *testing.T) {
			rules := autoRules("high")
			rules.Auto[0].Labels = []string{"ready", "extra"}
			w := quiet(t, unit, rules)
			p, lost := w.ruledThenLost("ready", "extra")
			p.labels = nil
			w.tell(queue.Labeled{Number: p.number, Label: "ready", Actor: "dev"}, queue.Labeled{Number: p.number, Label: "extra", Actor: "dev"}, w.offer(p))
			w.settleDown()
			for _, l := range []string{"ready", "extra"} {
				if back == l || back == "both" {
					p.labels = append(p.labels, l)
					w.tell(queue.Labeled{Number: p.number, Label: l, On: true, Actor: "dev"}, w.offer(p))
				}
			}
			w.settleDown()
			w.tell(lost...)
			w.waitOut()
			if ch := w.change(p); (ch.Phase == queue.Landed) != (back == "both") {
				t.Errorf("%s %+v", ch.Phase, ch.Reason)
			}
		})
	}
}
