package speculation

import (
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func queueDuration(n int) time.Duration { return time.Duration(max(n, 1)) }

// status is what is known of a link.
type status int

const (
	unknown      status = iota // some key has neither passed nor decisively failed
	verified                   // every key has passed
	treeKeysOnly               // verified but for keys on the whole tree, which only the landing train verifies
	failed                     // its own failing evidence is decisive
	conflicting                // does not merge
	empty                      // the merge changes nothing
)

// linkState is the state of a link under the ledger of this turn.
type linkState struct {
	status  status
	missing []queue.Key    // keys without a pass that have not decisively failed
	tree    []queue.Key    // of these, the ones on the whole tree
	broken  []*queue.Entry // decisive failures, of keys and of sets as they weigh against the link
	shaken  []*queue.Entry // the same, decisive or not yet
}

// state judges a link by the ledger, and by what main is where runs that name no
// target are concerned (weighed).
func (c *Core) state(l *queue.Link) *linkState {
	i := c.info(l)
	if at := c.basis(); i.at != at {
		i.at, i.state = at, c.judge(l, i.facts)
	}
	return &i.state
}

func (c *Core) judge(l *queue.Link, facts []*fact) linkState {
	switch l.Outcome {
	case queue.MergeFailed:
		return linkState{status: conflicting}
	case queue.MergeNothing:
		return linkState{status: empty}
	}
	var st linkState
	for i, k := range l.Keys {
		switch f := facts[i]; {
		case f.passed():
		case f.decisive:
			st.broken = append(st.broken, f.entry)
		default:
			st.missing = append(st.missing, k)
			if c.wholeTree(l, k) {
				st.tree = append(st.tree, k)
			}
		}
	}
	if st.shaken = c.shaken(l, facts); len(st.shaken) > 0 {
		for _, e := range st.shaken {
			if e.IsSet() && c.decides(e) {
				st.broken = append(st.broken, e)
			}
		}
	}
	switch {
	case len(st.broken) > 0:
		st.status = failed
	case len(st.missing) == 0:
		st.status = verified
	case len(st.missing) == len(st.tree):
		st.status = treeKeysOnly
	}
	return st
}

// holdsAll reports whether every key of a failed set is among a link's keys:
// then one of them fails, whichever it is. Callers have seen that one has not
// passed; that others have since leaves fewer to suspect.
func holdsAll(facts []*fact, set *queue.Entry) bool {
	for _, k := range set.Keys {
		id := k.ID()
		if !slices.ContainsFunc(facts, func(f *fact) bool { return f.id == id }) {
			return false
		}
	}
	return true
}

// wholeTree reports whether a key is verified only on the train that lands: that
// of a step on the whole tree, or of a commit on the way to the link's.
func (c *Core) wholeTree(l *queue.Link, k queue.Key) bool {
	if l.PartOf(k) != nil {
		return true // of a commit on the way: it is new wherever the change stands
	}
	if k.Target != config.TargetTree {
		return false
	}
	st, ok := c.step(l, k)
	return ok && st.Scope == config.ScopeRepository
}

// step returns the step of a link's key.
func (c *Core) step(l *queue.Link, k queue.Key) (config.Step, bool) {
	id := l.Steps
	if part := l.PartOf(k); part != nil {
		id = part.Steps
	}
	steps := c.stepSets[id]
	if steps == nil {
		set := c.s.Steps[id]
		if set == nil {
			return config.Step{}, false
		}
		steps = make(map[queue.Digest]config.Step, len(set.Steps))
		for _, st := range set.Steps {
			steps[st.Digest()] = st
		}
		c.stepSets[id] = steps
	}
	st, ok := steps[k.Step]
	return st, ok
}

// want is a chain of merges that somebody would like to see made.
type want struct {
	base     queue.CommitID
	picks    []queue.ChangeID
	together int // so many at the end in one merge
}

func (w want) name() string {
	var b strings.Builder
	b.WriteString(string(w.base))
	for i, p := range w.picks {
		if i > len(w.picks)-w.together {
			b.WriteString("&" + string(p))
		} else {
			b.WriteString("+" + string(p))
		}
	}
	return b.String() + "+"
}

// walk follows the chain base → changes as far as it is resolved. It returns
// the last link, or nil with what remains to be resolved; void is the change
// before the last that does not merge, which makes the path void.
func (c *Core) walk(base queue.CommitID, changes []queue.ChangeID) (last *queue.Link, rest want, void queue.ChangeID) {
	at, from := c.trail.resume(base, changes)
	for i := from; i < len(changes); i++ {
		id := changes[i]
		l := c.s.Links[queue.LinkOf(at, id)]
		if l == nil {
			return nil, want{base: at, picks: changes[i:]}, ""
		}
		if i == len(changes)-1 {
			return l, want{}, ""
		}
		switch l.Outcome {
		case queue.MergeFailed:
			return nil, want{}, id
		case queue.Merged:
			at = l.Commit
		}
		c.trail.step(id, at)
	}
	return nil, want{}, ""
}

// trail remembers the last path that was walked: one change's path is often
// that of the change before it and one step more. It holds while no link is
// added, that is from one fold to the next.
type trail struct {
	base    queue.CommitID
	changes []queue.ChangeID
	commits []queue.CommitID // after each of changes
}

// resume goes back to where a path parts from the remembered one and returns
// the commit there and how many changes are behind it. The last change of a
// path is not taken from memory: its link is what is asked for.
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

// front is where main will be when the push under way has moved it.
func (c *Core) front() queue.CommitID {
	if c.s.Push != nil {
		return c.s.Push.Tip()
	}
	return c.s.Main.Tip
}

// resolveChunk bounds one action, so that the first results of a long chain
// come early.
const resolveChunk = 32

// resolve asks for the merges that this turn wanted: the longest of those that
// begin alike, none that is a part of one under way.
func (c *Core) resolve() {
	if len(c.wants) == 0 {
		return
	}
	type named struct {
		want
		name string
	}
	var all []named
	for _, w := range c.wants {
		if len(w.picks) > resolveChunk {
			w.picks, w.together = w.picks[:resolveChunk], 0
		}
		all = append(all, named{w, w.name()})
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	var busy []string
	for _, key := range sorted(c.s.Actions) {
		if t, ok := c.s.Actions[key].Task.(queue.Resolve); ok {
			w := want{base: t.Base, together: t.Together}
			for _, p := range t.Picks {
				w.picks = append(w.picks, p.Change)
			}
			busy = append(busy, w.name())
		}
	}
	for i, w := range all {
		if i+1 < len(all) && strings.HasPrefix(all[i+1].name, w.name) {
			continue
		}
		if slices.ContainsFunc(busy, func(b string) bool {
			return strings.HasPrefix(b, w.name) || strings.HasPrefix(w.name, b)
		}) {
			continue
		}
		picks := make([]queue.Pick, 0, len(w.picks))
		for _, id := range w.picks {
			picks = append(picks, pickOf(c.s.Changes[id]))
		}
		version, _ := c.versionAt(w.base)
		c.ask(queue.Resolve{Base: w.base, Picks: picks, Together: w.together, Analyzer: version, Former: c.former(), Protected: c.permissions().Protected})
	}
}
