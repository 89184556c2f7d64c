package queue

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Rewind corrects a state that was written by a clock which ran ahead: each moment later
// than now becomes earlier by the given duration. It returns the changed records, to be
// stored.
//
// Moments keep their order and their distances, so that conclusions from them, such as
// which run of main came after which failure, stay as they were. A waiting time that has
// not passed ends earlier. A freeze ends when its author said, and what is under way
// (Actions) is dealt with by the core.
func (s *State) Rewind(now Instant, by time.Duration) (changed []Ref) {
	r := rewinding{now, by}
	for _, ch := range s.Changes {
		if ch.Arrival > now && ch.Virtual != 0 {
			ch.Virtual = ch.Virtual.Add(-by)
		}
	}
	changed = slices.Concat(
		rewindAll(r, KindChange, s.Changes), rewindAll(r, KindRequest, s.Requests), rewindAll(r, KindPull, s.Pulls),
		rewindAll(r, KindFootprint, s.Footprints), rewindAll(r, KindLink, s.Links), rewindAll(r, KindBuild, s.Builds),
		rewindAll(r, KindEntry, s.Ledger), rewindAll(r, KindControl, s.Controls), rewindAll(r, KindHunt, s.Hunts),
		rewindAll(r, KindHost, s.Hosts), rewindAll(r, KindAuthor, s.Authors), rewindAll(r, KindArea, s.Areas), rewindAll(r, KindPromises, s.Promises))
	freeze := Instant(0)
	if s.Main.Paused != nil {
		freeze = s.Main.Paused.Until
	}
	if r.value(reflect.ValueOf(&s.Main)) {
		changed = append(changed, Ref{KindMeta, MetaMain})
	}
	if s.Main.Paused != nil {
		s.Main.Paused.Until = freeze
	}
	if s.Push != nil && r.value(reflect.ValueOf(s.Push)) {
		changed = append(changed, Ref{KindMeta, MetaPush})
	}
	if r.value(reflect.ValueOf(&s.Model)) {
		changed = append(changed, Ref{KindMeta, MetaModel})
	}
	for v, m := range s.Models { // readers of a version have it, too
		if x := *m; r.value(reflect.ValueOf(&x)) {
			s.Models[v], changed = &x, append(changed, Ref{KindModel, fmt.Sprint(v)})
		}
	}
	if r.value(reflect.ValueOf(s.Spent)) {
		changed = append(changed, Ref{KindMeta, MetaSpent})
	}
	slices.SortFunc(changed, func(a, b Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	return changed
}

type rewinding struct {
	now Instant
	by  time.Duration
}

func rewindAll[K comparable, V any](r rewinding, kind Kind, m map[K]*V) (changed []Ref) {
	for k, v := range m {
		if r.value(reflect.ValueOf(v)) {
			changed = append(changed, Ref{kind, fmt.Sprint(k)})
		}
	}
	return changed
}

// value moves the moments in a value, and reports whether there were any to move.
func (r rewinding) value(v reflect.Value) (moved bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return r.value(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			moved = r.value(v.Index(i)) || moved
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type() == reflect.TypeFor[Change]() && name == "Virtual" {
				continue // it is no past moment, and moves with the arrival
			}
			if name == "Made" {
				continue // it is by the forge's clock
			}
			moved = r.value(v.Field(i)) || moved
		}
	case reflect.Int64:
		if v.Type() == reflect.TypeFor[Instant]() && v.CanSet() && Instant(v.Int()) > r.now {
			v.SetInt(int64(max(Instant(v.Int()).Add(-r.by), 1)))
			return true
		}
	}
	return moved
}
