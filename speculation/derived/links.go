package derived

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Status is the known result of a link.
type Status int

const (
	Unknown      Status = iota // some key has neither passed nor decisively failed
	Verified                   // every key has passed
	TreeKeysOnly               // verified except keys on the whole tree, which only the landing train verifies
	Failed                     // its own failing evidence is decisive
	Conflicting                // does not merge
	Empty                      // the merge changes nothing
)

// LinkState is the state of a link under the ledger of this turn.
type LinkState struct {
	Status  Status
	Missing []queue.Key    // keys without a pass that have not decisively failed
	Tree    []queue.Key    // of these, the ones on the whole tree
	Broken  []*queue.Entry // decisive failures, of keys and of sets as they weigh against the link
	Shaken  []*queue.Entry // the same, decisive or not yet
}

// State judges a link by the ledger. For failures that name no target it also goes by
// main (Weighed).
func (fs *Links) State(l *queue.Link) *LinkState {
	i := fs.Info(l)
	if at := fs.basis(); i.at != at {
		i.at, i.state = at, fs.Judge(l, i.Facts)
	}
	return &i.state
}

// Judge works out the state of a link from the facts about its keys; State remembers it.
func (fs *Links) Judge(l *queue.Link, facts []*Fact) LinkState {
	switch l.Outcome {
	case queue.MergeFailed:
		return LinkState{Status: Conflicting}
	case queue.MergeNothing:
		return LinkState{Status: Empty}
	}
	var st LinkState
	for i, k := range l.Keys {
		switch f := facts[i]; {
		case f.Passed():
		case f.Decisive:
			st.Broken = append(st.Broken, f.Entry)
		default:
			st.Missing = append(st.Missing, k)
			if fs.WholeTree(l, k) {
				st.Tree = append(st.Tree, k)
			}
		}
	}
	if st.Shaken = fs.Ledger.shaken(l, facts); len(st.Shaken) > 0 {
		for _, e := range st.Shaken {
			if e.IsSet() && fs.Ledger.Decides(e) {
				st.Broken = append(st.Broken, e)
			}
		}
	}
	switch {
	case len(st.Broken) > 0:
		st.Status = Failed
	case len(st.Missing) == 0:
		st.Status = Verified
	case len(st.Missing) == len(st.Tree):
		st.Status = TreeKeysOnly
	}
	return st
}

// HoldsAll reports whether every key of a failed set is among a link's keys:
// then one of them fails. Callers have checked that one of the keys has not passed;
// each key that has passed since leaves fewer to suspect.
func HoldsAll(facts []*Fact, set *queue.Entry) bool {
	for _, k := range set.Keys {
		id := k.ID()
		if !slices.ContainsFunc(facts, func(f *Fact) bool { return f.ID == id }) {
			return false
		}
	}
	return true
}

// WholeTree reports whether a key is verified only on the train that lands: a key of a
// step on the whole tree, or of a commit on the way to the link's commit.
func (fs *Links) WholeTree(l *queue.Link, k queue.Key) bool {
	if l.PartOf(k) != nil {
		return true // a key of a commit on the way is new wherever the change stands
	}
	if k.Target != config.TargetTree {
		return false
	}
	st, ok := fs.Step(l, k)
	return ok && st.Scope == config.ScopeRepository
}

// Step returns the step of a link's key.
func (fs *Links) Step(l *queue.Link, k queue.Key) (config.Step, bool) {
	id := l.Steps
	if part := l.PartOf(k); part != nil {
		id = part.Steps
	}
	steps := fs.stepSets[id]
	if steps == nil {
		set := fs.s.Steps[id]
		if set == nil {
			return config.Step{}, false
		}
		steps = make(map[queue.Digest]config.Step, len(set.Steps))
		for _, st := range set.Steps {
			steps[st.Digest()] = st
		}
		fs.stepSets[id] = steps
	}
	st, ok := steps[k.Step]
	return st, ok
}

// Want is a chain of merges that the plan or the train wants.
type Want struct {
	Base     queue.CommitID
	Picks    []queue.ChangeID
	Together int // the number of changes at the end that are one merge
}

// Name is a different name for each wanted chain of merges.
func (w Want) Name() string {
	var b strings.Builder
	b.WriteString(string(w.Base))
	for i, p := range w.Picks {
		if i > len(w.Picks)-w.Together {
			b.WriteString("&" + string(p))
		} else {
			b.WriteString("+" + string(p))
		}
	}
	return b.String() + "+"
}

// Walk follows the chain base → changes as far as it is resolved. It returns
// the last link, or nil with the rest that is to be resolved; void is the change before
// the last that does not merge, which makes the path void.
func (fs *Links) Walk(base queue.CommitID, changes []queue.ChangeID) (last *queue.Link, rest Want, void queue.ChangeID) {
	at, from := fs.walked.resume(base, changes)
	for i := from; i < len(changes); i++ {
		id := changes[i]
		l := fs.s.Links[queue.LinkOf(at, id)]
		if l == nil {
			return nil, Want{Base: at, Picks: changes[i:]}, ""
		}
		if i == len(changes)-1 {
			return l, Want{}, ""
		}
		switch l.Outcome {
		case queue.MergeFailed:
			return nil, Want{}, id
		case queue.Merged:
			at = l.Commit
		}
		fs.walked.step(id, at)
	}
	return nil, Want{}, ""
}

// ForgetSteps forgets a step set that no link has.
func (fs *Facts) ForgetSteps(id queue.Digest) { delete(fs.stepSets, id) }

// Rewalk forgets the last path that was walked: links have been added or are gone.
func (fs *Links) Rewalk() { fs.walked = trail{} }

// trail remembers the last path that was walked: one change's path is often
// that of the change before it and one step more. It is valid while no link is added,
// that is from one fold to the next.
type trail struct {
	base    queue.CommitID
	changes []queue.ChangeID
	commits []queue.CommitID // after each of changes
}

// resume goes back to the place where a path parts from the remembered one. It returns
// the commit there and how many changes of the path lead to it. The last change of a
// path is not taken from memory, since the caller wants its link.
func (t *trail) resume(base queue.CommitID, changes []queue.ChangeID) (queue.CommitID, int) {
	n := 0
	if t.base == base {
		for n < len(t.changes) && n < len(changes)-1 && t.changes[n] == changes[n] {
			n++
		}
	}
	t.base, t.changes, t.commits = base, t.changes[:n], t.commits[:n]
	if n == 0 {
		return base, 0
	}
	return t.commits[n-1], n
}

func (t *trail) step(id queue.ChangeID, at queue.CommitID) {
	t.changes, t.commits = append(t.changes, id), append(t.commits, at)
}

// Front is where main will be when the push under way has moved it.
func (fs *Links) Front() queue.CommitID {
	if fs.s.Push != nil {
		return fs.s.Push.Tip()
	}
	return fs.s.Main.Tip
}

// Active returns a pull request's change without a verdict, or nil.
func (fs *Links) Active(number int) *queue.Change {
	if p := fs.s.Pulls[number]; p != nil {
		return fs.s.Changes[p.Active]
	}
	return nil
}

// Under returns the commit of main that a link stands on, and the changes
// between the two, in order.
func (fs *Links) Under(l *queue.Link) (queue.CommitID, []queue.ChangeID) {
	var chain []queue.ChangeID
	at := l.Parent
	for before := fs.LinkTo(at); before != nil; before = fs.LinkTo(at) {
		all := before.Changes()
		slices.Reverse(all)
		chain = append(chain, all...)
		at = before.Parent
	}
	slices.Reverse(chain)
	return at, chain
}

const LostProbes = 3 // a commit counts as unbuildable after so many builds without a result

// Unbuildable reports whether builds of a commit have brought no result too often.
func (fs *Links) Unbuildable(h *queue.Hunt, commit queue.CommitID) bool {
	return slices.ContainsFunc(h.Lost, func(l queue.LostProbe) bool { return l.Commit == commit && l.Times >= LostProbes })
}
