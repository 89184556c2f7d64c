package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// headWorld has targets a and b, the one reading shared, and heads whose own CI counts.
func headWorld(t *testing.T, steps string) *world {
	t.Helper()
	w := newWorld(t, law{targets: []string{"a", "b", "shared"}, needs: map[string][]string{"a": {"shared"}},
		rules: []rule{{target: "a", all: []string{"bad"}}, {target: "a", all: []string{"p", "q"}}}},
		tree{stepsFile: steps, "a/code": "base", "b/code": "base", "shared/code": "base", barrier: "go1"}, rulesOf(config.Rules{}))
	w.tell(queue.MainMoved{Branch: "main"}, queue.Capacity{Slots: 4, Forge: 4})
	w.quiesce()
	return w
}

// builds counts the builds that have begun for changes.
func (w *world) buildsOfChanges() (n int) {
	for _, r := range w.runs {
		if r.build.Change != "" {
			n++
		}
	}
	return n
}

// A change whose head is proven lands without a build, also where main has moved on
// in files that it does not read; keys without a pass on its head are built.
func TestHeadsOwnPassesCount(t *testing.T) {
	for _, c := range []struct {
		name   string
		steps  string
		change edit
		main   edit // pushed by others after the branch was made
		builds int
		landed bool
		heads  int
	}{
		{"on main as it was", counting, edit{"a/code": "new"}, nil, 0, true, 1},
		{"main has moved elsewhere", counting, edit{"a/code": "new"}, edit{"b/code": "other"}, 0, true, 1},
		{"main has moved in what it reads", counting, edit{"a/code": "new"}, edit{"shared/code": "other"}, 1, true, 0},
		{"red on main as it is, green on its head", counting, edit{"a/code": "p"}, edit{"shared/code": "q"}, 1, false, 0},
		{"red on its head", counting, edit{"a/code": "bad"}, nil, 1, false, 0},
		{"not asked for", "ci:exit-code:targets:test:tree", edit{"a/code": "new"}, nil, 1, true, 0},
		{"no pass of the tree", "ci:exit-code:targets:test:asked:count", edit{"a/code": "new"}, nil, 1, true, 0},
		{"the tree itself, main as it was", "ci:exit-code:repository:test:asked:count", edit{"a/code": "new"}, nil, 0, true, 1},
		{"the tree itself, main has moved", "ci:exit-code:repository:test:asked:count", edit{"a/code": "new"}, edit{"b/code": "other"}, 1, true, 0},
		{"one of two steps", counting + " vet:exit-code:targets:vet", edit{"a/code": "new"}, nil, 1, true, 1},
		{"its own steps", counting, edit{stepsFile: "ci:exit-code:targets:test2:tree:count -" + counting}, nil, 0, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := headWorld(t, c.steps)
			p := w.open(w.main, c.change)
			w.runHead(p.head)
			if c.main != nil {
				w.commitOutside(w.commits[w.main].tree.with(c.main))
				w.tell(queue.MainMoved{Branch: "main"})
				w.quiesce()
			}
			w.now = w.now.Add(time.Minute)
			w.step(w.say(p, "dev", "/land"))
			w.waitOut()
			ch := w.core.s.Changes[w.core.s.Pulls[p.number].Last]
			if ch == nil || (ch.Phase == queue.Landed) != c.landed {
				t.Fatalf("it is %+v", ch)
			}
			if n := w.buildsOfChanges(); n != c.builds {
				t.Errorf("%d builds, want %d", n, c.builds)
			}
			if c.landed && ch.Verdict.Heads != c.heads {
				t.Errorf("%d keys by its head, want %d: %+v", ch.Verdict.Heads, c.heads, ch.Verdict)
			}
			w.audit.final()
		})
	}
}

// Claims of an answer beyond the rules of the ledger are not written.
func TestWhatIsNoPassOfAHead(t *testing.T) {
	hour := time.Hour
	for name, mangle := range map[string]func(w *world, b *queue.Attested){
		"of another head":   func(w *world, b *queue.Attested) { b.Head = "other" },
		"of another change": func(w *world, b *queue.Attested) { b.Change = "other" },
		"an unknown step":   func(w *world, b *queue.Attested) { b.Steps = queue.StepSet{} },
		"a step that does not say so": func(w *world, b *queue.Attested) {
			st := b.Steps.Steps[0]
			st.Earlier = config.EarlierIgnore
			b.Steps = queue.NewStepSet([]config.Step{st})
			b.Passed[0].Step = st.Digest()
			b.Passed[0].Keys[0].Step = st.Digest()
		},
		"a step that does not cover the tree": func(w *world, b *queue.Attested) {
			st := b.Steps.Steps[0]
			st.Counts = config.CountsAsked
			b.Steps = queue.NewStepSet([]config.Step{st})
			b.Passed[0].Step = st.Digest()
			b.Passed[0].Keys[0].Step = st.Digest()
		},
		"keys of another step": func(w *world, b *queue.Attested) { b.Passed[0].Keys[0].Step = "other" },
		"too long ago": func(w *world, b *queue.Attested) {
			b.Passed[0].Began, b.Passed[0].Ended = w.now.Add(-queue.ArchiveTTL-2*hour), w.now.Add(-queue.ArchiveTTL-hour)
		},
		"backwards":   func(w *world, b *queue.Attested) { b.Passed[0].Began = w.now.Add(hour) },
		"at no time":  func(w *world, b *queue.Attested) { b.Passed[0].Began = 0 },
		"said twice":  func(w *world, b *queue.Attested) { b.Action = "attest/other/1" },
		"nothing has": func(w *world, b *queue.Attested) { b.Passed = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := headWorld(t, counting)
			p := w.open(w.main, edit{"a/code": "new"})
			w.step(w.say(p, "dev", "/land"))
			b := w.mustTake("attest")[0].(queue.Attested)
			mangle(w, &b)
			w.tell(b)
			for id, e := range w.core.s.Ledger {
				if e.Head {
					t.Errorf("entry %s: %+v", id, e)
				}
			}
		})
	}
}

// Passes forgotten after the run began do not count, nor do keys that a build has failed.
func TestHeadsPassesThatAreTakenBack(t *testing.T) {
	w := headWorld(t, counting)
	p := w.open(w.main, edit{"a/code": "new"})
	w.runHead(p.head)
	w.now = w.now.Add(time.Minute)
	w.step(w.say(p, "boss", "/queue forget a"))
	w.quiesce()
	w.now = w.now.Add(time.Minute)
	w.step(w.say(p, "dev", "/land"))
	w.waitOut()
	if n := w.buildsOfChanges(); n != 1 {
		t.Errorf("%d builds", n)
	}

	w = headWorld(t, counting)
	p = w.open(w.main, edit{"a/code": "new"})
	w.runHead(p.head)
	w.now = w.now.Add(time.Minute)
	w.flake = func([]queue.Key) bool { return true } // builds fail; when the head's pass is told, that is known
	w.step(w.say(p, "dev", "/land"))
	late := w.mustTake("attest")
	w.now = w.now.Add(headWait)
	w.tell(queue.Tick{})
	w.quiesce()
	if w.buildsOfChanges() == 0 {
		t.Fatal("it was not built, and the forge does not answer")
	}
	w.tell(late...)
	for _, e := range w.core.s.Ledger {
		if e.Head {
			t.Errorf("a head's pass of what has failed: %+v", e)
		}
	}
}

// A run on the head is looked at again when it has ended, and not before.
func TestHeadsRunsThatGoOn(t *testing.T) {
	w := headWorld(t, counting)
	p := w.open(w.main, edit{"a/code": "new"})
	w.step(w.say(p, "dev", "/land"))
	b := w.mustTake("attest")[0].(queue.Attested)
	b.Passed, b.Open = nil, true
	w.tell(b)
	asks := func() bool {
		return slices.ContainsFunc(w.waits, func(a queue.Action) bool { _, is := a.Task.(queue.Attest); return is })
	}
	w.tell(queue.HeadChecked{Head: "another"})
	if asks() {
		t.Fatal("it is asked again, and nothing has happened there")
	}
	w.tell(queue.HeadChecked{Head: p.head})
	if !asks() {
		t.Fatal("it is not asked again")
	}
	w.settleDown()
	if own := w.change(p).OwnCI; own == nil || own.Keys != 1 || own.Open {
		t.Errorf("it has %+v", own)
	}
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.tell(queue.HeadChecked{Head: p.head})
	if asks() {
		t.Error("asked about what has ended")
	}
}

// A run on the head ends between the question and its answer, which still shows it as going on.
func TestHeadsRunThatEndsWhileItIsLookedAt(t *testing.T) {
	w := headWorld(t, counting)
	p := w.open(w.main, edit{"a/code": "new"})
	w.step(w.say(p, "dev", "/land"))
	b := w.mustTake("attest")[0].(queue.Attested)
	b.Passed, b.Open = nil, true
	w.tell(queue.HeadChecked{Head: p.head})
	w.tell(b)
	w.settleDown()
	if own := w.change(p).OwnCI; own == nil || own.Keys != 1 || own.Open {
		t.Errorf("it has %+v", own)
	}
}
