package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

const (
	workflowRule = "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission"
	closedRule   = "GH006: Protected branch update failed for refs/heads/main.\nYou're not authorized to push to this branch."
	unknownRule  = "pre-receive hook declined"
)

// refusing has the forge refuse each push that brings a token to a target, by a
// rule, and returns the changes of each push that it was asked for.
func (w *world) refusing(token, rule string) *[][]queue.ChangeID {
	var asked [][]queue.ChangeID
	w.refusesIf = func(p *queue.Push) string {
		asked = append(asked, slices.Clone(p.Changes))
		if w.brings(p, token) {
			return rule
		}
		return ""
	}
	return &asked
}

// brings reports whether a commit of a push has a token that main has not.
func (w *world) brings(p *queue.Push, token string) bool {
	return slices.ContainsFunc(p.Commits, func(id queue.CommitID) bool { return w.bringsAt(id, token) })
}

// bringsAt reports whether a commit, or one that its change brings with it, has a token
// that main has not.
func (w *world) bringsAt(id queue.CommitID, token string) bool {
	for _, x := range append(slices.Clone(w.commits[id].between), id) {
		for file, content := range w.commits[x].tree {
			if setOf(content)[token] && !setOf(w.commits[w.main].tree[file])[token] {
				return true
			}
		}
	}
	return false
}

// The forge refuses one commit of a push for what is in it. The others land, the
// queue is not paused, and what was refused says by which rule.
func TestOneRefusedCommitOfMany(t *testing.T) {
	storetest.OneOf(t, 2)
	for name, at := range map[string]int{"first": 0, "in the middle": 2, "last": 4} {
		for _, steps := range []string{unit, unit + " lint:exit-code:repository:lint"} {
			for _, rule := range []string{workflowRule, unknownRule} {
				t.Run(name, func(t *testing.T) {
					l, files := plain("a", "b", "c", "d", "e")
					files[stepsFile] = steps
					w := newWorld(t, l, files, rulesOf(config.Rules{}))
					w.begin(8)
					asked := w.refusing("workflow", rule)
					w.step(w.say(w.open(w.main, edit{}), "boss", "/queue pause"))
					var pulls []*pull
					for i, target := range l.targets {
						e := edit{fileOf(target): "fine"}
						if i == at {
							e = edit{fileOf(target): "workflow"}
						}
						p := w.open(w.main, e)
						pulls = append(pulls, p)
						w.step(w.say(p, "dev", "/land"))
						w.now++
					}
					w.quiesce()
					w.step(w.say(pulls[0], "boss", "/queue resume"))
					w.quiesce()
					for i, p := range pulls {
						if ch := w.change(p); i != at && ch.Phase != queue.Landed {
							t.Errorf("the innocent %d is %s, %+v", i, ch.Phase, ch.Reason)
						}
					}
					bad := w.change(pulls[at])
					if bad.Phase != queue.Parked || bad.Reason.Code != queue.ReasonProtected || bad.Reason.Detail != rule || bad.Until <= w.now {
						t.Errorf("the refused one is %s, %+v until %v", bad.Phase, bad.Reason, bad.Until)
					}
					if p := w.core.State().Main.Paused; p != nil {
						t.Errorf("landings are paused: %+v", p)
					}
					if n := len(*asked); n > 8 {
						t.Errorf("%d pushes: %v", n, *asked)
					}
				})
			}
		}
	}
}

// A refused change is not pushed again at once, comes back by a word and by time,
// alone and after the others, and lands when the forge lets it.
func TestRefusedChangeComesBack(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	asked := w.refusing("workflow", workflowRule)
	bad := w.land(edit{"a/code": "workflow"})
	w.quiesce()
	if ch := w.change(bad); ch.Phase != queue.Parked || ch.Until.Sub(w.now) > refusedAgain || len(*asked) != 1 {
		t.Fatalf("%s until %v after %d pushes", ch.Phase, ch.Until, len(*asked))
	}
	other := w.open(w.main, edit{"x/a": "y", "b/code": "x"})
	w.step(w.say(bad, "boss", "/queue pause"), w.say(other, "dev", "/land"))
	w.quiesce()
	w.step(w.say(bad, "boss", "/queue resume"))
	w.quiesce()
	if w.onMain(other) == 0 {
		t.Errorf("the other is %s", w.phases(other))
	}
	if slices.ContainsFunc(*asked, func(ids []queue.ChangeID) bool { return len(ids) > 1 }) {
		t.Errorf("it was pushed with others: %v", *asked)
	}
	if ch := w.change(bad); ch.Phase != queue.Parked || ch.Refused.Times != 2 || ch.Until.Sub(ch.Refused.At) != 2*refusedAgain {
		t.Errorf("%s, %+v until %v; pushed %v", ch.Phase, ch.Refused, ch.Until, *asked)
	}
	n := len(*asked)
	w.now = w.change(bad).Until
	w.tell(queue.Tick{})
	w.quiesce()
	if len(*asked) != n+1 || w.change(bad).Phase != queue.Parked {
		t.Errorf("after its time it was pushed %d times and is %s", len(*asked)-n, w.phases(bad))
	}
	w.step(w.say(bad, "dev", "/land retry"))
	w.quiesce()
	if len(*asked) != n+2 {
		t.Errorf("after retry it was pushed %d times", len(*asked)-n-1)
	}
	w.refusesIf = nil
	w.step(w.say(bad, "dev", "/land"))
	w.quiesce()
	if w.onMain(bad) == 0 {
		t.Errorf("with the permission it is %s", w.phases(bad))
	}
}

// A refusal that lasts ends as anything that is parked does.
func TestRefusedForTooLong(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	asked := w.refusing("workflow", unknownRule)
	bad := w.land(edit{"a/code": "workflow"})
	w.quiesce()
	for n := 0; w.change(bad).Phase == queue.Parked && n < 40; n++ {
		w.now = w.wake
		w.tell(queue.Tick{})
		w.quiesce()
	}
	if ch := w.change(bad); ch.Phase != queue.Cancelled || ch.Reason.Code != queue.ReasonParkedLimit || len(*asked) > 12 {
		t.Errorf("%s, %+v after %d pushes", ch.Phase, ch.Reason, len(*asked))
	}
}

// The branch takes nothing, and the forge says so: landings are paused, no change is
// parked for it, one change is pushed from time to time, and all land when the branch
// takes something again.
func TestBranchThatIsClosed(t *testing.T) {
	l, files := plain("a", "b", "c", "d", "e")
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	n := 0
	w.refusesIf = func(*queue.Push) string { n++; return closedRule }
	var pulls []*pull
	for _, target := range l.targets {
		p := w.open(w.main, edit{fileOf(target): "fine"})
		pulls = append(pulls, p)
		w.step(w.say(p, "dev", "/land"))
		w.now++
	}
	w.quiesce()
	pause := w.core.State().Main.Paused
	if pause == nil || pause.Code != queue.ReasonProtected || pause.Reason != closedRule || pause.Probe != pause.At.Add(probeAgain) || n != 1 {
		t.Fatalf("after %d pushes paused: %+v", n, pause)
	}
	for _, p := range pulls {
		if ch := w.change(p); ch.Phase != queue.Pending {
			t.Errorf("%s is %s, %+v", ch.ID, ch.Phase, ch.Reason)
		}
	}
	w.now = pause.Probe
	w.tell(queue.Tick{})
	w.quiesce()
	if again := w.core.State().Main.Paused; n != 2 || again == nil || again.Probe.Sub(w.now) > 2*probeAgain || again.Tries != 2 {
		t.Fatalf("%d pushes with the probe, then %+v", n, again)
	}
	w.refusesIf = nil
	w.waitOut()
	w.takesAgain(t, pulls)
}

// The branch takes nothing, in unknown words: after some refusals that is
// said, nothing is pushed again and again, and all land when the first of them does.
func TestBranchThatRefusesInUnknownWords(t *testing.T) {
	l, files := plain("a", "b", "c", "d", "e")
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	pushes := map[queue.ChangeID]int{}
	w.refusesIf = func(p *queue.Push) string {
		for _, id := range p.Changes {
			pushes[id]++
		}
		return unknownRule
	}
	var pulls []*pull
	for _, target := range l.targets {
		p := w.open(w.main, edit{fileOf(target): "fine"})
		pulls = append(pulls, p)
		w.step(w.say(p, "dev", "/land"))
		w.now++
	}
	w.quiesce()
	if p := w.core.State().Main.Paused; p == nil || p.Code != queue.ReasonProtected {
		t.Errorf("paused: %+v", p)
	}
	for id, n := range pushes {
		if n > 4 {
			t.Errorf("%s was pushed %d times", id, n)
		}
	}
	w.refusesIf = nil
	w.now = w.now.Add(refusedAgain)
	w.tell(queue.Tick{})
	w.waitOut()
	w.takesAgain(t, pulls)
}

// Several changes are refused for their content, in unknown words: an innocent one still
// lands at once.
func TestGuiltyOnesInARow(t *testing.T) {
	l, files := plain("a", "b", "c", "d", "e")
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	asked := w.refusing("workflow", unknownRule)
	for _, target := range []string{"a", "b", "c", "d"} {
		w.step(w.say(w.open(w.main, edit{fileOf(target): "workflow"}), "dev", "/land"))
		w.quiesce()
	}
	if p := w.core.State().Main.Paused; p == nil {
		t.Error("nobody is told that the branch has taken nothing for long")
	}
	good := w.open(w.main, edit{"e/code": "fine"})
	w.step(w.say(good, "dev", "/land"))
	w.quiesce()
	if w.onMain(good) == 0 {
		t.Fatalf("the innocent one is %s; paused %+v", w.phases(good), w.core.State().Main.Paused)
	}
	if p := w.core.State().Main.Paused; p != nil {
		t.Errorf("paused after one has landed: %+v; %v", p, *asked)
	}
}

// A change on top of a refused one waits for it, and lands with it.
func TestStackOnWhatWasRefused(t *testing.T) {
	w, pulls := tower(t, 2)
	low, high := pulls[0], pulls[1]
	w.refusesIf = func(p *queue.Push) string {
		if slices.Contains(p.Changes, w.change(low).ID) {
			return workflowRule
		}
		return ""
	}
	w.step(w.say(low, "boss", "/queue pause"), w.say(high, "dev", "/land"), w.say(low, "dev", "/land"))
	w.quiesce()
	w.step(w.say(low, "boss", "/queue resume"))
	w.quiesce()
	if a, b := w.change(low), w.change(high); a.Reason.Code != queue.ReasonProtected || b.Reason.Code != queue.ReasonParent {
		t.Fatalf("%+v and %+v", a.Reason, b.Reason)
	}
	w.refusesIf = nil
	w.now = w.change(low).Until
	w.tell(queue.Tick{})
	w.quiesce()
	if w.onMain(low) == 0 || w.onMain(high) == 0 {
		t.Errorf("%s and %s", w.phases(low), w.phases(high))
	}
}

// A rollup that is refused is given up, and its members land but for the one that
// the forge has something against.
func TestRefusedRollup(t *testing.T) {
	w, pulls := lineUp(t, unit, rolling, edit{"a/code": "x"}, edit{"a/code": "workflow"}, edit{"a/code": "z"})
	if b := w.going()[0].build; len(b.For()) != 3 {
		t.Fatalf("the build is for %v", b.For())
	}
	asked := w.refusing("workflow", workflowRule)
	w.waitOut()
	for i, p := range pulls {
		ch := w.change(p)
		if i == 1 && (ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonProtected) || i != 1 && ch.Phase != queue.Landed {
			t.Errorf("%d is %s, %+v", i, ch.Phase, ch.Reason)
		}
	}
	if len((*asked)[0]) != 3 || w.core.State().Main.Paused != nil {
		t.Errorf("pushed %v; paused %+v", *asked, w.core.State().Main.Paused)
	}
}

// takesAgain holds that all landed once the branch took pushes again, and nothing is paused.
func (w *world) takesAgain(t *testing.T, pulls []*pull) {
	t.Helper()
	for _, p := range pulls {
		if w.onMain(p) == 0 {
			t.Errorf("when the branch takes pushes again, %s", w.phases(p))
		}
	}
	if p := w.core.State().Main.Paused; p != nil {
		t.Errorf("still paused: %+v", p)
	}
}

// The forge takes no ref with the commit of one change for its builds by CI. That change
// is parked with the rule; those on top of it were refused with it, and are built and
// land without it.
func TestRefusedRefOfABuild(t *testing.T) {
	l, files := plain("a", "b", "c")
	l.needs["a"], l.needs["b"] = []string{"b", "c"}, []string{"c"}
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	w.refusesRef = func(b *queue.Build) string {
		if w.bringsAt(b.Commit, "workflow") {
			return workflowRule
		}
		return ""
	}
	first := w.open(w.main, edit{fileOf("a"): "fine"})
	bad := w.open(w.main, edit{fileOf("b"): "workflow"})
	last := w.open(w.main, edit{fileOf("c"): "fine"})
	for _, p := range []*pull{first, bad, last} {
		w.step(w.say(p, "dev", "/land"))
		w.now++
	}
	w.quiesce()
	for _, p := range []*pull{first, last} {
		if ch := w.change(p); ch.Phase != queue.Landed || ch.Infra != 0 {
			t.Errorf("the innocent %d is %s, %+v", p.number, ch.Phase, ch.Reason)
		}
	}
	if ch := w.change(bad); ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonProtected || ch.Reason.Detail != workflowRule || ch.Refused == nil || !ch.Refused.Own {
		t.Errorf("%s, %+v, %+v", ch.Phase, ch.Reason, ch.Refused)
	}
	if n := len(w.runs); n > 8 {
		t.Errorf("%d builds", n)
	}
	w.refusesRef = nil
	w.step(w.say(bad, "dev", "/land retry"))
	w.quiesce()
	if w.onMain(bad) == 0 {
		t.Error(w.phases(bad))
	}
}

// Main held something that the forge refuses, and does not any more. A build on main as
// it was is refused for that, and the change has nothing to do with it.
func TestRefusedRefOfAFormerMain(t *testing.T) {
	l, files := plain("a", "b")
	w := newWorld(t, l, files, rulesOf(config.Rules{External: config.ExternalTrust}))
	w.begin(8)
	clean := w.commits[w.main].tree
	w.refusesRef = func(b *queue.Build) string {
		if setOf(w.commits[b.Commit].tree["b/code"])["workflow"] {
			return workflowRule
		}
		return ""
	}
	w.commitOutside(clean.with(edit{"b/code": "workflow"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	p := w.open(w.main, edit{"a/code": "fine"})
	p.head = w.put(commit{parent: w.line(w.main)[1].id, tree: clean.with(edit{"a/code": "fine"})}).id
	w.step(w.say(p, "dev", "/land"))
	var builds []queue.Action
	for len(w.waits) > 0 {
		a := w.waits[0]
		w.waits = w.waits[1:]
		if run, ok := a.Task.(queue.Run); ok && w.core.State().Builds[run.Build].Change != "" {
			builds = append(builds, a)
			continue
		}
		w.tell(w.carryOut(a)...)
	}
	if len(builds) == 0 {
		t.Fatal("it is not built")
	}
	w.commitOutside(clean)
	w.tell(queue.MainMoved{Branch: "main"})
	for len(w.waits) > 0 {
		if _, ok := w.waits[0].Task.(queue.Observe); !ok {
			break
		}
		w.work(0)
	}
	for _, a := range builds {
		w.tell(w.carryOut(a)...)
	}
	if ch := w.change(p); ch.Phase == queue.Parked {
		t.Errorf("the change is parked: %+v", ch.Reason)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// holds reports whether a tree has a token.
func (t tree) holds(token string) bool {
	for _, content := range t {
		if setOf(content)[token] {
			return true
		}
	}
	return false
}

// Two pushes of pairs are refused one after the other. Neither pair is pushed whole again:
// what the second refusal says does not make the queue forget the first, which it did, so
// that it pushed both for ever.
func TestPairsThatAreRefusedInTurn(t *testing.T) {
	l, files := plain("a", "b", "c", "d", "e", "f")
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.begin(8)
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue pause"))
	var ids []queue.ChangeID
	for _, target := range l.targets {
		p := w.land(edit{fileOf(target): "fine"})
		w.quiesce()
		ids = append(ids, w.change(p).ID)
	}
	c := w.core.landing
	c.s.Main.Paused = nil
	joins := func(a, b queue.ChangeID) bool {
		at := &queue.Link{Change: a}
		return c.joins([]*queue.Link{at}, &queue.Link{Change: b})
	}
	for _, pair := range [][]queue.ChangeID{ids[:2], ids[2:4]} {
		c.refused(&queue.Push{ID: "p", Changes: pair, Commits: []queue.CommitID{"x", "y"}}, unknownRule)
	}
	for _, pair := range [][]queue.ChangeID{ids[:2], ids[2:4], {ids[0], ids[2]}, {ids[0], ids[4]}} {
		if joins(pair[0], pair[1]) {
			t.Errorf("%v are pushed together after the refusals", pair)
		}
	}
	if !joins(ids[4], ids[5]) {
		t.Error("those that were not refused are not pushed together any more")
	}
	c.took(&queue.Push{Changes: ids[:4]})
	if !joins(ids[0], ids[2]) {
		t.Error("after they have landed, refusals still count")
	}
}
