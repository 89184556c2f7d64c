package queue_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func TestKeyID(t *testing.T) {
	seen := map[queue.KeyID]queue.Key{}
	for _, k := range []queue.Key{{}, {Step: "s"}, {Target: "s"}, {Hash: "s"}, {Step: "s", Target: "t", Hash: "h"},
		{Step: "sx", Target: "t", Hash: "h"}, {Step: "s", Target: "tx", Hash: "h"}, {Step: "s", Target: "t", Hash: "hx"}} {
		if other, twice := seen[k.ID()]; twice {
			t.Errorf("%+v has the id of %+v", k, other)
		}
		seen[k.ID()] = k
	}
	if n := reflect.TypeFor[queue.Key]().NumField(); n != 3 {
		t.Errorf("a key has %d fields: teach this test the new ones", n)
	}
}

func TestStepKeys(t *testing.T) {
	targets := []queue.TargetHash{{Target: "a", Hash: "1"}, {Target: "b", Hash: "2"}}
	s := config.Step{Name: "unit", Scope: config.ScopeTargets}
	want := []queue.Key{{Step: s.Digest(), Target: "a", Hash: "1"}, {Step: s.Digest(), Target: "b", Hash: "2"}}
	if got := queue.KeysOf(s, "tree1", targets); !slices.Equal(got, want) {
		t.Errorf("keys %v", got)
	}
	s.Scope = config.ScopeRepository
	want = []queue.Key{{Step: s.Digest(), Target: config.TargetTree, Hash: "tree1"}}
	if got := queue.KeysOf(s, "tree1", targets); !slices.Equal(got, want) {
		t.Errorf("keys %v", got)
	}
}

func TestStepSet(t *testing.T) {
	a, b := config.Step{Name: "a"}, config.Step{Name: "b"}
	set := queue.NewStepSet([]config.Step{a, b})
	if set.ID == queue.NewStepSet([]config.Step{a}).ID || set.ID != queue.NewStepSet([]config.Step{a, b}).ID {
		t.Error("the id of a set does not follow its steps")
	}
	if got, ok := set.Step(b.Digest()); !ok || got.Name != "b" {
		t.Errorf("step b: %v, %v", got, ok)
	}
	if _, ok := set.Step("none"); ok {
		t.Error("a step that is not in the set")
	}
}

func TestNewBuildID(t *testing.T) {
	k, l := queue.Key{Target: "k"}, queue.Key{Target: "l"}
	base := queue.NewBuildID("link", []queue.Key{k, l}, 1)
	if queue.NewBuildID("link", []queue.Key{l, k}, 1) != base {
		t.Error("the order of the keys is in the id")
	}
	for _, other := range []queue.BuildID{
		queue.NewBuildID("link2", []queue.Key{k, l}, 1),
		queue.NewBuildID("link", []queue.Key{k}, 1),
		queue.NewBuildID("link", []queue.Key{k, l}, 2),
	} {
		if other == base {
			t.Error("two builds have one id")
		}
	}
}

// A step of one analyzer has keys of that analyzer's targets, and of those that every
// step must pass.
func TestStepKeysOfAnAnalyzer(t *testing.T) {
	s := config.Step{Run: "test {targets}", Analyzer: "web"}
	targets := []queue.TargetHash{{Target: "go:./x", Hash: "1"}, {Target: "tree", Hash: "2"}, {Target: "unowned", Hash: "3"}, {Target: "web:@shop/ui", Hash: "4"}, {Target: "web:go:x", Hash: "5"}, {Target: "webx:y", Hash: "6"}}
	var names []string
	for _, k := range queue.KeysOf(s, "t", targets) {
		if k.Step != s.Digest() {
			t.Errorf("the key of %s is of another step", k.Target)
		}
		names = append(names, k.Target)
	}
	if want := []string{"tree", "unowned", "web:@shop/ui", "web:go:x"}; !slices.Equal(names, want) {
		t.Errorf("keys of %q", names)
	}
	s.Scope = config.ScopeRepository
	if keys := queue.KeysOf(s, "t", targets); len(keys) != 1 || keys[0].Target != config.TargetTree {
		t.Errorf("keys of the whole tree: %v", keys)
	}
}
