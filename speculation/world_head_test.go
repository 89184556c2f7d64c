package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// headRun is what the CI of a pull request has shown of its head, when it was pushed.
type headRun struct {
	at    queue.Instant
	red   map[queue.Digest]bool // steps that have failed there
	green map[queue.Digest]bool // and that have passed; the others have not ended
}

// runHead runs all steps of a head, once: what has drifted later shows in no run of before.
func (w *world) runHead(id queue.CommitID) *headRun {
	if r := w.heads[id]; r != nil {
		return r
	}
	t := w.commits[id].tree
	r := &headRun{at: w.now, red: map[queue.Digest]bool{}, green: map[queue.Digest]bool{}}
	for _, s := range stepsOf(t) {
		keys := queue.KeysOf(s, t.id(), w.hashes(t))
		red := slices.ContainsFunc(keys, func(k queue.Key) bool { return !w.runsGreen(t, k) }) || w.headFlake != nil && w.headFlake()
		r.red[s.Digest()], r.green[s.Digest()] = red, !red
	}
	w.heads[id] = r
	return r
}

// attest says what has passed on a head, of the keys that it has and main has not.
func (w *world) attest(key string, t queue.Attest) queue.Body {
	out := queue.Attested{Action: key, Change: t.Change, Head: t.Head}
	head := w.commits[t.Head].tree
	if _, broken := configOf(head); broken != "" {
		out.Doubts = []queue.HeadDoubt{{Why: broken}}
		return out
	}
	if w.version(t.Analyzer, head) != t.Analyzer {
		out.Doubts = []queue.HeadDoubt{{Why: "its configuration has another analyzer than the target branch's"}}
		return out
	}
	out.Steps = queue.NewStepSet(stepsOf(head))
	if out.Open = w.headOpen != nil && w.headOpen(); out.Open {
		return out
	}
	r, fresh := w.runHead(t.Head), w.newKeys(w.commits[t.Main].tree, head)
	for _, s := range out.Steps.Steps {
		d := s.Digest()
		keys := slices.DeleteFunc(slices.Clone(fresh), func(k queue.Key) bool { return k.Step != d })
		if !s.CountsEarlier() || !r.green[d] || len(keys) == 0 || !queue.ProvenOn(s, keys) {
			continue
		}
		if w.passes != nil {
			w.passes(head, queue.KeysOf(s, head.id(), w.hashes(head)))
		}
		out.Passed = append(out.Passed, queue.HeadPass{Step: d, Keys: keys, Began: r.at.Add(-time.Minute), Ended: r.at})
	}
	return out
}

// counting is the steps of a file whose passes on heads count.
const counting = "ci:" + string(config.ReportExitCode) + ":targets:test:tree:count"
