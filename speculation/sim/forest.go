package sim

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// forest is the world's repository as the queue sees it: commits, the keys that
// each adds, and main. A target's hash on a commit is made from the changes there that
// affect it.
type forest struct {
	w      *World
	steps  queue.StepSet
	unit   queue.Digest
	whole  queue.Digest // digest of the step on the whole tree; "" where there is none
	name   []string     // of targets
	all    []int        // targets
	number map[string]int

	truth  *State // of main as it is
	line   []place
	tip    queue.CommitID
	main   []uint64 // by target: the changes and pushes on main that affect it
	trunk  uint64   // all changes and pushes on main
	at     map[queue.CommitID]*spot
	change map[queue.CommitID]int // by head
}

// place is one commit of main.
type place struct {
	commit queue.CommitID
	id     queue.ChangeID
	change int // -1: the push from outside with number push
	push   int
}

// spot is a commit that is not (yet) on main.
type spot struct {
	root  int   // places on main below it
	stack []int // changes above them
}

func newForest(w *World, steps []config.Step) *forest {
	f := &forest{w: w, steps: queue.NewStepSet(steps), number: map[string]int{}, truth: NewState(w), tip: "m0",
		main: make([]uint64, len(w.Targets)), at: map[queue.CommitID]*spot{}, change: map[queue.CommitID]int{}}
	for _, s := range steps {
		if s.Scope == config.ScopeRepository {
			f.whole = s.Digest()
		} else {
			f.unit = s.Digest()
		}
	}
	for t := range w.Targets {
		f.name = append(f.name, fmt.Sprintf("t%06d", t))
		f.number[f.name[t]] = t
		f.all = append(f.all, t)
	}
	for c := range w.Changes {
		f.change[headOf(c)] = c
	}
	return f
}

func headOf(change int) queue.CommitID { return queue.CommitID(fmt.Sprint("h", change)) }

func (f *forest) names(targets []int) []string {
	out := make([]string, len(targets))
	for i, t := range targets {
		out[i] = f.name[t]
	}
	return out
}

func (f *forest) spot(id queue.CommitID) *spot {
	if s := f.at[id]; s != nil {
		return s
	}
	for i, p := range slices.Backward(f.line) {
		if p.commit == id {
			return &spot{root: i + 1}
		}
	}
	return &spot{}
}

// observe reads main.
func (f *forest) observe(key string, t queue.Observe, cfg *config.Config) queue.Body {
	out := queue.Observed{Action: key, Tip: f.tip, From: t.From, Config: cfg}
	from := len(f.line) - 1
	for from >= 0 && f.line[from].commit != t.From {
		from--
	}
	if t.From == f.tip {
		return out
	}
	for i, p := range f.line[from+1:] {
		if i > 0 && out.Line[len(out.Line)-1].Commit == p.commit {
			l := &out.Line[len(out.Line)-1]
			l.Also, l.Merged = append(l.Also, queue.Carried{Change: p.id, Head: headOf(p.change)}), append(l.Merged, headOf(p.change))
			continue
		}
		l := queue.LineCommit{Commit: p.commit}
		if p.change >= 0 {
			l.Change, l.Head, l.Merged = p.id, headOf(p.change), []queue.CommitID{headOf(p.change)}
		}
		out.Line = append(out.Line, l)
	}
	return out
}

// resolve merges. Git never fails to merge here.
func (f *forest) resolve(key string, t queue.Resolve) queue.Body {
	out := queue.Resolved{Action: key, Steps: []queue.StepSet{f.steps}, Guard: t.Guard()}
	at, parent := f.spot(t.Base), t.Base
	hash := map[int]uint64{} // by target, if the stack has changed it
	of := func(target int) uint64 {
		if h, ok := hash[target]; ok {
			return h
		}
		h := f.main[target]
		for _, p := range f.line[at.root:] {
			if f.touches(p, target) {
				h ^= p.mark()
			}
		}
		for _, c := range at.stack {
			if f.w.Changes[c].affects(target) {
				h ^= label(c)
			}
		}
		hash[target] = h
		return h
	}
	stack := at.stack
	for i := 0; i < len(t.Picks); i++ {
		ids := []queue.ChangeID{t.Picks[i].Change}
		if i == len(t.Picks)-t.Together {
			for _, p := range t.Picks[i+1:] {
				ids = append(ids, p.Change)
			}
		}
		id := queue.CommitID(digest.Of(string(parent), string(queue.LinkOf("", ids...)))[:16])
		l := queue.Link{ID: queue.LinkOf(parent, ids...), Parent: parent, With: ids[:len(ids)-1], Change: ids[len(ids)-1], Outcome: queue.Merged,
			Commit: id, Tree: queue.TreeID("t" + id), Steps: f.steps.ID}
		var targets []int
		stack = slices.Clone(stack)
		for _, p := range t.Picks[i : i+len(ids)] {
			c := f.change[p.Head]
			stack = append(stack, c)
			targets = append(targets, f.w.Changes[c].Targets...)
			for _, target := range f.w.Changes[c].Targets {
				hash[target] = of(target) ^ label(c)
			}
		}
		sortInts(targets)
		targets = slices.Compact(targets)
		l.Keys = make([]queue.Key, 0, len(targets)+1)
		for _, target := range targets {
			l.Keys = append(l.Keys, queue.Key{Step: f.unit, Target: f.name[target], Hash: hashed(hash[target])})
		}
		whole := hashed(f.content(at.root, stack))
		if f.w.Opaque {
			l.Keys = []queue.Key{{Step: f.unit, Target: config.TargetTree, Hash: whole}}
		}
		if f.whole != "" {
			l.Keys = append(l.Keys, queue.Key{Step: f.whole, Target: config.TargetTree, Hash: whole})
		}
		i += len(ids) - 1
		if f.at[id] == nil {
			f.at[id] = &spot{root: at.root, stack: stack}
		}
		out.Links = append(out.Links, l)
		parent = id
	}
	return out
}

func hashed(x uint64) queue.Digest {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], x)
	return queue.Digest(hex.EncodeToString(b[:]))
}

// content stands for the whole tree of a commit: the sum of its parts, in any order.
func (f *forest) content(root int, stack []int) uint64 {
	out := f.trunk
	for _, p := range f.line[root:] {
		out ^= p.mark()
	}
	for _, c := range stack {
		out ^= label(c)
	}
	return out
}

func (p place) mark() uint64 {
	if p.change < 0 {
		return mix(^uint64(p.push))
	}
	return label(p.change)
}

func (f *forest) touches(p place, target int) bool {
	if p.change < 0 {
		return slices.Contains(f.w.Pushes[p.push].Targets, target)
	}
	return f.w.Changes[p.change].affects(target)
}

// broken says which of the targets fail on a commit, and whether the tree step
// does.
func (f *forest) broken(id queue.CommitID, targets []int) (red []int, tree bool) {
	s := f.spot(id)
	var off []int
	for _, p := range f.line[s.root:] {
		if p.change >= 0 && f.truth.Has(p.change) && !slices.Contains(s.stack, p.change) {
			f.truth.Remove(p.change)
			off = append(off, p.change)
		}
	}
	red, tree = f.truth.With(s.stack, targets)
	for _, c := range off {
		f.truth.Add(c)
	}
	return red, tree
}

// land moves main along the commits of a push.
func (f *forest) land(p *queue.Push, ids map[queue.ChangeID]int) {
	for i, commit := range p.Commits {
		for _, id := range p.Of(i) {
			c := ids[id]
			f.truth.Add(c)
			f.trunk ^= label(c)
			for _, t := range f.w.Changes[c].Targets {
				f.main[t] ^= label(c)
			}
			f.line = append(f.line, place{commit: commit, id: id, change: c})
		}
		f.at[commit] = &spot{root: len(f.line)}
	}
	f.tip = p.Tip()
}

// push puts a commit from outside onto main.
func (f *forest) push(n int) {
	x := &f.w.Pushes[n]
	f.truth.Push(x)
	p := place{commit: queue.CommitID(fmt.Sprint("outside", n)), change: -1, push: n}
	f.trunk ^= p.mark()
	for _, t := range x.Targets {
		f.main[t] ^= p.mark()
	}
	f.line = append(f.line, p)
	f.tip = p.commit
}

// model is what the world's predictor believes.
type model struct {
	w     *World
	pairs []map[int]float64 // by the later change
}

var _ predict.Model = (*model)(nil)

func newModel(w *World) *model {
	m := &model{w: w, pairs: make([]map[int]float64, len(w.Changes))}
	for i := range w.Changes {
		if list := w.Changes[i].Predicted.Conflicts; len(list) > 0 {
			m.pairs[i] = make(map[int]float64, len(list))
			for _, x := range list {
				m.pairs[i][x.With] = x.P
			}
		}
	}
	return m
}

// Good implements predict.Model.
func (m *model) Good(ch *queue.Change) float64 { return m.w.Changes[ch.Number-1].Predicted.Success }

// Conflict implements predict.Model.
func (m *model) Conflict(a, b *queue.Change) float64 {
	x, y := a.Number-1, b.Number-1
	if x > y {
		x, y = y, x
	}
	return m.pairs[y][x]
}

// Duration implements predict.Model.
func (m *model) Duration(ch *queue.Change) (time.Duration, bool) {
	return span(m.w.Changes[ch.Number-1].Predicted.DurationMin), true
}

// Cold implements predict.Model.
func (m *model) Cold() bool { return false }

// informedRules are the settings for comparing the planner at its best with the peers.
// There is no cap, as the peers have none. In a world without flakes no build is run
// again, as the peers do not run builds again.
func informedRules(w *World) map[string]string {
	retries := "0"
	if w.Flaky > 0 {
		retries = "2"
	}
	return map[string]string{"builds_per_change": "1000", "max_overtake": "24h", "retries": retries}
}

// rulesOf reads the settings of the queue section, over those of base, over a server's
// defaults. Its errors are one line, without lines and columns, since there is no file.
func rulesOf(base, set map[string]string) (config.Rules, error) {
	all := map[string]string{}
	maps.Copy(all, base)
	maps.Copy(all, set)
	var b strings.Builder
	b.WriteString("version: 1\nanalysis: {analyzer: go}\nsteps: [{name: s, run: \"x {targets}\", report: go-test-json}]\nqueue:\n")
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if strings.ContainsAny(k+all[k], "\r\n") {
			return config.Rules{}, fmt.Errorf("setting %q: %q has more than one line", k, all[k])
		}
		fmt.Fprintf(&b, "  %s: %s\n", k, all[k])
	}
	c, err := config.Parse("settings", []byte(b.String()))
	var wrong config.Errors
	if errors.As(err, &wrong) {
		var texts []string
		for _, x := range wrong {
			texts = append(texts, x.Message)
		}
		return config.Rules{}, errors.New(strings.Join(texts, "; "))
	}
	if err != nil {
		return config.Rules{}, err
	}
	return c.Queue, nil
}

func sortInts(x []int) { slices.Sort(x) }
