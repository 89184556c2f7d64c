package speculation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// worthLine is why a build was started in one line: what it is for, and what it
// assumes that is not the likeliest.
func worthLine(w queue.Worth) string {
	text := "(" + string(w.Kind)
	for _, a := range w.Flips() {
		text += " " + string(a.Change) + map[bool]string{true: " lands", false: " does not land"}[a.Lands]
	}
	return text + ")"
}

// explained holds that each build's value is the product of its parts, that each
// pending change waits for something, and that somebody looks again when people
// are told so.
func (a *audit) explained(t Turn) {
	w, s := a.w, a.w.core.State()
	w.Helper()
	for _, id := range derived.Sorted(s.Builds) {
		mustAddUp(w, s.Builds[id])
	}
	for _, id := range derived.Sorted(s.Changes) {
		if s.Changes[id].Phase != queue.Pending {
			continue
		}
		v, _ := w.core.View(id)
		if len(v.Waits) == 0 {
			w.Fatalf("%s waits for nothing", id)
		}
		next := v.Outlook.Next
		if planned := s.Main.Tip != "" && s.Main.Config != nil; planned && next.Code == "" {
			w.Fatalf("the plan has no answer for %s", id)
		}
		if next.Until != 0 && (t.Wake == 0 || t.Wake > max(next.Until, w.now+1)) {
			w.Fatalf("%s waits until %d (%s), and the next turn is at %d", id, next.Until, next.Code, t.Wake)
		}
		for _, r := range v.Waits {
			if r.Code == queue.ReasonUnanalyzed || r.Code == queue.ReasonPaused || r.Code == queue.ReasonWaitsUpgrade {
				if r.Until != 0 && (t.Wake == 0 || t.Wake > max(r.Until, w.now+1)) {
					w.Fatalf("%s waits until %d (%s), and the next turn is at %d", id, r.Until, r.Code, t.Wake)
				}
				continue
			}
			if r.Until != 0 && r.Until != next.Until {
				w.Fatalf("%s waits until %d, the plan says %d", id, r.Until, next.Until)
			}
			if r.Code == queue.ReasonWaitsTime && (len(r.Names) == 0 || r.Until == 0) {
				w.Fatalf("%s is early for nobody: %+v", id, r)
			}
		}
		for _, other := range next.For {
			if s.Changes[other] == nil || other == id {
				w.Fatalf("%s waits for %s", id, other)
			}
		}
	}
}

// mustAddUp holds that the explanation of a build is whole.
func mustAddUp(w tb, b *queue.Build) {
	w.Helper()
	x := b.Worth
	if math.Abs(x.Value()-b.Value) > 1e-9*max(1, b.Value) {
		w.Fatalf("build %s is worth %v, its parts make %v: %+v", b.ID, b.Value, x.Value(), x)
	}
	targets := map[string]bool{}
	for _, k := range b.Keys() {
		targets[k.Target] = true
	}
	if x.Covers.Asked != len(targets) {
		w.Fatalf("build %s is asked for %d targets: %+v", b.ID, len(targets), x.Covers)
	}
	if x.Rank < 1 || x.Rank > x.Rivals {
		w.Fatalf("build %s: %+v", b.ID, x)
	}
	if len(x.Assumes) > x.Lands+x.Fails || len(x.Assumes) > queue.MostAssumed || len(x.Least) > queue.MostNeeds ||
		!slices.IsSortedFunc(x.Assumes, func(a, b queue.Assumption) int { return cmp.Compare(a.Chance, b.Chance) }) {
		w.Fatalf("build %s: %+v", b.ID, x)
	}
	flips := 0
	switch x.Kind {
	case queue.WorthFlip, queue.WorthLate, queue.WorthSpare:
		flips = max(1, len(x.Flips()))
	}
	if x.Kind == queue.WorthSample {
		flips = min(len(x.Flips()), x.Fails) // it leaves out changes that probably land
	}
	if len(x.Flips()) != flips || x.Kind != queue.WorthSample && (flips > 0) != (x.Odds > 0) {
		w.Fatalf("build %s: %+v", b.ID, x)
	}
	if x.Threshold > 0 && b.Value < x.Threshold-1e-9 {
		w.Fatalf("build %s is worth %v, and %v is asked for", b.ID, b.Value, x.Threshold)
	}
	if strings.Contains(fmt.Sprintf("%v", x), "NaN") {
		w.Fatalf("build %s: %+v", b.ID, x)
	}
}

// why prints all that is explained of a change.
func (s *script) why(number int) string {
	var out strings.Builder
	v, _ := s.core.View(s.change(s.pulls[number]).ID)
	for _, b := range v.Builds {
		x := b.Build.Worth
		fmt.Fprintf(&out, "build %s: %s worth %.3g =", s.chain(&run{build: b.Build}), s.clean(worthLine(x)), b.Build.Value)
		for i, p := range x.Parts() {
			fmt.Fprintf(&out, "%s %s %.3g", strings.Repeat(" *", min(i, 1)), p.Name, p.Factor)
		}
		fmt.Fprintf(&out, "; asked %d, shared %d, passed %d, left %d\n", x.Covers.Asked, x.Covers.Shared, x.Covers.Passed, x.Covers.Left)
		for _, a := range x.Assumes {
			fmt.Fprintf(&out, "  assumes %s: %t, %.3g\n", s.clean(string(a.Change)), a.Lands, a.Chance)
		}
	}
	for _, r := range v.Waits {
		text := fmt.Sprintf("waits: %s %v", r.Code, r.Names)
		if r.Until != 0 {
			text += " for " + r.Until.Sub(s.now).Round(time.Second).String()
		}
		out.WriteString(s.clean(text) + "\n")
	}
	o := v.Outlook
	fmt.Fprintf(&out, "chance %.3g, good %.3g, tested %d of %d\n", o.Chance, o.Good, o.Tested, o.Targets)
	for _, a := range o.Ahead {
		fmt.Fprintf(&out, "  ahead %s: lands %.3g, red together %.3g, decided in %s\n", s.clean(string(a.Change)), a.Chance, a.Red, a.Ends.Sub(s.now).Round(time.Second))
	}
	for _, d := range o.Doubts {
		fmt.Fprintf(&out, "  doubt %s: %.3g, or %s\n", s.clean(string(d.Pair)), d.Chance, s.clean(fmt.Sprint(d.Others)))
	}
	return out.String()
}

// A change that leaves after the plan was made is no longer named among those that
// others wait for.
func TestWhoLeavesIsWaitedForNoMore(t *testing.T) {
	d := plan.Deal{Due: []int{0, 2, 3}}
	d.Leave(2)
	if !slices.Equal(d.Due, []int{0, 2}) {
		t.Errorf("%v; want the first, and the last moved up", d.Due)
	}
	d.Leave(1)
	if !slices.Equal(d.Due, []int{0, 1}) {
		t.Errorf("%v; want both", d.Due)
	}
}
