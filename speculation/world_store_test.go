package speculation

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

// store keeps the records of a queue as the app does, and what they were
// during the last turns, for a Redis that loses its last second.
type store struct {
	records map[queue.Ref][]byte
	archive map[queue.Digest]queue.Entry
	before  []map[queue.Ref][]byte // of the last turns, newest last
}

const keptTurns = 12

func newStore() store {
	return store{records: map[queue.Ref][]byte{}, archive: map[queue.Digest]queue.Entry{}}
}

// commit writes a turn.
func (s *store) commit(w *world, t Turn) {
	w.Helper()
	if w.audit.off {
		return
	}
	s.before = append(s.before, maps.Clone(s.records))
	if len(s.before) > keptTurns {
		s.before = s.before[1:]
	}
	for _, ref := range t.Changed {
		r, ok, err := w.core.State().Encode(ref)
		switch {
		case err != nil:
			w.Fatalf("encoding %v: %v", ref, err)
		case ok:
			s.records[ref] = r.Data
		default:
			delete(s.records, ref)
		}
	}
	for _, e := range t.Archive {
		if s.archive[e.ID] = e; e.Passed == 0 {
			delete(s.archive, e.ID)
		}
	}
}

// mustHold demands that the stored records are those of the live state: that
// every turn has listed all that it changed.
func (s *store) mustHold(w *world) {
	w.Helper()
	refs := refsOf(w.core.State())
	for _, ref := range refs {
		r, ok, err := w.core.State().Encode(ref)
		if err != nil || !ok {
			w.Fatalf("%v cannot be encoded: %v", ref, err)
		}
		if old := s.records[ref]; !bytes.Equal(old, r.Data) {
			w.Fatalf("a turn changed %v and did not say so (-stored +live):\n%s", ref, cmp.Diff(string(old), string(r.Data)))
		}
	}
	for ref := range s.records {
		if ref.Kind != queue.KindMeta && !slices.Contains(refs, ref) {
			w.Fatalf("a turn removed %v and did not say so", ref)
		}
	}
}

func refsOf(s *queue.State) []queue.Ref {
	var out []queue.Ref
	out = refs(out, queue.KindChange, s.Changes)
	out = refs(out, queue.KindRequest, s.Requests)
	for n := range s.Pulls {
		out = append(out, queue.Ref{Kind: queue.KindPull, ID: fmt.Sprint(n)})
	}
	out = refs(out, queue.KindFootprint, s.Footprints)
	out = refs(out, queue.KindLink, s.Links)
	out = refs(out, queue.KindSteps, s.Steps)
	out = refs(out, queue.KindBuild, s.Builds)
	out = refs(out, queue.KindEntry, s.Ledger)
	out = refs(out, queue.KindControl, s.Controls)
	out = refs(out, queue.KindDuration, s.Durations)
	out = refs(out, queue.KindBelief, s.Beliefs)
	out = refs(out, queue.KindAction, s.Actions)
	out = refs(out, queue.KindHunt, s.Hunts)
	out = refs(out, queue.KindHost, s.Hosts)
	out = refs(out, queue.KindAuthor, s.Authors)
	out = refs(out, queue.KindArea, s.Areas)
	out = refs(out, queue.KindPromises, s.Promises)
	out = refs(out, queue.KindOutcomes, s.Outcomes)
	for v := range s.Models {
		out = append(out, queue.Ref{Kind: queue.KindModel, ID: fmt.Sprint(v)})
	}
	for _, name := range []string{queue.MetaMain, queue.MetaSlots, queue.MetaCapacity, queue.MetaPush, queue.MetaTrain, queue.MetaSpent, queue.MetaAccuracy, queue.MetaLearned, queue.MetaModel} {
		ref := queue.Ref{Kind: queue.KindMeta, ID: name}
		if _, ok, _ := s.Encode(ref); ok && (name != queue.MetaMain || s.Main.Tip != "") && (name != queue.MetaSlots || s.Slots != 0) {
			out = append(out, ref)
		}
	}
	return out
}

func refs[K ~string, V any](out []queue.Ref, kind queue.Kind, m map[K]V) []queue.Ref {
	for k := range m {
		out = append(out, queue.Ref{Kind: kind, ID: string(k)})
	}
	return out
}

// load makes a core from what is stored.
func (s *store) load(w *world) *Core {
	w.Helper()
	state := queue.NewState("main")
	for ref, data := range s.records {
		if err := state.Load(queue.Record{Ref: ref, Data: data}); err != nil {
			w.Fatalf("%v", err)
		}
	}
	c := New(state)
	c.facts.Beliefs.Ask(w.core.facts.Beliefs.Model)
	c.entering.commands, c.entering.follows = w.core.entering.commands, w.core.entering.follows
	return c
}

// mustRestart replaces the core by one that is made from what is stored; its
// outstanding actions are carried out again.
func (w *world) mustRestart() {
	w.Helper()
	w.core = w.store.load(w)
	w.waits = nil
	for _, key := range slices.Sorted(maps.Keys(w.core.State().Actions)) {
		w.waits = append(w.waits, *w.core.State().Actions[key])
	}
	w.logf("** restarted")
}

// mustLose goes back to what was stored some turns ago, while main and the
// forge stay as they are. Facts that the forge still shows are read again.
func (w *world) mustLose(turns int) {
	w.Helper()
	turns = min(turns, len(w.store.before))
	if turns == 0 {
		return
	}
	w.store.records = w.store.before[len(w.store.before)-turns]
	w.store.before = nil
	w.mail = nil
	w.mustRestart()
	w.logf("** %d turns are lost", turns)
	w.audit.forget()
	w.forgottenBranches()
	for id, r := range w.runs {
		if w.core.State().Builds[id] == nil {
			r.over = true
		}
	}
	again := []queue.Event{w.event(queue.MainMoved{Branch: "main"}), w.event(queue.Capacity{Slots: w.core.State().Slots})}
	for _, n := range slices.Sorted(maps.Keys(w.pulls)) {
		p := w.pulls[n]
		again = append(again, w.event(queue.HeadMoved{Number: n, Head: w.shows(p)}))
		if !p.open {
			again = append(again, w.event(queue.Closed{Number: n}))
		}
		if k := len(p.commands); k > 0 && w.now.Sub(p.commands[k-1].At) < 24*time.Hour {
			again = append(again, p.commands[k-1])
		}
	}
	w.step(again...)
}
