package speculation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// controlled says which keys main has, and when they passed last.
func (w *world) controlled(key string, t queue.Watch) queue.Body {
	c := w.commits[t.Commit]
	by := w.version(t.Analyzer, c.tree)
	defer w.under(by)()
	set := queue.NewStepSet(stepsOf(c.tree))
	out := queue.Controlled{Action: key, Commit: t.Commit, Tree: c.tree.id(), Steps: set, Analyzer: by}
	keys := w.keysOf(c.tree)
	name := func(k queue.Key) string {
		st, _ := set.Step(k.Step)
		return st.Name
	}
	for _, a := range t.Aims {
		if at := slices.IndexFunc(keys, func(k queue.Key) bool { return name(k) == a.Step && (a.Target == "" || k.Target == a.Target) }); at >= 0 {
			out.Found = append(out.Found, queue.Aimed{Aim: a, Key: keys[at]})
		}
	}
	if t.Before != 0 {
		for _, k := range keys {
			if e := w.store.archive[k.ID()]; w.knows(k) && e.Good() < t.Before {
				out.Found = append(out.Found, queue.Aimed{Aim: queue.Aim{Step: name(k), Target: k.Target}, Key: k})
			}
		}
		slices.SortStableFunc(out.Found, func(a, b queue.Aimed) int {
			return cmp.Compare(goodOf(w, a), goodOf(w, b))
		})
		out.Found = out.Found[:min(len(out.Found), t.Most)]
	}
	for _, x := range out.Found {
		if e := w.store.archive[x.Key.ID()]; w.knows(x.Key) && !slices.ContainsFunc(out.Passed, func(p queue.Entry) bool { return p.ID == e.ID }) {
			out.Passed = append(out.Passed, e)
		}
	}
	return out
}

func goodOf(w *world, x queue.Aimed) queue.Instant {
	e := w.store.archive[x.Key.ID()]
	return e.Good()
}

// drift has a target turn red at the hashes that it has, or heals it. Nothing runs
// meanwhile, and what is known is old by then: what comes and goes within the time
// that evidence counts is told from a fault by retries alone.
func (h *history) drift() {
	h.Helper()
	h.quiesce()
	h.now = h.now.Add(61 * minute)
	if len(h.drifts) > 0 {
		h.logf("## nothing drifts any more")
		h.drifts = nil
		h.tell(queue.Tick{})
		return
	}
	target := h.targets[h.pick(len(h.targets), "drifts")]
	h.logf("## %s drifts", target)
	h.drifts = []rule{{target: target}}
	h.audit.drifting = true
	h.tell(queue.Tick{})
	if h.chance(60, "somebody is struck") {
		h.bystander(target)
	}
}

// redden breaks c on main past the queue, and somebody asks for a sound change of
// another target.
func (h *history) redden() {
	h.Helper()
	h.logf("## c is broken past the queue")
	h.commitOutside(h.commits[h.main].tree.with(edit{"c/code": "danger"}))
	h.tell(queue.MainMoved{Branch: "main"})
	if h.chance(50, "it is known to be red") {
		h.quiesce()
	}
	h.bystander([]string{"a", "b"}[h.pick(2, "of")])
}

// bystander asks for a change of a target that turns nothing red, and has it built.
func (h *history) bystander(target string) {
	h.Helper()
	p := h.open(h.main, edit{fileOf(target): fmt.Sprintf("calm%d", len(h.pulls))})
	h.step(h.say(p, "dev", "/land"))
	h.quiesce()
}
