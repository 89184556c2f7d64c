package queue_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// drawState returns a state with something in every field, so that a field that
// is not stored is missed below.
func drawState(r *rapid.T) *queue.State {
	s := queue.NewState("main")
	s.Main = filled(r, s.Main)
	s.Capacity = queue.Capacity{Slots: 3, Forge: 4}
	s.Slots = rapid.IntRange(0, 100).Draw(r, "slots")
	push := filled(r, queue.Push{})
	s.Push = &push
	s.Train = []queue.ChangeID{"a", "b"}
	s.Spent = []queue.Instant{1, 2}
	s.Accuracy = 0.9
	s.Learned = filled(r, queue.Learned{})
	s.Learned.Failing = 1 // a queue that has learned nothing has no record
	s.Model = filled(r, queue.Models{})
	s.Model.Seen = 1 // likewise
	for _, id := range rapid.SliceOfNDistinct(rapid.StringN(0, 6, -1), 1, 3, rapid.ID).Draw(r, "ids") {
		change, request, link := filled(r, queue.Change{}), filled(r, queue.Request{}), filled(r, queue.Link{})
		steps, build, entry := filled(r, queue.StepSet{}), filled(r, queue.Build{}), filled(r, queue.Entry{})
		duration, action, footprint := filled(r, queue.Duration{}), filled(r, queue.Action{}), filled(r, queue.Footprint{})
		change.ID, request.ID, link.ID, steps.ID = queue.ChangeID(id), id, queue.LinkID(id), queue.Digest(id)
		build.ID, entry.ID, duration.ID, action.Key = queue.BuildID(id), queue.Digest(id), id, id
		action.Task = filled(r, queue.Resolve{})
		s.Changes[change.ID], s.Requests[id], s.Links[link.ID], s.Steps[steps.ID] = &change, &request, &link, &steps
		s.Builds[build.ID], s.Ledger[entry.ID], s.Durations[id], s.Actions[id] = &build, &entry, &duration, &action
		s.Footprints[change.ID] = &footprint
		control := filled(r, queue.Control{})
		s.Controls[control.ID()] = &control
		belief := filled(r, queue.Belief{})
		belief.Change = change.ID
		s.Beliefs[change.ID] = &belief
		author, area := filled(r, queue.Author{}), filled(r, queue.Area{})
		author.Name, area.Dir = id, id
		s.Authors[id], s.Areas[id] = &author, &area
		promises := filled(r, queue.Promises{})
		promises.Change = change.ID
		s.Promises[change.ID] = &promises
	}
	for _, n := range rapid.SliceOfNDistinct(rapid.Int(), 1, 3, rapid.ID).Draw(r, "numbers") {
		pull := filled(r, queue.Pull{})
		pull.Number = n
		s.Pulls[n] = &pull
		model := filled(r, queue.Model{})
		model.Version = n
		s.Models[n] = &model
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.String(), 1, 3, rapid.ID).Draw(r, "targets") {
		outcomes := filled(r, queue.Outcomes{})
		outcomes.Target = name
		s.Outcomes[name] = &outcomes
	}
	return s
}

// refsOf names all records of a state.
func refsOf(s *queue.State) []queue.Ref {
	var refs []queue.Ref
	for _, meta := range []string{queue.MetaMain, queue.MetaSlots, queue.MetaCapacity, queue.MetaPush, queue.MetaTrain, queue.MetaSpent, queue.MetaAccuracy, queue.MetaLearned, queue.MetaModel} {
		refs = append(refs, queue.Ref{Kind: queue.KindMeta, ID: meta})
	}
	for kind, m := range map[queue.Kind]any{
		queue.KindChange: s.Changes, queue.KindRequest: s.Requests, queue.KindPull: s.Pulls, queue.KindFootprint: s.Footprints,
		queue.KindLink: s.Links, queue.KindSteps: s.Steps, queue.KindBuild: s.Builds, queue.KindEntry: s.Ledger, queue.KindControl: s.Controls, queue.KindHost: s.Hosts,
		queue.KindDuration: s.Durations, queue.KindBelief: s.Beliefs, queue.KindAction: s.Actions,
		queue.KindAuthor: s.Authors, queue.KindArea: s.Areas, queue.KindPromises: s.Promises, queue.KindModel: s.Models, queue.KindOutcomes: s.Outcomes,
	} {
		for _, key := range reflect.ValueOf(m).MapKeys() {
			id := ""
			if key.Kind() == reflect.Int {
				id = strconv.FormatInt(key.Int(), 10)
			} else {
				id = key.String()
			}
			refs = append(refs, queue.Ref{Kind: kind, ID: id})
		}
	}
	return refs
}

func TestStateRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want, got := drawState(r), queue.NewState("")
		fields := reflect.ValueOf(*want)
		for i := range fields.NumField() {
			if name := fields.Type().Field(i).Name; fields.Field(i).IsZero() && name != "Main" && name != "Slots" {
				r.Fatalf("teach drawState the field %s", name)
			}
		}
		for _, ref := range refsOf(want) {
			record, ok, err := want.Encode(ref)
			if err != nil || !ok || record.Ref != ref {
				r.Fatalf("encoding %v: %v, %v", ref, ok, err)
			}
			if err := got.Load(record); err != nil {
				r.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got, sameJSON); diff != "" {
			r.Fatal(diff)
		}
	})
}

func TestStateEncodesAbsence(t *testing.T) {
	s := queue.NewState("main")
	for _, kind := range queue.Kinds() {
		for _, id := range []string{"", "none", "7", queue.MetaPush, queue.MetaTrain, queue.MetaSpent, queue.MetaAccuracy} {
			record, ok, err := s.Encode(queue.Ref{Kind: kind, ID: id})
			if ok || err != nil || record.Data != nil {
				t.Errorf("%s %q of an empty state: %v, %v, %s", kind, id, ok, err, record.Data)
			}
		}
	}
	if _, ok, _ := s.Encode(queue.Ref{Kind: "none", ID: "x"}); ok {
		t.Error("a kind that does not exist is stored")
	}
}

func TestStateLoadErrors(t *testing.T) {
	for _, kind := range append(queue.Kinds(), "future") {
		for _, data := range []string{"", "{", `"text"`, "[1]x"} {
			err := queue.NewState("main").Load(queue.Record{Ref: queue.Ref{Kind: kind, ID: "some-id"}, Data: []byte(data)})
			if err == nil {
				t.Errorf("%s was read from %q", kind, data)
				continue
			}
			if !strings.Contains(err.Error(), string(kind)+" some-id") {
				t.Errorf("the error does not name the record: %v", err)
			}
		}
	}
	for _, meta := range []string{queue.MetaMain, queue.MetaSlots, queue.MetaCapacity, queue.MetaPush, queue.MetaTrain, queue.MetaSpent, queue.MetaAccuracy} {
		if err := queue.NewState("main").Load(queue.Record{Ref: queue.Ref{Kind: queue.KindMeta, ID: meta}, Data: []byte(`"text"`)}); err == nil {
			t.Errorf("%s was read from a text", meta)
		}
	}
}

// Kinds lists each declared kind once.
func TestKinds(t *testing.T) {
	kinds := queue.Kinds()
	slices.Sort(kinds)
	if n := len(slices.Compact(kinds)); n != len(queue.Kinds()) || n != 20 {
		t.Errorf("%d kinds: %v", n, queue.Kinds())
	}
}
