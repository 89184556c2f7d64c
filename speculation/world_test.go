package speculation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// The world of the property and script tests: a repository of token sets, with
// a hidden truth about which of them are green together. It shares nothing with
// the core: merges, hashes, keys and truth are its own.

// tree is the content of a commit: for each file its sorted tokens.
type tree map[string]string

const (
	stepsFile = "steps"    // one token per step, see stepOf
	barrier   = "barrier"  // in every target's hash
	unowned   = "u/shared" // no target's: in every target's hash, and tests may read it
)

func tokens(content string) []string { return strings.Fields(content) }

func content(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), " ")
}

func setOf(content string) map[string]bool {
	set := map[string]bool{}
	for _, t := range tokens(content) {
		set[t] = true
	}
	return set
}

func (t tree) id() queue.TreeID {
	fields := []string{"tree"}
	for _, f := range slices.Sorted(maps.Keys(t)) {
		if t[f] != "" {
			fields = append(fields, f, t[f])
		}
	}
	return queue.TreeID(digest.Of(fields...)[:16])
}

// edit adds tokens to files and takes "-token" out of them.
type edit map[string]string

func (t tree) with(e edit) tree {
	out := maps.Clone(t)
	for f, change := range e {
		set := setOf(out[f])
		for _, tok := range tokens(change) {
			if gone, minus := strings.CutPrefix(tok, "-"); minus {
				delete(set, gone)
			} else {
				set[tok] = true
			}
		}
		out[f] = content(set)
	}
	return out
}

// exclusive files are text: two different edits of one do not merge.
func exclusive(file string) bool { return strings.HasPrefix(file, "x/") }

// merge3 is git's merge, as far as the world goes.
func merge3(base, ours, theirs tree) (out tree, conflicts []string) {
	base, ours, theirs = follow(base, ours, theirs)
	out = tree{}
	files := map[string]bool{}
	for _, t := range []tree{base, ours, theirs} {
		for f := range t {
			files[f] = true
		}
	}
	for _, f := range slices.Sorted(maps.Keys(files)) {
		b, o, t := base[f], ours[f], theirs[f]
		switch {
		case o == t || b == t:
			out[f] = o
		case b == o:
			out[f] = t
		case exclusive(f):
			conflicts = append(conflicts, f)
		default:
			set, was, now := setOf(o), setOf(b), setOf(t)
			for x := range was {
				if !now[x] {
					delete(set, x)
				}
			}
			for x := range now {
				if !was[x] {
					set[x] = true
				}
			}
			out[f] = content(set)
		}
	}
	return out, conflicts
}

// commit is one commit of the world, of main's line or a head.
type commit struct {
	id     queue.CommitID
	parent queue.CommitID
	tree   tree
	head   queue.CommitID // merged head, where the queue made it
	change queue.ChangeID
	also   []queue.Carried // merged with it, in order after it

	merges  queue.CommitID   // second parent of an author's own merge, of main into a branch
	lone    bool             // it is no merge: main has the head's content, not the head
	stands  []queue.ChangeID // those that land as it is, by fast-forward
	taken   queue.ChangeID   // of these, the one that has
	top     queue.CommitID   // the last of the commits that were made anew and that this one merges
	between []queue.CommitID // of several commits, those before this one
}

// carries returns the changes that the commit merges, in order.
func (c *commit) carries() []queue.Carried {
	switch {
	case c.taken != "":
		return []queue.Carried{{Change: c.taken, Head: c.id}}
	case c.change == "":
		return nil
	}
	return append([]queue.Carried{{Change: c.change, Head: c.head}}, c.also...)
}

// merged returns the commit's parents beyond the first.
func (c *commit) merged() []queue.CommitID {
	if c.head == "" || c.lone {
		return nil
	}
	heads := []queue.CommitID{c.head}
	for _, x := range c.also {
		heads = append(heads, x.Head)
	}
	return heads
}

// repository holds all commits that were ever made.
type repository struct {
	commits map[queue.CommitID]*commit
}

func (r *repository) put(c commit) *commit {
	fields := []string{"commit", string(c.parent), string(c.tree.id()), string(c.head), string(c.change)}
	if c.lone {
		fields = append(fields, "lone")
	}
	if c.top != "" {
		fields = append(fields, string(c.top))
	}
	if c.merges != "" {
		fields = append(fields, "merges", string(c.merges))
	}
	for _, x := range c.also {
		fields = append(fields, string(x.Change), string(x.Head))
	}
	c.id = queue.CommitID(digest.Of(fields...)[:12])
	if old := r.commits[c.id]; old != nil {
		return old
	}
	r.commits[c.id] = &c
	return &c
}

// line returns the first-parent line from a commit back to the root.
func (r *repository) line(at queue.CommitID) []*commit {
	var out []*commit
	for c := r.commits[at]; c != nil; c = r.commits[c.parent] {
		out = append(out, c)
	}
	return out
}

// mergeBase returns the newest commit that both contain.
func (r *repository) mergeBase(at, head queue.CommitID) *commit {
	heads := map[queue.CommitID]bool{}
	r.reach(head, heads)
	for _, c := range r.line(at) {
		for _, h := range slices.Backward(c.merged()) {
			if heads[h] {
				return r.commits[h]
			}
		}
		if heads[c.id] {
			return c
		}
	}
	panic("world: no common ancestor")
}

// reach adds a commit to a set, and all that is below it by its authors' own merges.
func (r *repository) reach(at queue.CommitID, all map[queue.CommitID]bool) {
	for _, c := range r.line(at) {
		if all[c.id] {
			return
		}
		all[c.id] = true
		if c.merges != "" {
			r.reach(c.merges, all)
		}
	}
}

// own returns the commits of a head that another commit has not, the newest first, along
// its first parents.
func (r *repository) own(at, head queue.CommitID) []*commit {
	there := map[queue.CommitID]bool{}
	r.reach(at, there)
	for _, c := range r.line(at) {
		for _, h := range c.merged() {
			r.reach(h, there)
		}
	}
	line := r.line(head)
	return line[:slices.IndexFunc(line, func(c *commit) bool { return there[c.id] })]
}

// merge makes the commit of a change on a parent.
func (r *repository) merge(parent queue.CommitID, p queue.Pick) (*commit, []string) {
	switch p.Method {
	case config.MethodRebase:
		return r.replay(parent, p)
	case config.MethodSemiLinear:
		return r.joined(parent, p)
	case config.MethodFastForward:
		return r.forward(parent, p)
	}
	if p.Revert != "" {
		return r.revert(parent, p)
	}
	base, ours, theirs := r.standing(parent, p), r.commits[parent], r.commits[p.Head]
	merged, conflicts := merge3(base.tree, ours.tree, theirs.tree)
	if len(conflicts) > 0 {
		return nil, conflicts
	}
	if merged.id() == ours.tree.id() {
		return ours, nil
	}
	return r.put(commit{parent: parent, tree: merged, head: p.Head, change: p.Change, lone: p.Method == config.MethodSquash}), nil
}

// mergeAll makes the commit of several changes on a parent; nil where one of them
// does not merge, or brings nothing.
func (r *repository) mergeAll(parent queue.CommitID, picks []queue.Pick) *commit {
	at, all := parent, commit{parent: parent}
	for i, p := range picks {
		c, _ := r.merge(at, p)
		if c == nil || c.id == at {
			return nil
		}
		at, all.tree = c.id, c.tree
		if i == 0 {
			all.change, all.head = p.Change, p.Head
		} else {
			all.also = append(all.also, queue.Carried{Change: p.Change, Head: p.Head})
		}
	}
	return r.put(all)
}

// rule is a part of the hidden truth: a target is red under a step while all
// the tokens are in what the target reads, unless one that heals is there too.
type rule struct {
	target string // TargetTree: the whole tree
	step   string // "": under each
	all    []string
	unless string
}

// law is what the world is like: its targets, what they depend on, the truth.
type law struct {
	targets []string
	needs   map[string][]string
	rules   []rule
	drifts  []rule // what is red by now though nothing in any tree has changed: a certificate that has expired
	built   *built // where trees say themselves what their targets are

	by    string          // version of the analyzer that hashes are of; "": there is one
	blind map[string]bool // versions that do not see what a target depends on

	// Further parts that versions put into a target's hash, needed or not.
	sees map[string]map[string][]string
}

func fileOf(target string) string { return target + "/code" }

// reads returns the tokens that a target's tests can see.
func (w *law) reads(t tree, target string) map[string]bool {
	if w.built != nil && target != config.TargetTree {
		return w.built.reads(t, target)
	}
	set := setOf(t[unowned])
	if target == config.TargetTree {
		for _, c := range t {
			maps.Copy(set, setOf(c))
		}
		return set
	}
	for _, n := range w.closure(target) {
		maps.Copy(set, setOf(t[fileOf(n)]))
		maps.Copy(set, setOf(t["x/"+n]))
	}
	return set
}

func (w *law) closure(target string) []string {
	out := []string{target}
	for _, n := range w.needs[target] {
		out = append(out, w.closure(n)...)
	}
	return out
}

// hashes returns the targets of a tree with their hashes. A target whose file
// holds the token "deleted" is not there.
func (w *law) hashes(t tree) []queue.TargetHash {
	if _, broken := configOf(t); broken != "" {
		return []queue.TargetHash{{Target: config.TargetTree, Hash: queue.Digest(t.id())}}
	}
	if w.built != nil {
		return w.built.hashes(t)
	}
	var out []queue.TargetHash
	for _, n := range w.targets {
		if setOf(t[fileOf(n)])["deleted"] {
			continue
		}
		fields, below := []string{"target", n, t[barrier], t[unowned]}, w.closure(n)
		if w.by != "" {
			fields = append(fields, w.by)
		}
		if w.blind[w.by] {
			below = below[:1]
		}
		below = append(below, w.sees[w.by][n]...)
		for _, d := range below {
			fields = append(fields, d, t[fileOf(d)], t["x/"+d])
		}
		out = append(out, queue.TargetHash{Target: n, Hash: digest.Of(fields...)})
	}
	return out
}

// keysOf returns all keys of a tree, under its own steps.
func (w *law) keysOf(t tree) []queue.Key {
	var keys []queue.Key
	for _, s := range stepsOf(t) {
		if s.Repeat == 0 {
			keys = append(keys, queue.KeysOf(s, t.id(), w.hashes(t))...)
		}
	}
	return keys
}

// newKeys returns the keys that a tree has and its parent has not.
func (w *law) newKeys(parent, t tree) []queue.Key {
	had := map[queue.Key]bool{}
	for _, k := range w.keysOf(parent) {
		had[k] = true
	}
	return w.repeated(parent, t, slices.DeleteFunc(w.keysOf(t), func(k queue.Key) bool { return had[k] }))
}

// gone returns the targets of a parent that a tree has not.
func (w *law) gone(parent, t tree) []string {
	var out []string
	for _, h := range w.hashes(parent) {
		if !slices.ContainsFunc(w.hashes(t), func(x queue.TargetHash) bool { return x.Target == h.Target }) {
			out = append(out, h.Target)
		}
	}
	return out
}

// green is the truth about one key of a tree.
func (w *law) green(t tree, k queue.Key) bool {
	set := queue.NewStepSet(stepsOf(t))
	st, ok := set.Step(k.Step)
	if !ok {
		panic("world: a key of no step of the tree")
	}
	if strings.HasPrefix(st.Run, "broken") {
		return false
	}
	if w.built != nil && w.built.broken(t, k.Target) {
		return false
	}
	have := w.reads(t, k.Target)
	for _, r := range w.rules {
		if r.target != k.Target || r.step != "" && r.step != st.Name || r.unless != "" && have[r.unless] {
			continue
		}
		if !slices.ContainsFunc(r.all, func(x string) bool { return !have[x] }) {
			return false
		}
	}
	return true
}

// runsGreen is what a run of one key shows by now: the truth of the tree, and what
// has drifted since.
func (w *law) runsGreen(t tree, k queue.Key) bool {
	if !w.green(t, k) {
		return false
	}
	st, _ := queue.NewStepSet(stepsOf(t)).Step(k.Step)
	have := w.reads(t, k.Target)
	return !slices.ContainsFunc(w.drifts, func(r rule) bool {
		return r.target == k.Target && (r.step == "" || r.step == st.Name) && !slices.ContainsFunc(r.all, func(x string) bool { return !have[x] })
	})
}

// redIn returns which of the keys that a job was asked for are red by now; where the
// step names no targets and its CI runs everything, as one must whose pass covers the
// tree, all of them as soon as any key of the step on the tree is.
func (w *world) redIn(t tree, j queue.Job) []queue.Key {
	red := func(keys []queue.Key) []queue.Key {
		return slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return w.runsGreen(t, k) })
	}
	if whole := w.everything || j.Step.Counts == config.CountsTree; whole && j.Step.Report != config.ReportGoTestJSON {
		if len(red(queue.KeysOf(j.Step, t.id(), w.hashes(t)))) > 0 {
			return j.Keys
		}
	}
	return red(j.Keys)
}

// stepOf reads a step from its token: name:report:scope:command, and :tree where its
// passes cover the tree, and :count where those on a head count; or :learn where its
// time-out is learned. A command that begins with "broken" fails for every target.
func stepOf(token string) config.Step {
	f := strings.Split(token, ":")
	s := config.Step{Name: f[0], Report: config.Report(f[1]), Scope: config.Scope(f[2]), Run: f[3], Timeout: 10 * minute}
	switch {
	case len(f) > 4 && f[4] == "learn":
		s.TimeoutFrom = minute
	case len(f) > 4:
		s.Counts = config.Counts(f[4])
	}
	if len(f) > 5 {
		s.Earlier, s.Checks = f[5], []config.Check{{Name: f[3]}}
	}
	return s
}

// configOf reads the steps of a tree; the token "?" makes the file unreadable.
func configOf(t tree) (steps []config.Step, broken string) {
	var apart []config.Quarantine
	strict := 0
	for _, tok := range tokens(t[stepsFile]) {
		if tok == "?" {
			return nil, "steps:1:1: cannot be read"
		}
		if q, ok := quarantineOf(tok); ok {
			apart = append(apart, q)
			continue
		}
		if n, ok := strings.CutPrefix(tok, "*"); ok { // strict_new, of all steps on targets
			strict, _ = strconv.Atoi(n)
			continue
		}
		steps = append(steps, stepOf(tok))
	}
	for i := range steps {
		if steps[i].Scope == config.ScopeTargets && !steps[i].ByForge() {
			steps[i].StrictNew = strict
		}
		if steps[i].Scope == config.ScopeTargets && steps[i].Counts == "" {
			steps[i].Quarantine = apart
		}
	}
	if len(steps) == 0 {
		return nil, "no steps"
	}
	return config.WithRepeats(steps), ""
}

// stepsOf returns what a tree is judged by: its own steps, or one that fails.
func stepsOf(t tree) []config.Step {
	steps, broken := configOf(t)
	if broken != "" {
		return []config.Step{{Name: "configuration", Report: config.ReportExitCode, Scope: config.ScopeTargets, Run: "broken: " + broken, Timeout: minute}}
	}
	return steps
}

func short(keys []queue.Key) string {
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%.4s/%s/%.4s", k.Step, k.Target, k.Hash))
	}
	return strings.Join(out, " ")
}
