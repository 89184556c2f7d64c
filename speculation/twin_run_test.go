package speculation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// TestNaiveTwin draws changes, an order, chances, and results that are known,
// and compares what the core makes of them with what the naive twin says. First
// without slots: which land and which are rejected, at each turn and in the end.
// Then with some: which builds start, on which paths, for which targets, at
// which value, and that no better one was left out. No build ends. (With
// SUBMITQUEUE_SOAK set the world checks each turn, too, and logs it.)
func TestNaiveTwin(t *testing.T) {
	seen := map[string]int{}
	rounds(t, 8, func(rt *rapid.T) {
		r := newTwinRun(rt, seen)
		defer logging(rt, r.world)
		r.enter()
		r.know()
		r.verdicts()
		r.builds()
	})
	for _, what := range []string{"landed", "rejected", "bypassed", "rejected behind others", "likeliest", "other future", "part of a change", "slots full", "built after a landing"} {
		if seen[what] == 0 && long && !t.Failed() {
			t.Errorf("no case of: %s; there were %v", what, seen)
		}
	}
}

type twinRun struct {
	*world
	*twin
	rt        *rapid.T
	seen      map[string]int
	truths    []rule
	ids       map[int]queue.ChangeID
	takes     map[int]queue.Instant
	rejected  map[int]bool
	entries   []*queue.Entry
	told      map[string][][]int // known contents → the paths that were built
	lost      bool               // the core may have forgotten something that somebody would ask
	paths     int                // the most that were merged of one change
	push      string             // the last one that was judged
	firstTurn map[int]int
	turn      int
}

func newTwinRun(rt *rapid.T, seen map[string]int) *twinRun {
	n := rapid.SampledFrom([]int{1, 2, 3, 3, 4, 4, 5, 5, 6}).Draw(rt, "changes")
	targets := []string{"a", "b", "c", "d"}[:rapid.SampledFrom([]int{1, 2, 3, 4}).Draw(rt, "targets")]
	r := &twinRun{rt: rt, seen: seen, ids: map[int]queue.ChangeID{}, takes: map[int]queue.Instant{}, rejected: map[int]bool{}, told: map[string][][]int{}, firstTurn: map[int]int{}}
	r.twin = &twin{aff: map[int][]string{}, good: map[int]float64{}, known: map[string]bool{}}
	pairs := map[[2]int]float64{}
	r.pair = func(a, b int) float64 { return pairs[[2]int{min(a, b), max(a, b)}] }
	model := stated{good: r.good, pairs: pairs, takes: map[int]time.Duration{}}
	for c := 1; c <= n; c++ {
		for _, t := range targets {
			if rapid.SampledFrom([]bool{true, true, false}).Draw(rt, "affects") {
				r.aff[c] = append(r.aff[c], t)
			}
		}
		if len(r.aff[c]) == 0 {
			r.aff[c] = targets[:1]
		}
		r.good[c] = rapid.SampledFrom([]float64{0, 0.2, 0.45, 0.5, 0.6, 0.8, 0.9, 0.95, 0.99, 1}).Draw(rt, "good")
		d := time.Duration(rapid.SampledFrom([]int{0, 1, 20, 45, 90, 150, 300}).Draw(rt, "minutes")) * minute
		model.takes[c], r.takes[c] = d, queue.Instant(min(d, 4*time.Hour).Milliseconds())
		for b := 1; b < c; b++ {
			pairs[[2]int{b, c}] = rapid.SampledFrom([]float64{0, 0, 0, 0.004, 0.01, 0.03, 0.08, 0.3, 0.9}).Draw(rt, "pair")
		}
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 3, 5}).Draw(rt, "rules") {
		u := rule{target: rapid.SampledFrom(targets).Draw(rt, "red"), all: []string{r.token("by")}}
		switch rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "kind") {
		case 1:
			u.all = append(u.all, r.token("with"))
		case 2:
			u.unless = r.token("unless")
		}
		r.truths = append(r.truths, u)
	}
	rules := papers()
	rules.Threshold = rapid.SampledFrom([]float64{1e-6, 0.0512, 0.3012, 0.6012}).Draw(rt, "threshold")
	r.worth = rules.Threshold
	if rapid.Bool().Draw(rt, "target threshold") {
		rules.Off = slices.DeleteFunc(rules.Off, func(i config.Ingredient) bool { return i == config.IngredientTargetThreshold })
		r.single = 0.4
	}
	if rapid.Bool().Draw(rt, "by finish") {
		rules.Order = config.OrderFinish
	}
	l, files := plain(targets...)
	l.rules = r.truths
	r.world = newWorld(rt, l, files, rulesOf(rules))
	r.core.facts.Beliefs.Ask(model)
	r.audit.off = quick
	r.begin(1)
	r.tell(queue.Capacity{})
	return r
}

func (r *twinRun) token(what string) string {
	return fmt.Sprintf("c%d", rapid.IntRange(1, len(r.aff)).Draw(r.rt, what))
}

// enter asks to land all changes, one after the other.
func (r *twinRun) enter() {
	arrival := map[int]queue.Instant{}
	var numbers []int
	for c := 1; c <= len(r.aff); c++ {
		r.now = r.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(r.rt, "pause")) * minute)
		e := edit{}
		for _, t := range r.aff[c] {
			e[fileOf(t)] = fmt.Sprintf("c%d", c)
		}
		p := r.open(r.main, e)
		r.step(r.say(p, "dev", "/land"))
		r.settleDown()
		ch := r.mustBe(p, queue.Pending)
		numbers, arrival[c], r.ids[c] = append(numbers, c), ch.Arrival, ch.ID
	}
	breaks := func(a, b int) bool { return r.conflict(a, b) && r.pair(a, b) > 0.1 }
	r.order = line(numbers, arrival, r.takes, breaks, r.rules.Order == config.OrderArrival)
	var got []int
	for _, v := range r.core.Queue("main").Order {
		got = append(got, v.Change.Number)
	}
	if !slices.Equal(got, r.order) {
		r.rt.Fatalf("in order %v; want %v", got, r.order)
	}
	for _, c := range r.order {
		var ahead []int
		v, _ := r.core.View(r.ids[c])
		for _, id := range v.Ahead {
			ahead = append(ahead, number(id))
		}
		if !slices.Equal(ahead, r.ahead(c)) {
			r.rt.Fatalf("ahead of %d are %v; want %v", c, ahead, r.ahead(c))
		}
	}
}

func number(id queue.ChangeID) int {
	n := 0
	fmt.Sscanf(string(id), "%d.", &n)
	return n
}

// know makes results known, as if builds had run on some paths before: of all
// paths of some changes, and of single ones of others.
func (r *twinRun) know() {
	for _, k := range r.keysOf(r.commits[r.main].tree) { // main has just passed, so that no rejection waits for a control
		if e := r.core.State().Ledger[k.ID()]; e != nil {
			e.Confirmed = r.now
		}
		if e, ok := r.store.archive[k.ID()]; ok {
			e.Confirmed = r.now
			r.store.archive[k.ID()] = e
		}
	}
	kinds := rapid.SampledFrom([][]int{{0, 1}, {0, 0, 1}, {0, 0, 1, 1, 2, 3}}).Draw(r.rt, "how much")
	for _, c := range r.order {
		all := subsets(r.ahead(c))
		percent := 100 // of the targets
		switch rapid.SampledFrom(kinds).Draw(r.rt, "known") {
		case 0:
			all = nil
		case 1:
			all = [][]int{rapid.SampledFrom(all).Draw(r.rt, "path")}
			percent = 50
		case 2:
			percent = 90
		}
		for _, on := range all {
			r.knowPath(c, on, percent)
		}
	}
	for _, e := range r.entries {
		r.core.State().Ledger[e.ID] = e
	}
	paths := map[queue.ChangeID]int{}
	for _, l := range r.core.State().Links {
		paths[l.Change]++
		r.paths = max(r.paths, paths[l.Change])
	}
	r.store.records = map[queue.Ref][]byte{}
	for _, ref := range refsOf(r.core.State()) {
		rec, _, err := r.core.State().Encode(ref)
		if err != nil {
			r.rt.Fatal(err)
		}
		r.store.records[ref] = rec.Data
	}
	r.core = NewWith(r.core.State(), r.core.facts.Beliefs.Model)
}

// knowPath has a path merged and writes results of some of its targets into the
// ledger.
func (r *twinRun) knowPath(c int, on []int, percent int) {
	var picks []queue.Pick
	var chain []queue.ChangeID
	for _, x := range append(slices.Clone(on), c) {
		picks = append(picks, pickOf(r.core.State().Changes[r.ids[x]]))
		chain = append(chain, r.ids[x])
	}
	made := r.resolveChain("", queue.Resolve{Base: r.main, Picks: picks}).(queue.Resolved)
	r.tell(made)
	r.settleDown()
	l := made.Links[len(made.Links)-1]
	build := queue.BuildID("before/" + string(l.ID))
	r.runs[build] = &run{build: queue.Build{ID: build, Change: l.Change, Commit: l.Commit}, over: true}
	for _, k := range l.Keys {
		if rapid.SampledFrom([]int{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}).Draw(r.rt, "target known") >= percent {
			continue
		}
		e := &queue.Entry{ID: k.ID(), Keys: []queue.Key{k}, Tries: 1}
		green := r.green(r.commits[l.Commit].tree, k)
		if green {
			e.Passed, e.By, e.Change, e.Commit = r.now, build, l.Change, l.Commit
		} else {
			e.Failures = []queue.Failure{{At: r.now, Build: build, Ran: queue.Ran{Change: l.Change, Commit: l.Commit, Main: r.main, Chain: chain[:len(chain)-1]}}}
		}
		r.entries = append(r.entries, e)
		content := r.content(k.Target, append(slices.Clone(on), c))
		r.known[content] = green
		r.told[content] = append(r.told[content], append(slices.Clone(on), c))
	}
}

// settle carries out everything but builds, and looks at each turn.
func (r *twinRun) settle(each func()) {
	for n := 0; len(r.waits) > 0; n++ {
		if n > 2000 {
			r.rt.Fatalf("no end of actions")
		}
		r.now++
		r.turn++
		r.work(0)
		r.judge()
		each()
	}
}

// verdicts lets the core decide without slots.
func (r *twinRun) verdicts() {
	r.tell(queue.Tick{})
	r.judge()
	r.settle(func() {})
	if len(r.landed)+len(r.rejected) > 0 && !r.forget() {
		return
	}
	for _, c := range r.order {
		switch {
		case r.mustReject(c):
			r.rt.Fatalf("%d is red on all paths and is not rejected", c)
		case r.mayLand(c):
			r.rt.Fatalf("%d is green on all paths and does not land", c)
		}
	}
}

// forget takes from the twin what the core does not remember once verdicts have
// been given: a path of a change that has one, and a path with a rejected change
// on it. The results are in the ledger still; the core has to merge a path anew
// to find them, and does so only where it wants to build it. It is false where
// there were more paths of one change than the core keeps.
func (r *twinRun) forget() bool {
	asked := map[string]bool{}
	for _, c := range r.order {
		for _, on := range subsets(r.ahead(c)) {
			for _, t := range r.aff[c] {
				asked[r.content(t, append(on, c))] = true
			}
		}
	}
	for content, paths := range r.told {
		kept := slices.ContainsFunc(paths, func(path []int) bool {
			c := path[len(path)-1]
			return slices.Contains(r.order, c) && !slices.ContainsFunc(path, func(x int) bool { return r.rejected[x] })
		})
		if !kept {
			delete(r.known, content)
			r.lost = r.lost || asked[content]
		}
	}
	r.lost = r.lost || r.paths > maxPaths
	return r.paths <= maxPaths
}

// judge looks at what the last turn has decided.
func (r *twinRun) judge() {
	s := r.core.State()
	var out []int
	for _, c := range r.order {
		if s.Changes[r.ids[c]].Phase == queue.Rejected {
			out = append(out, c)
		}
	}
	for len(out) > 0 { // one verdict may make another possible
		i := slices.IndexFunc(out, r.mayReject)
		if i < 0 {
			r.rt.Fatalf("%v are rejected, and not red on all paths", out)
		}
		r.seen["rejected"]++
		if len(r.ahead(out[i])) > 0 {
			r.seen["rejected behind others"]++
		}
		r.rejected[out[i]] = true
		r.decide(out[i], false)
		out = slices.Delete(out, i, i+1)
	}
	if s.Push == nil || s.Push.ID == r.push {
		return
	}
	r.push = s.Push.ID
	for _, id := range s.Push.Changes {
		c := number(id)
		if !slices.Contains(r.order, c) || !r.mayLand(c) {
			r.rt.Fatalf("%d lands, and is not green on all paths", c)
		}
		r.seen["landed"]++
		if len(r.ahead(c)) > 0 {
			r.seen["bypassed"]++
		}
		r.decide(c, true)
	}
}

// builds gives the core slots and looks at what it starts.
func (r *twinRun) builds() {
	slots := rapid.SampledFrom([]int{1, 2, 3, 4, 6, 8, 12}).Draw(r.rt, "slots")
	if r.lost || r.suspected() {
		return // what was forgotten may be found again; how long a pair is remembered the twin does not say
	}
	decided := len(r.landed) + len(r.rejected)
	r.tell(queue.Capacity{Slots: slots})
	judged := map[queue.BuildID]bool{}
	r.judgeBuilds(judged)
	r.settle(func() { r.judgeBuilds(judged) })
	if decided != len(r.landed)+len(r.rejected) {
		r.rt.Fatalf("a verdict without a result")
	}
	live := r.core.State().Builds
	if len(live) > slots {
		r.rt.Fatalf("%d builds in %d slots", len(live), slots)
	}
	least := 0.0 // what a build must be worth that may be left out
	if len(live) == slots {
		r.seen["slots full"]++
		least = math.Inf(1)
		for _, b := range live {
			least = min(least, b.Value)
		}
	}
	for _, x := range r.choices() {
		if left := r.left(x); len(left) > 0 && !x.tied && x.value > least+1e-9 {
			r.rt.Fatalf("%s is worth %v and is not built for %v; there are %v", x.name(), x.value, left, r.show())
		}
	}
}

// suspected: a pending change may be red together with one that has landed.
func (r *twinRun) suspected() bool {
	return slices.ContainsFunc(r.order, func(c int) bool {
		return slices.ContainsFunc(r.landed, func(a int) bool { return r.conflict(a, c) && r.pair(a, c) >= leastPair })
	})
}

// left returns the open targets of a path that should be built and are not.
func (r *twinRun) left(x choice) []string {
	running := map[string]bool{}
	for _, b := range r.core.State().Builds {
		for _, k := range b.Keys() {
			running[r.content(k.Target, append(r.on(b), number(b.Change)))] = true
		}
	}
	var out []string
	for _, t := range r.opened(x) {
		_, built := r.firstTurn[x.change]
		if !running[r.content(t, append(slices.Clone(x.on), x.change))] && (x.sure || !built || x.needed[t] >= r.single) {
			out = append(out, t)
		}
	}
	return out
}

// on returns the changes that a build assumes, without those that have landed.
func (r *twinRun) on(b *queue.Build) []int {
	var out []int
	for _, id := range b.Chain {
		if n := number(id); !slices.Contains(r.landed, n) {
			out = append(out, n)
		}
	}
	return out
}

func (r *twinRun) show() string {
	var out []string
	for _, id := range derived.Sorted(r.core.State().Builds) {
		b := r.core.State().Builds[id]
		x := choice{change: number(b.Change), on: r.on(b)}
		var targets []string
		for _, k := range b.Keys() {
			targets = append(targets, k.Target)
		}
		out = append(out, fmt.Sprintf("%s for %v at %v", x.name(), targets, b.Value))
	}
	return strings.Join(out, ", ")
}

// judgeBuilds looks at the builds that the last turn has started.
func (r *twinRun) judgeBuilds(judged map[queue.BuildID]bool) {
	choices := r.choices()
	live := r.core.State().Builds
	for _, id := range derived.Sorted(live) {
		b := live[id]
		if judged[id] {
			continue
		}
		judged[id] = true
		if b.Change == "" {
			continue // a control: the papers have none
		}
		c := number(b.Change)
		if len(r.landed) > 0 {
			r.seen["built after a landing"]++
		}
		if _, built := r.firstTurn[c]; !built {
			r.firstTurn[c] = r.turn
		}
		i := slices.IndexFunc(choices, func(x choice) bool { return x.change == c && slices.Equal(x.on, r.on(b)) })
		if i < 0 {
			r.rt.Fatalf("a build of no path that is worth one: %s", r.show())
		}
		x := choices[i]
		if math.Abs(x.value-b.Value) > 1e-9 {
			r.rt.Fatalf("%s is worth %v; want %v", x.name(), b.Value, x.value)
		}
		likely, _ := r.likeliest(c)
		if slices.Equal(likely, x.on) {
			r.seen["likeliest"]++
		} else {
			r.seen["other future"]++
		}
		all := x.sure || r.firstTurn[c] == r.turn
		for _, k := range b.Keys() {
			if !slices.Contains(r.opened(x), k.Target) || !all && x.needed[k.Target] < r.single {
				r.rt.Fatalf("%s is asked for %s, which is known or not needed", x.name(), k.Target)
			}
		}
		if len(b.Keys()) < len(r.aff[c]) {
			r.seen["part of a change"]++
		}
		if all {
			if left := r.left(choice{change: c, on: x.on, sure: true}); len(left) > 0 {
				r.rt.Fatalf("%s is the first of its change, and %v is not built", x.name(), left)
			}
		}
	}
}
