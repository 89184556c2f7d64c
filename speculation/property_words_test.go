package speculation

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// TestEveryHashOfMainWasVerified is the promise of the whole: random trees whose
// files say what the graph is, random changes of code and graph, and random
// executions with speculation, bypasses, batches, faults and any predictor. The
// queue is told what package conflict makes of the trees. Whenever main is about
// to move, each target of each commit is written out with all that it is made
// of, and must have passed in some build just so. The world's audit checks the
// rest: a rejected change is red on main, none lands twice, all end.
//
// Footprints are true, empty, full or nonsense: landing does not rest on them.
func TestEveryHashOfMainWasVerified(t *testing.T) {
	seen := map[string]int{}
	rounds(t, 2, func(rt *rapid.T) {
		p := newProof(rt, seen)
		defer logging(rt, p.world)
		p.live()
		p.calm()
		p.audit.final()
		p.count()
	})
	t.Log(seen)
	if t.Failed() || !long {
		return
	}
	for _, what := range []string{"landed", "rejected", "bypass", "kept hash",
		"an edge ahead of two", "an edge ahead of two that need it to meet", "red only with the edge", "red only with the edge, and two landed",
		"all three landed", "definitions conflict", "outside"} {
		if seen[what] == 0 {
			t.Errorf("no case of: %s", what)
		}
	}
	for _, kind := range conflicttest.EditKinds {
		if seen["landed "+kind] == 0 {
			t.Errorf("no edit of the kind %s has landed", kind)
		}
	}
}

// proof is a history in a world of Words, with what was verified.
type proof struct {
	*history
	*built
	seen     map[string]int
	verified map[queue.Key]bool // under what targets are made of
	excused  map[queue.Key]bool // on a main that the queue did not make
	outsider map[queue.CommitID]bool
	drew     []string                    // kinds of the last edit
	kinds    map[queue.CommitID][]string // of each head
	looked   string
	three    []*pull // the triple
	redOnly  bool    // only the three of them together are red
}

func newProof(rt *rapid.T, seen map[string]int) *proof {
	h := &history{pick: even(rt), flaked: map[queue.Digest]int{}, timed: map[queue.Digest]int{}}
	places := conflicttest.Places{Barrier: []string{barrier, stepsFile}, Ignore: []string{"docs/"}, Unowned: config.UnownedAll}
	if h.chance(50, "unowned target") {
		places.Unowned = config.UnownedTarget
	}
	places.Lean = h.chance(50, "lean")
	p := &proof{history: h, built: &built{places, map[queue.TreeID]map[string]conflicttest.Content{}}, seen: seen,
		verified: map[queue.Key]bool{}, excused: map[queue.Key]bool{}, outsider: map[queue.CommitID]bool{}, kinds: map[queue.CommitID][]string{}}
	d := &conflicttest.Drawer{Pick: func(n int) int { return h.pick(n, "draw") }}
	d.Word = func() string { return []string{"p", "q", "r", "s", "p", "q", "heal", "bad"}[h.pick(8, "word")] }
	files := tree(d.Tree())
	files[stepsFile] = []string{unit, "unit:exit-code:targets:test", unit + " lint:exit-code:repository:lint", unit + " vet:exit-code:targets:vet"}[h.pick(4, "steps")]
	l := law{built: p.built, needs: map[string][]string{}}
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		l.targets = append(l.targets, n)
		l.rules = append(l.rules, rule{target: n, all: []string{"bad"}}, rule{target: n, all: []string{"one", "two"}},
			rule{target: n, step: "unit", all: []string{"p", "q"}, unless: "heal"}, rule{target: n, all: []string{"q", "r", "s"}})
	}
	l.rules = append(l.rules, rule{target: config.TargetUnowned, all: []string{"p", "bad"}}, rule{target: config.TargetTree, step: "lint", all: []string{"p", "s"}})
	r := rulesOf(config.Rules{Retries: h.pick(2, "retries"), BuildsPerChange: []int{20, 8}[h.pick(2, "cap")]})
	if h.chance(30, "arrival") {
		r.Order = config.OrderArrival
	}
	if h.chance(50, "batch") {
		r.Batch = []config.Batch{config.BatchIndependent, config.BatchRollup}[h.pick(2, "kind")]
		r.BatchMax = 2 + h.pick(3, "batch-max")
	}
	h.world = newWorld(rt, l, files, r)
	h.real = &analyst{places: places, memo: map[queue.TreeID]*conflict.Snapshot{}}
	h.audit.brief = quick
	h.good = files
	h.passes, h.audit.arrives = p.passed, p.lands
	p.relation([]int{0, 0, 0, 1, 2, 3}[h.pick(6, "relation")])
	switch h.pick(3, "predictor") {
	case 1:
		h.core.facts.Beliefs.Ask(anyModel{})
	case 2:
		h.core.facts.Beliefs.Ask(trusting{})
	}
	if h.chance(50, "no faults") {
		h.noFaults()
	}
	h.draw = func(t tree) edit {
		if h.chance(5, "edit of steps") {
			return edit{stepsFile: []string{"race:exit-code:targets:race", "-" + unit + " unit:go-test-json:targets:test2", "oops:exit-code:targets:broken"}[h.pick(3, "step")]}
		}
		e, kinds := d.Edit(t.files())
		p.drew = kinds
		return edit(e)
	}
	return p
}

// live begins with a triple, or with changes that may land as one, or with
// nothing, and lets things happen.
func (p *proof) live() {
	p.Helper()
	how := p.pick(10, "beginning")
	if how > 7 {
		p.rules.Batch, p.rules.BatchMax = config.BatchRollup, 2+p.pick(3, "most")
		p.core.facts.Beliefs.Ask(trusting{})
		p.begin(1 + p.pick(2, "slots"))
		for i := range 3 + p.pick(3, "alike") {
			p.step(p.say(p.open(p.main, edit{fileOf("low"): fmt.Sprint("alike", i)}), "dev", "/land"))
		}
		p.settleDown()
	} else {
		p.begin(1 + p.pick(6, "slots"))
		p.settleDown()
		if how > 2 {
			p.triple()
		}
	}
	for range 5 + p.pick(30, "events") {
		if p.chance(30, "one more") {
			p.ask()
		} else {
			p.happen()
		}
		p.look()
	}
}

// noFaults is a world in which nothing fails by itself.
func (h *history) noFaults() {
	h.flake = func([]queue.Key) bool { return false }
	h.timeout = h.flake
	h.infra = func(*queue.Build) (bool, bool) { return false, false }
	h.forgets = func(*queue.Build) bool { return false }
	h.fails = func(*queue.Action) (bool, bool) { return false, false }
	h.loses = func(*queue.Action) bool { return false }
}

// under returns keys of a tree with what their targets are made of as their hash.
func (p *proof) under(t tree, keys []queue.Key) []queue.Key {
	made := map[string]queue.Digest{config.TargetTree: queue.Digest(t.id())}
	for _, h := range p.built.hashes(t) {
		made[h.Target] = h.Hash
	}
	var out []queue.Key
	for _, k := range keys {
		h, ok := made[k.Target]
		if !ok {
			p.Fatalf("the target %s is not in the tree", k.Target)
		}
		out = append(out, queue.Key{Step: k.Step, Target: k.Target, Hash: h})
	}
	return out
}

func (p *proof) passed(t tree, keys []queue.Key) {
	for _, k := range p.under(t, keys) {
		p.verified[k] = true
	}
}

// lands demands of a commit that is about to be main's that each target of it has
// passed as it is there.
func (p *proof) lands(c *commit) {
	p.Helper()
	for _, before := range p.line(c.parent) {
		if before.change == "" && !p.outsider[before.id] {
			p.outsider[before.id] = true
			p.seen["outside"] += num(before.parent != "")
			for _, k := range p.law.keysOf(before.tree) {
				p.excused[k] = !p.verified[k]
			}
		}
	}
	for _, k := range p.law.keysOf(c.tree) {
		switch {
		case p.verified[k]:
		case p.excused[k]:
			p.seen["as it was outside"]++
		default:
			p.Fatalf("%s lands as %s, and no build has verified %s as it is there:\n%s", c.change, c.id, k.Target, p.contents(c.tree)[k.Target].Text)
		}
	}
	p.seen["kept hash"] += len(p.law.keysOf(c.tree)) - len(p.law.newKeys(p.commits[c.parent].tree, c.tree))
	p.seen["several as one"] += num(len(c.also) > 0)
	for _, x := range c.carries() {
		for _, k := range p.kinds[x.Head] {
			p.seen["landed "+k]++
		}
		p.seen["bypass"] += num(p.bypassed(x.Change))
	}
}

// bypassed reports whether a change of an earlier place waits that the one which
// lands conflicts with.
func (p *proof) bypassed(id queue.ChangeID) bool {
	s, x := p.core.State(), index.New()
	for other, f := range s.Footprints {
		x.Put(other, *f)
	}
	for other, ch := range s.Changes {
		if ch.Phase == queue.Pending && ch.Virtual < s.Changes[id].Virtual && x.Conflict(id, other) {
			return true
		}
	}
	return false
}

func num(b bool) int {
	if b {
		return 1
	}
	return 0
}

// triple has three changes asked for: the first adds an edge, the second edits
// its head and the third its tail. Together only is there something that none of
// their pairs has, and it may be red.
func (p *proof) triple() {
	p.Helper()
	m := p.commits[p.main]
	var pairs [][2]string
	for from, c := range p.contents(m.tree) {
		for to := range p.contents(m.tree) {
			if from < to && from != config.TargetUnowned && to != config.TargetUnowned && !slices.Contains(c.Files, fileOf(to)) &&
				!slices.Contains(p.contents(m.tree)[to].Files, fileOf(from)) {
				pairs = append(pairs, [2]string{from, to})
			}
		}
	}
	if len(pairs) == 0 {
		return
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	pair := pairs[p.pick(len(pairs), "pair")]
	one, two := "one", "two"
	if p.chance(30, "harmless") {
		one = "fine"
	}
	edits := []edit{{pair[0] + "/BUILD": "dep:" + pair[1]}, {fileOf(pair[1]): one}, {fileOf(pair[0]): two}}
	for _, e := range edits {
		p.three = append(p.three, p.open(m.id, e))
	}
	all, alone := m.tree, false
	for i := range edits {
		all = all.with(edits[i])
		alone = alone || !p.wholly(m.tree.with(edits[(i+1)%3]).with(edits[(i+2)%3]))
	}
	p.redOnly = p.wholly(m.tree) && !alone && !p.wholly(all)
	for _, pull := range p.three {
		p.now = p.now.Add(minute)
		p.step(p.say(pull, "dev", "/land"))
		p.settleDown()
	}
	p.look()
}

// look counts what is in the queue: changes with added edges ahead of two that
// conflict only because of them.
func (p *proof) look() {
	for _, pull := range p.pulls {
		if _, known := p.kinds[pull.head]; !known {
			p.kinds[pull.head] = p.drew
		}
	}
	var ids []queue.ChangeID
	for _, v := range p.core.Queue("main").Order {
		if p.core.State().Footprints[v.Change.ID] != nil {
			ids = append(ids, v.Change.ID)
		}
	}
	if now := fmt.Sprint(ids); now == p.looked || len(ids) < 3 || len(ids) > 6 {
		return
	} else {
		p.looked = now
	}
	for i, a := range ids {
		f := p.core.State().Footprints[a]
		if len(f.Edges) == 0 {
			continue
		}
		for j := i + 1; j < len(ids); j++ {
			for _, c := range ids[j+1:] {
				x := index.New()
				x.Put(ids[j], *p.core.State().Footprints[ids[j]])
				x.Put(c, *p.core.State().Footprints[c])
				if x.Conflict(ids[j], c) {
					continue
				}
				p.seen["an edge ahead of two"]++
				x.Put(a, *f)
				p.seen["an edge ahead of two that need it to meet"] += num(x.Conflict(ids[j], c))
			}
		}
	}
	for _, a := range ids {
		for _, n := range p.core.State().Footprints[a].Read {
			p.seen["definitions conflict"] += num(len(n) > 4 && n[:4] == conflict.DefinitionPrefix)
		}
	}
}

// count counts how it has ended.
func (p *proof) count() {
	for _, ch := range p.core.State().Changes {
		p.seen[string(ch.Phase)]++
	}
	landed := 0
	for _, pull := range p.three {
		for _, c := range p.line(p.main) {
			for _, x := range c.carries() {
				landed += num(x.Head == pull.head)
			}
		}
	}
	p.seen["red only with the edge"] += num(p.redOnly)
	p.seen["red only with the edge, and two landed"] += num(p.redOnly && landed == 2)
	p.seen["all three landed"] += num(landed == 3)
}
