package conflict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A target that the parent does not have is asked for under each run of a step that is
// strict with new ones, and not under the step; what the parent has at another hash is asked
// for once. A commit by itself has nothing new.
func TestKeysOfNewTargets(t *testing.T) {
	strict := config.WithRepeats([]config.Step{
		{Name: "unit", Run: "test {targets}", Scope: config.ScopeTargets, StrictNew: 2},
		{Name: "vet", Run: "vet {targets}", Scope: config.ScopeTargets}})
	before, after := snapshotOf(t, state{"A": {0, nil}, "B": {0, nil}}), snapshotOf(t, state{"A": {1, nil}, "B": {0, nil}, "N": {0, nil}})
	names := map[queue.Digest]string{}
	for _, s := range strict {
		names[s.Digest()] = fmt.Sprintf("%s%d", s.Name, s.Repeat)
	}
	shown := func(keys []queue.Key) string {
		var out []string
		for _, k := range keys {
			out = append(out, names[k.Step]+"/"+k.Target)
		}
		return strings.Join(out, " ")
	}
	for name, c := range map[string]struct {
		keys []queue.Key
		want string
	}{
		"a new target":           {conflict.Keys(before, after, strict, strict), "unit0/A unit1/N unit2/N vet0/A vet0/N"},
		"a new step as well":     {conflict.Keys(before, after, nil, strict), "unit0/A unit0/B unit1/N unit2/N vet0/A vet0/B vet0/N"},
		"one that is strict now": {conflict.Keys(before, after, unstrict(strict), strict), "unit0/A unit1/N unit2/N vet0/A vet0/N"},
		"nothing new":            {conflict.Keys(after, after, strict, strict), ""},
		"a commit by itself":     {conflict.Keys(nil, after, nil, strict), "unit0/A unit0/B unit0/N vet0/A vet0/B vet0/N"},
		"what has gone":          {conflict.Keys(after, before, strict, strict), "unit0/A vet0/A"},
	} {
		if got := shown(c.keys); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// unstrict returns steps as they were before they were strict.
func unstrict(steps []config.Step) (out []config.Step) {
	for _, s := range steps {
		if s.StrictNew = 0; s.Repeat == 0 {
			out = append(out, s)
		}
	}
	return out
}
