package speculation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// audit checks every turn and every push against the world's own truth.
type audit struct {
	w        *world
	phases   map[queue.ChangeID]queue.Phase // verdicts given
	keys     map[queue.BuildID]string
	counted  map[queue.BuildID]bool // those of spent that have not been started yet
	spent    []queue.Instant        // when builds were first started
	ours     map[queue.CommitID][]queue.ChangeID
	removed  map[queue.ChangeID]bool // landed, and taken out by a forced push
	off      bool                    // benchmarks only: nothing is checked
	lossy    bool                    // the store has lost something
	mute     bool                    // nothing is logged
	brief    bool                    // turns are made once, and nothing is compared with a core made anew
	turns    int                     // so far
	arrives  func(c *commit)         // asked of each commit that is about to land
	looks    func()                  // called after each turn
	on       map[queue.ChangeID]int  // what stacked changes were on top of, as the queue last knew
	moved    map[int]bool            // pull requests that somebody has given another base
	flaky    bool                    // accusations are not checked: flakes go beyond the retries
	drifting bool                    // nor are they where main has drifted: a hunt takes what was green an hour ago to be green
	trusting bool                    // rejections are not checked: flakes go beyond the retries
}

func newAudit(w *world) audit {
	return audit{w: w, phases: map[queue.ChangeID]queue.Phase{}, keys: map[queue.BuildID]string{},
		ours: map[queue.CommitID][]queue.ChangeID{}, removed: map[queue.ChangeID]bool{},
		on: map[queue.ChangeID]int{}, moved: map[int]bool{}}
}

// forget drops what a loss has made undone.
func (a *audit) forget() {
	a.lossy = true
	a.phases = map[queue.ChangeID]queue.Phase{}
	// Builds started in the lost turns are not counted any more.
	a.spent, a.counted = slices.Clone(a.w.core.State().Spent), map[queue.BuildID]bool{}
	for id := range a.w.core.State().Builds {
		a.counted[id] = true
	}
	for id, ch := range a.w.core.State().Changes {
		if ch.Phase.Final() {
			a.phases[id] = ch.Phase
		}
	}
}

// firstCompared is the first turn of a world that is made anew, from what is stored, where
// SUBMITQUEUE_REQUIRE does not name "long": one of five is, and each run has others, or each
// SUBMITQUEUE_SEED. It is
// drawn once, so that a history does the same again when rapid shrinks it.
var firstCompared = storetest.Draws("compared").IntN(5)

// compares says whether this turn, and what is known in it, is compared with that of a core
// that is made anew. It takes most of the time of a history.
func (a *audit) compares() bool { return long || a.turns%5 == firstCompared }

// step makes the turn three times, where it compares turns: on the live core and on two made from what
// is stored. All three must be the same, and what is stored must be the state.
func (a *audit) step(events []queue.Event) Turn {
	w := a.w
	w.Helper()
	if a.off || a.brief {
		return Step(w.core, events)
	}
	a.turns++
	if !a.compares() {
		turn := Step(w.core, events)
		a.chances()
		a.judgements()
		return turn
	}
	twin, again := w.store.load(w), w.store.load(w)
	w.store.mustHold(w)
	if was, made := remembered(w.core), remembered(twin); was != made {
		w.Fatalf("a core made from the stored state knows other things (-live +stored):\n%s", cmp.Diff(was, made))
	}
	turn := Step(w.core, events)
	a.chances()
	a.judgements()
	want := encode(turn) + builds(w.core)
	if got := encode(Step(twin, events)) + builds(twin); got != want {
		w.Fatalf("a core made from the stored state makes another turn (-live +stored):\n%s", cmp.Diff(want, got))
	}
	if got := encode(Step(again, events)) + builds(again); got != want {
		w.Fatalf("two cores made from one state make different turns:\n%s", cmp.Diff(want, got))
	}
	if turn.Wake != w.now+1 {
		a.repeat(again, events)
	}
	return turn
}

// chances works out anew what changes remember of their chances.
func (a *audit) chances() {
	w := a.w
	w.Helper()
	for id, n := range w.core.facts.Futures.Nodes {
		if !n.Fair || !n.Made {
			continue
		}
		was := plan.MindOf(n).Base
		n.Fair = false
		if now := w.core.planner.Expect(n, n.Edges); now != was {
			w.Fatalf("the chance of %s is %v, and is remembered as %v", id, now, was)
		}
	}
}

// judgements judges anew what links, and the likeliest futures of changes, are
// remembered to be.
func (a *audit) judgements() {
	w, c := a.w, a.w.core
	w.Helper()
	for l, i := range c.facts.Links.Infos {
		was := *c.facts.Links.State(l) // as it is remembered, where it is
		if now := c.facts.Links.Judge(l, i.Facts); was.Status != now.Status || !slices.Equal(was.Missing, now.Missing) || len(was.Broken) != len(now.Broken) || len(was.Shaken) != len(now.Shaken) {
			w.Fatalf("of %s it is remembered that it is %d with %d missing, %d broken and %d shaken; it is %d with %d, %d and %d", l.ID,
				was.Status, len(was.Missing), len(was.Broken), len(was.Shaken), now.Status, len(now.Missing), len(now.Broken), len(now.Shaken))
		}
	}
	if c.facts.Futures.Distrusted() {
		return // they are made again before they are asked
	}
	for id, n := range c.facts.Futures.Nodes {
		if !n.Shape || len(n.Stirs) > 0 || !n.Made || plan.MindOf(n).Likely.N == nil || c.planner.IsStale(&plan.MindOf(n).Likely) {
			continue
		}
		var now plan.Future
		c.planner.See(n, n.Edges, plan.MindOf(n).Takes, &now)
		if was := &plan.MindOf(n).Likely; was.Status != now.Status || was.Blind != now.Blind || !slices.Equal(was.By, now.By) {
			w.Fatalf("of the likeliest future of %s it is remembered that it is %d, by target %v; it is %d, %v", id, was.Status, was.By, now.Status, now.By)
		}
	}
}

// repeat folds the same events again: nothing is decided by that, and the plan
// comes to rest after a few turns in which nothing happens.
func (a *audit) repeat(c *Core, events []queue.Event) {
	w := a.w
	w.Helper()
	const turns = 4
	for n := range turns {
		turn := Step(c, events)
		for _, note := range turn.Notes {
			if planned := note.What == "build-asked" || note.What == "rollup" || note.What == "split"; !planned && note.Reason.Code != queue.ReasonBuildCap && note.Reason.Code != queue.ReasonParent {
				w.Fatalf("folding the same events again: %+v", note)
			}
		}
		if len(turn.Actions) == 0 {
			return
		}
		if n == turns-1 {
			w.Fatalf("the plan does not come to rest: %+v", turn.Actions)
		}
		events = []queue.Event{{ID: "tick", At: w.now, Body: queue.Tick{}}}
	}
}

// remembered is what a core has derived of its state that verdicts and plans go by.
// Assumption keys are told by how they differ from the front: a change that landed
// long ago is in all of them, or, with its footprint forgotten, in none.
func remembered(c *Core) string {
	var out strings.Builder
	fmt.Fprintln(&out, "proven:", derived.Sorted(c.facts.Futures.Verified))
	if c.facts.Futures.Distrusted() {
		return out.String() // it is made again before it is asked
	}
	var known []string
	for m, k := range c.facts.Futures.Assumed.Known {
		line := fmt.Sprintf("%x: %t of", m^c.facts.Futures.Assumed.At(k.Target), k.Status == derived.Verified) // failures fade with time
		for _, s := range k.From {
			line += fmt.Sprintf(" %s/%s", s.Link.ID, c.facts.Futures.Assumed.Names[s.Target])
		}
		known = append(known, line)
	}
	slices.Sort(known)
	return out.String() + strings.Join(known, "\n")
}

// builds are the live builds as they are stored.
func builds(c *Core) string {
	data, err := json.MarshalIndent(c.s.Builds, "", " ")
	if err != nil {
		panic(err)
	}
	return string(data)
}

func encode(t Turn) string {
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		panic(err)
	}
	return string(data)
}

// check looks at the state after a turn.
func (a *audit) check(t Turn) {
	a.w.Helper()
	if a.off {
		return
	}
	a.verdicts(t)
	a.forgotten()
	if a.looks != nil {
		a.looks()
	}
	a.budget()
	a.quotas()
	a.stacks(t)
	a.refusals()
	a.heads()
	a.hosts()
	a.culprits()
	a.reverts()
	a.owners(t)
	if !a.brief && a.compares() {
		a.caches()
		a.explained(t)
	}
	asked := 0
	for _, ch := range a.w.core.State().Changes {
		if ch.Revert == "" { // what is tried for main is shown with what turned it red
			asked++
		}
	}
	if q := a.w.core.Queue("main"); len(q.Order)+len(q.Recent) != asked {
		a.w.Fatalf("the queue shows %d and %d of %d changes", len(q.Order), len(q.Recent), asked)
	}
}

// hosts demands that of the hosts that are there one gets builds, that slots of others
// are not counted, and that a live build is not given to one that is benched.
func (a *audit) hosts() {
	s := a.w.core.State()
	a.w.Helper()
	benched, there := 0, 0
	for _, h := range s.Hosts {
		if h.Slots > 0 {
			there++
		}
		if h.Bench == nil {
			continue
		}
		benched++
		if a.w.hosts.broken != "" && h.Name != a.w.hosts.broken && !a.w.hosts.slow[h.Name] && !a.drifting {
			a.w.Fatalf("%s is benched, and %s is the broken one", h.Name, a.w.hosts.broken)
		}
	}
	if benched > 0 && benched == len(s.Hosts) && there > 1 {
		a.w.Fatalf("all %d hosts are benched", benched)
	}
	for _, b := range s.Builds {
		if b.Only != "" {
			a.w.Fatalf("a probe of %s is among the builds", b.Only)
		}
	}
}

// caches compares what the core remembers with what it would compute.
func (a *audit) caches() {
	c := a.w.core
	a.w.Helper()
	fresh := New(c.s)
	fresh.landing.sortOrder()
	c.landing.sortOrder()
	for _, id := range c.facts.Order.IDs {
		at := c.s.Changes[id].Rollup
		if at != "" && c.s.Changes[at] == nil {
			a.w.Fatalf("%s is in a rollup of nobody: %s", id, at)
		}
	}
	if !slices.Equal(c.facts.Order.IDs, fresh.facts.Order.IDs) {
		a.w.Fatalf("order %v, made again %v", c.facts.Order.IDs, fresh.facts.Order.IDs)
	}
	for _, id := range c.facts.Order.IDs {
		if got, want := c.facts.Order.FirstAhead(id), fresh.facts.Order.Seek(id, derived.MaxDepth+1); !slices.Equal(got, want) {
			a.w.Fatalf("ahead of %s: %v, made again %v", id, got, want)
		}
		if got, want := c.facts.Quotas.Crowded(c.s.Changes[id]), fresh.facts.Quotas.Crowded(c.s.Changes[id]); !slices.Equal(got.Names, want.Names) {
			a.w.Fatalf("%s waits for the quota %v, made again %v", id, got.Names, want.Names)
		}
		if c.facts.Futures.Verified[id] != fresh.facts.Futures.Verified[id] {
			a.w.Fatalf("%s verified: %t, made again %t", id, c.facts.Futures.Verified[id], fresh.facts.Futures.Verified[id])
		}
	}
}

// forgotten demands that nothing rests on a pass that was taken back, and that no
// build is waited for that cannot show anything.
func (a *audit) forgotten() {
	a.w.Helper()
	c := a.w.core
	for id, e := range c.s.Ledger {
		if e.Passed != 0 && c.judging.void(e) {
			a.w.Fatalf("the pass %s of %v was forgotten at %v, and counts", id, e.Keys, c.s.Main.Forgotten)
		}
		if r := a.w.runs[e.By]; e.Passed != 0 && r != nil && queue.Covered(c.s.Main.Forgotten, e.Keys[0], e.Step, r.build.At) {
			a.w.Fatalf("%v has passed in %s, which was asked for before it was forgotten at %v", e.Keys, e.By, c.s.Main.Forgotten)
		}
	}
	for _, b := range c.facts.Builds.Building {
		for _, f := range b.Facts {
			if k := slices.IndexFunc(b.Keys(), func(k queue.Key) bool { return k.ID() == f.ID }); k < 0 || c.facts.Ledger.Forgotten(b.Keys()[k], b.Build) {
				a.w.Fatalf("build %s is taken to verify a key that was forgotten", b.ID)
			}
		}
	}
}

func (a *audit) verdicts(t Turn) {
	w, s := a.w, a.w.core.State()
	w.Helper()
	for _, id := range derived.Sorted(s.Changes) {
		ch := s.Changes[id]
		if ch.Phase == queue.Parked && ch.Reason.Code == "" {
			w.Fatalf("%s is parked without a reason", id)
		}
		if ch.Phase != queue.Parked && ch.Until != 0 {
			w.Fatalf("%s is %s with a time to return", id, ch.Phase)
		}
		was, had := a.phases[id]
		if had && was != ch.Phase && a.lossy && ch.Phase == queue.Landed && slices.Contains(a.ours[ch.Verdict.Commit], id) {
			had = false // main is the truth, whatever was decided before it was read again
		}
		if had && was != ch.Phase {
			w.Fatalf("%s was %s and is now %s", id, was, ch.Phase)
		}
		if had || !ch.Phase.Final() {
			continue
		}
		a.phases[id] = ch.Phase
		if ch.Parent != 0 && (ch.Phase == queue.Rejected || ch.Phase == queue.NothingToLand) {
			w.Fatalf("%s is %s before pull %d has landed, which it is on top of", id, ch.Phase, ch.Parent)
		}
		switch ch.Phase {
		case queue.Landed:
			if c := w.commits[ch.Head]; ch.Method == config.MethodFastForward && ch.Verdict.Commit == c.id && a.ours[c.id] == nil && slices.Contains(w.line(w.main), c) {
				a.ours[c.id], c.taken = []queue.ChangeID{id}, id // somebody else has pushed its head
			}
			if !slices.Contains(a.ours[ch.Verdict.Commit], id) {
				w.Fatalf("%s is called landed as %s, which was not pushed", id, ch.Verdict.Commit)
			}
		case queue.Rejected:
			a.rejected(ch)
		case queue.NothingToLand:
			if c, conflicts := w.merge(s.Main.Tip, pickOf(ch)); len(conflicts) > 0 || c.id != s.Main.Tip {
				w.Fatalf("%s: nothing to land, but there is", id)
			}
		}
	}
}

// rejected demands that the change does not merge on main, or is red there for
// a target that is not red on main itself.
func (a *audit) rejected(ch *queue.Change) {
	w := a.w
	w.Helper()
	a.shown(ch)
	main := w.commits[w.core.State().Main.Tip]
	c, conflicts := w.merge(main.id, pickOf(ch))
	if len(conflicts) > 0 || a.trusting {
		return
	}
	red := map[string]bool{}
	for _, k := range w.law.keysOf(main.tree) {
		if !w.runsGreen(main.tree, k) && !w.excused(main.tree, main.tree, k, w.now) {
			red[k.Target] = true
		}
	}
	way := []queue.CommitID{c.id}
	if !pickOf(ch).Skip {
		way = append(slices.Clone(w.way(main.id, pickOf(ch), c)), c.id) // each is verified as if it landed alone
	}
	named := map[string]bool{} // main's steps: of another one main cannot be asked
	for _, st := range stepsOf(main.tree) {
		named[st.Name] = true
	}
	for _, id := range way {
		t := w.commits[id].tree
		set := queue.NewStepSet(stepsOf(t))
		for _, k := range w.law.newKeys(main.tree, t) {
			if st, _ := set.Step(k.Step); !w.runsGreen(t, k) && !w.excused(main.tree, t, k, w.now) && (!red[k.Target] || a.drifting && !named[st.Name]) {
				return
			}
		}
	}
	w.Fatalf("%s is rejected, but on %s it is green, or no redder than main: %+v", ch.ID, main.id, ch.Verdict)
}

// shown demands that people are told of builds that there were, on what they ran.
func (a *audit) shown(ch *queue.Change) {
	w := a.w
	w.Helper()
	for _, f := range ch.Verdict.Failures {
		r := w.runs[f.Build]
		if r == nil || r.build.Commit != f.Ran.Commit || r.build.Change != f.Ran.Change || f.Attempts < 1 || f.Step == "" || f.Run == "" {
			w.Fatalf("%s is rejected for what no build has shown: %+v", ch.ID, f)
		}
		if !slices.ContainsFunc(w.line(f.Ran.Commit), func(c *commit) bool { return c.id == f.Ran.Main }) {
			w.Fatalf("%s: %s was not made on %q: %+v", ch.ID, f.Ran.Commit, f.Ran.Main, f)
		}
	}
}

// budget checks slots, caps and that nothing is asked for twice.
func (a *audit) budget() {
	w, s := a.w, a.w.core.State()
	w.Helper()
	fresh, asked := false, map[queue.Key]queue.BuildID{}
	for _, id := range derived.Sorted(s.Builds) {
		b := s.Builds[id]
		fresh = fresh || b.At == w.now && w.runs[id] == nil
		if b.Cancel {
			continue
		}
		for _, k := range b.Keys() {
			if w.core.facts.Ledger.Forgotten(k, b) {
				continue // what it shows of that is not heard
			}
			if other, twice := asked[k]; twice {
				w.Fatalf("builds %s and %s are both asked for %s", other, id, short([]queue.Key{k}))
			}
			asked[k] = id
		}
	}
	if fresh && len(s.Builds) > s.Slots {
		w.Fatalf("%d builds in %d slots", len(s.Builds), s.Slots)
	}
	for _, id := range derived.Sorted(s.Changes) {
		if ch := s.Changes[id]; ch.Spent >= float64(w.rules.BuildsPerChange)+1 {
			w.Fatalf("%s has had %d builds, as much as %g whole ones", id, ch.Builds, ch.Spent)
		}
	}
}

// quotas checks that no build was asked for above a quota that binds always, but
// for what is about to land.
func (a *audit) quotas() {
	w, s := a.w, a.w.core.State()
	w.Helper()
	for _, q := range w.rules.Quotas {
		about := func(ch *queue.Change) bool {
			return ch != nil && q.HoldsAuthor(ch.Author) && (q.Project == "" || slices.ContainsFunc(w.rules.Projects, func(p config.Project) bool {
				return p.Name == q.Project && s.Footprints[ch.ID].In(p)
			}))
		}
		running, fresh := map[string]int{}, map[string]bool{}
		for _, id := range derived.Sorted(s.Builds) {
			b := s.Builds[id]
			ch := s.Changes[b.Change]
			if !about(ch) {
				continue
			}
			who := ""
			if q.Per == config.PerAuthor {
				who = strings.ToLower(ch.Author)
			}
			asked := b.At == w.now && w.runs[id] == nil
			if asked && (slices.Contains(s.Train, ch.ID) || b.Worth.Kind == queue.WorthTrain) {
				continue // it was about to land when the build was asked for, and may have come after those that kept the quota
			}
			running[who]++
			fresh[who] = fresh[who] || asked
		}
		for who, n := range running {
			if limit := q.Limit(s.Slots); fresh[who] && n > limit && q.When == config.WhenAlways {
				w.Fatalf("%d builds of %q are above the quota %+v", n, who, q)
			}
		}
	}
}

// started counts a build that the controller has begun.
func (a *audit) started(b *queue.Build) {
	w := a.w
	w.Helper()
	id, keys := b.ID, fmt.Sprint(b.Keys())
	here := w.anyKeysOf(w.commits[b.Commit].tree)
	here = append(here, w.runsOf(w.commits[b.Commit].tree, here)...)
	for _, k := range b.Keys() {
		if !slices.Contains(here, k) {
			w.Fatalf("build %s of %v asks for %s, which its commit has not", id, b.For(), short([]queue.Key{k}))
		}
	}
	if was, known := a.keys[id]; known && was != keys {
		w.Fatalf("build %s has two meanings", id)
	}
	a.keys[id] = keys
	a.built(b)
	if !a.counted[id] {
		a.spent = append(a.spent, b.At)
	}
	recent := 0
	for _, at := range a.spent {
		if b.At.Sub(at) < time.Hour && at <= b.At {
			recent++
		}
	}
	if limit := w.rules.BuildsPerHour; limit > 0 && recent > limit {
		w.Fatalf("%d builds within an hour", recent)
	}
}

// owners checks that each thing that waits has an action or a time that moves it on.
func (a *audit) owners(t Turn) {
	w, s := a.w, a.w.core.State()
	w.Helper()
	for _, key := range derived.Sorted(s.Actions) {
		act := s.Actions[key]
		if act.Deadline <= w.now {
			w.Fatalf("%s has no deadline to come", key)
		}
		if t.Wake == 0 || t.Wake > act.Deadline {
			w.Fatalf("nobody looks at the deadline of %s", key)
		}
	}
	for _, id := range derived.Sorted(s.Changes) {
		if ch := s.Changes[id]; ch.Phase == queue.Parked && t.Wake == 0 {
			w.Fatalf("nobody looks at %s, which is parked", id)
		}
	}
}

// landing judges a push at the moment in which main moves.
func (a *audit) landing(p *queue.Push) {
	w := a.w
	w.Helper()
	if a.off {
		return
	}
	at := w.commits[p.Expected]
	for i, id := range p.Commits {
		c := w.commits[id]
		var changes []queue.ChangeID
		forward := w.forwarded(p, i)
		if forward != nil {
			changes = []queue.ChangeID{forward.ID}
		} else if c != nil {
			for _, x := range c.carries() {
				changes = append(changes, x.Change)
			}
		}
		if c == nil || !slices.Equal(changes, p.Of(i)) {
			w.Fatalf("push %s is not a chain of its changes", p.ID)
		}
		from, way := at, c.between
		if forward != nil {
			way = w.way(at.id, pickOf(forward), c)
		}
		skip := len(changes) == 1 && pickOf(w.core.State().Changes[changes[0]]).Skip
		for _, between := range way {
			x := w.commits[between]
			if x.parent != at.id {
				w.Fatalf("push %s is not a chain of its changes", p.ID)
			}
			if !skip {
				a.green(p, at, x)
			}
			at = x
		}
		if c.parent != at.id {
			w.Fatalf("push %s is not a chain of its changes", p.ID)
		}
		if len(changes) > 1 && w.rules.Batch != config.BatchRollup {
			w.Fatalf("%v land together, and nobody has asked for that", changes)
		}
		if skip {
			a.green(p, from, c)
		} else {
			a.green(p, at, c)
		}
		a.approvals("push "+p.ID, from, append(w.made(way), c), changes)
		if a.arrives != nil {
			a.arrives(c)
		}
		for _, before := range w.line(at.id) {
			for _, x := range before.carries() {
				if slices.Contains(changes, x.Change) {
					w.Fatalf("%s lands twice: %s and %s", x.Change, before.id, id)
				}
			}
		}
		a.ours[id] = changes
		a.lands(from.id, changes)
		at = c
	}
}

// green demands that a commit of a push adds nothing red to the one before it on main.
func (a *audit) green(p *queue.Push, at, c *commit) {
	w := a.w
	w.Helper()
	base := w.commits[p.Expected].tree
	for _, k := range w.law.newKeys(at.tree, c.tree) {
		if !w.green(c.tree, k) && !w.excused(base, c.tree, k, p.At) {
			w.Fatalf("%s lands as %s, which is red at %s", c.change, c.id, short([]queue.Key{k}))
		}
	}
	if w.whollyAt(at.tree, p.At) && !w.whollyAt(c.tree, p.At) {
		w.Fatalf("%s lands as %s and makes a green main red", c.change, c.id)
	}
}

func (w *world) wholly(t tree) bool { return w.whollyAt(t, w.now) }

// whollyAt reports whether nothing of a tree is red that counts at a moment.
func (w *world) whollyAt(t tree, now queue.Instant) bool {
	return !slices.ContainsFunc(w.law.keysOf(t), func(k queue.Key) bool { return !w.green(t, k) && !w.excused(t, t, k, now) })
}

// final checks what must hold once the faults have stopped and time has passed.
func (a *audit) final() {
	w, s := a.w, a.w.core.State()
	w.Helper()
	on := map[queue.ChangeID]queue.CommitID{}
	for _, c := range w.line(w.main) {
		for _, x := range c.carries() {
			on[x.Change] = c.id
		}
	}
	for _, id := range derived.Sorted(s.Changes) {
		ch := s.Changes[id]
		switch commit, landed := on[id]; {
		case !ch.Phase.Final() && ch.Phase != queue.Parked:
			w.Fatalf("%s is stuck: %s, %+v, waits for %+v", id, ch.Phase, ch.Reason, w.waitsOf(id))
		case landed && a.lossy && (ch.Phase == queue.NothingToLand || ch.Phase == queue.Cancelled):
			// Everything was lost with it: it was found there at the first reading, or its
			// author had pushed once more before that.
		case landed && (ch.Phase != queue.Landed || ch.Verdict.Commit != commit):
			w.Fatalf("%s is on main as %s and is called %s", id, commit, ch.Phase)
		case !landed && ch.Phase == queue.Landed && !a.removed[id]:
			w.Fatalf("%s is called landed and is not on main", id)
		}
	}
	a.returned()
	if s.Push != nil || len(s.Requests) > 0 || len(s.Builds) > 0 {
		w.Fatalf("left over: push %+v, requests %v, builds %v", s.Push, derived.Sorted(s.Requests), derived.Sorted(s.Builds))
	}
	for _, n := range derived.Sorted(w.pulls) {
		if a.lossy {
			break // what was published in the lost turns is shown until there is news
		}
		v, ok := w.core.PullView(n)
		if p := s.Pulls[n]; ok && v.Change.ID == "" && (p.Tried != "" || p.Last != "") {
			continue // the state has let go of its change, and what was said of it stays
		}
		if now := says(v); ok && now != says(queue.View{}) && w.pulls[n].shown != now {
			w.Fatalf("pull %d shows %q and is %q", n, w.pulls[n].shown, now)
		}
	}
}

func (w *world) waitsOf(id queue.ChangeID) []queue.Reason {
	v, _ := w.core.View(id)
	return v.Waits
}
