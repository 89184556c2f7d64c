package speculation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// forbidden is what the world's forge may refuse in a commit.
const forbidden = "secret"

// TestAnyRefusedPush has many changes wait behind a pause, some of which the forge
// refuses for their content: after any other events the others land, and only those are
// parked.
func TestAnyRefusedPush(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		h.refuse(30)
		h.begin(4)
		p := h.open(h.main, edit{})
		h.step(h.say(p, "boss", "/queue pause"))
		for range rapid.IntRange(2, 6).Draw(rt, "changes") {
			h.ask()
		}
		h.quiesce()
		h.step(h.say(p, "boss", "/queue resume"))
		h.quiesce()
		for range rapid.IntRange(0, 8).Draw(rt, "events") {
			h.happen()
		}
		h.calm()
		h.audit.final()
	})
}

// forbids has the forge refuse, in some histories, what some changes hold.
func (h *history) forbids() {
	if h.chance(35, "forbids") {
		h.refuse(15)
	}
}

// refuse has the forge refuse each push that brings what is forbidden, in words that
// say so or that nobody knows, and as many percent of the changes bring it.
func (h *history) refuse(percent int) {
	h.smuggled = percent
	h.rule = []string{workflowRule, unknownRule}[h.pick(2, "words")]
	if h.rule == workflowRule && h.pick(2, "refuses refs") == 1 {
		h.refusesRef = func(b *queue.Build) string {
			was := h.commits[b.Main] // what is on a branch already, the forge does not look at again
			if b.Change != "" && h.bringsAt(b.Commit, forbidden) && !(was != nil && was.tree.holds(forbidden)) {
				return h.rule
			}
			return ""
		}
	}
	h.refusesIf = func(p *queue.Push) string {
		h.audit.pushing(p)
		if h.brings(p, forbidden) {
			return h.rule
		}
		return ""
	}
}

// smuggle adds what is forbidden to an edit, at times.
func (h *history) smuggle(e edit) edit {
	if h.refusesIf == nil || e[stepsFile] != "" || !h.chance(h.smuggled, "forbidden") {
		return e
	}
	out := edit{}
	for file, content := range e {
		out[file] = content
	}
	file := []string{"a/code", "b/code", "x/d"}[h.pick(3, "where")]
	if out[file] != "" {
		out[file] += " "
	}
	out[file] += forbidden
	return out
}

// pushing demands that what was refused alone is pushed alone, or by the word of
// somebody or after its time only.
func (a *audit) pushing(p *queue.Push) {
	w := a.w
	w.Helper()
	s := w.core.State()
	for _, id := range p.Changes {
		if r := s.Changes[id].Refused; r != nil && len(p.Changes) > 1 {
			w.Fatalf("%s was refused alone and is pushed with others: %v", id, p.Changes)
		}
	}
}

// refusals demands that a refusal parks what holds something forbidden, or rests on
// it, and that landings stop for no such reason.
func (a *audit) refusals() {
	w := a.w
	w.Helper()
	if w.rule == "" {
		return
	}
	s := w.core.State()
	for _, id := range derived.Sorted(s.Changes) {
		ch := s.Changes[id]
		if ch.Phase == queue.Parked && ch.Reason.Code == queue.ReasonProtected && !w.smuggles(ch) && queue.RefusalOf(ch.Reason.Detail) != queue.RefusalBranch { // in a freeze the branch is not called closed
			w.Fatalf("%s is parked because of %q, and the forge has nothing against it", id, ch.Reason.Detail)
		}
	}
	if p := s.Main.Paused; p != nil && p.Code == queue.ReasonProtected && p.Reason == workflowRule {
		w.Fatalf("landings are paused because the forge refuses what some changes hold: %+v", p)
	}
}

// smuggles reports whether a change's commits hold what is forbidden.
func (w *world) smuggles(ch *queue.Change) bool {
	return slices.ContainsFunc(w.line(ch.Head), func(c *commit) bool {
		for _, content := range c.tree {
			if setOf(content)[forbidden] {
				return true
			}
		}
		return false
	})
}
