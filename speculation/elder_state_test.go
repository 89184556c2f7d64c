package speculation

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// elder is a world whose queue has a state that was stored before there were
// versions of analyzers, requirements, methods, tries and emergencies: changes that
// have landed, were rejected, are parked, pending and about to be pushed, builds
// that run, and two commands that are not followed yet. Its forge and commits are
// made again here; ids of commits are of their content.
func elder(t *testing.T) *world {
	t.Helper()
	l, files := plain("a", "b", "c")
	l.rules = []rule{{target: "c", all: []string{"bad"}}}
	files[stepsFile] = unit
	for _, n := range l.targets {
		files["x/"+n] = "text"
	}
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.versionless = true
	data, err := os.ReadFile("testdata/state_of_2026_11.json")
	if err != nil {
		t.Fatal(err)
	}
	var kinds map[queue.Kind]map[string]json.RawMessage
	if err := json.Unmarshal(data, &kinds); err != nil {
		t.Fatal(err)
	}
	for id, e := range kinds["archive"] {
		var entry queue.Entry
		if err := json.Unmarshal(e, &entry); err != nil {
			t.Fatal(err)
		}
		w.store.archive[queue.Digest(id)] = entry
	}
	delete(kinds, "archive")
	for kind, records := range kinds {
		for id, r := range records {
			w.store.records[queue.Ref{Kind: kind, ID: id}] = r
		}
	}
	s := w.store.load(w).State()
	for i, e := range []edit{{"a/code": "one"}, {"c/code": "bad"}, {"b/code": "parked"}, {"a/code": "two"}, {"b/code": "two"}, {"c/code": "three"}, {"c/code": "four"}} {
		p := w.open(w.main, e)
		if i == 0 {
			c, _ := w.merge(w.main, pickOf(s.Changes[s.Pulls[p.number].Last]))
			w.main = c.id
		}
	}
	if w.main != s.Main.Tip {
		t.Fatalf("main is %s, and was %s", w.main, s.Main.Tip)
	}
	for again := true; again; { // the merges that the queue had asked for
		again = false
		for _, id := range derived.Sorted(s.Links) {
			if l := s.Links[id]; l.Commit != "" && w.commits[l.Commit] == nil && w.commits[l.Parent] != nil {
				w.merge(l.Parent, pickOf(s.Changes[l.Change]))
				again = w.commits[l.Commit] != nil
			}
		}
	}
	for _, a := range s.Actions {
		w.now = max(w.now, a.At)
	}
	w.mustRestart()
	w.audit.ours[w.main] = []queue.ChangeID{s.Pulls[1].Last}
	w.audit.forget()
	for n := range 2 { // what their comments say, they say for good
		w.carryOut(queue.Action{Task: queue.Publish{Number: n + 1}})
	}
	return w
}

// A state of before all that goes on as it was meant, with all that server and forge
// have learnt since: no change is lost, and none has two verdicts.
func TestStateOfAnElderServer(t *testing.T) {
	for name, serve := range map[string]func(w *world){
		"no versions":  func(w *world) { w.tell(queue.Tick{}) },
		"one version":  func(w *world) { w.serve("go/1") },
		"two versions": func(w *world) { w.serve("go/2", "go/1") },
		"a forge that asks for things": func(w *world) {
			w.requires = true
			w.tell(queue.Tick{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := elder(t)
			t.Cleanup(func() {
				if t.Failed() {
					for _, x := range w.log {
						t.Log(x)
					}
				}
			})
			serve(w)
			w.quiesce()
			if m := w.core.State().Main; m.Paused == nil || m.Paused.By != "boss" {
				t.Errorf("the pause that was asked for: %+v", m.Paused)
			}
			w.step(w.say(w.pulls[7], "boss", "/queue resume"))
			w.waitOut()
			w.now = w.now.Add(parkedRetry)
			w.tell(queue.Tick{})
			w.waitOut()
			var got []string
			for n := range 7 {
				got = append(got, w.phases(w.pulls[n+1]))
			}
			want := []string{"landed landed", "rejected failed", "landed landed", "landed landed", "landed landed", "landed landed", "landed landed"}
			if !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
			if n := len(w.core.State().Requests); n != 0 {
				t.Errorf("%d commands are left", n)
			}
			w.audit.final()
		})
	}
}
