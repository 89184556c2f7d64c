package speculation

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// quarantineOf reads an entry of quarantine from its token: ~target, or ~target@day. It is
// of all steps on targets whose passes are of these alone.
func quarantineOf(token string) (config.Quarantine, bool) {
	rest, ok := strings.CutPrefix(token, "~")
	target, day, _ := strings.Cut(rest, "@")
	return config.Quarantine{Targets: []string{target}, Until: day}, ok
}

// excused reports whether, in truth, a red key of a tree does not count at a moment: base
// is the tree of main as it is. A base whose file cannot be read has the configuration in
// force before it.
func (w *world) excused(base, t tree, k queue.Key, now queue.Instant) bool {
	st, ok := queue.NewStepSet(stepsOf(t)).Step(k.Step)
	if !ok || !slices.ContainsFunc(st.Quarantine, func(q config.Quarantine) bool { return lasts(q, k.Target, now) }) {
		return false
	}
	steps, broken := configOf(base)
	if c := w.core.State().Main.Config; broken != "" && c != nil {
		steps = c.Steps
	}
	return slices.ContainsFunc(steps, func(s config.Step) bool {
		return s.Name == st.Name && slices.ContainsFunc(s.Quarantine, func(q config.Quarantine) bool { return lasts(q, k.Target, now) })
	})
}

func lasts(q config.Quarantine, target string, now queue.Instant) bool {
	return q.Targets[0] == target && (q.Until == "" || now.Time().Format("2006-01-02") <= q.Until)
}

// shakyIn lets targets in quarantine fail by chance, as often as they like.
func (w *world) shakyIn(t tree, j queue.Job, red []queue.Key) []queue.Key {
	if w.shaky == nil {
		return red
	}
	base := w.commits[w.main].tree
	for _, k := range j.Keys {
		if !slices.Contains(red, k) && w.excused(base, t, k, w.now) && w.shaky(k) {
			red = append(slices.Clone(red), k)
		}
	}
	return red
}

// divideSteps has results say which part of its step a job is, where a build has several.
func (r *run) divideSteps() {
	seen := map[queue.Digest]int{}
	for _, j := range r.build.Jobs {
		seen[j.Step.Digest()]++
	}
	if len(seen) == len(r.build.Jobs) {
		return
	}
	if r.asked == nil {
		r.asked = make([][]string, len(r.build.Jobs))
	}
	for i, j := range r.build.Jobs {
		if seen[j.Step.Digest()] > 1 {
			r.asked[i] = j.Targets()
		}
	}
}
