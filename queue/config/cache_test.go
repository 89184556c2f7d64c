package config_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// What a step keeps is part of it: with other caches it is another step, but not in
// another order of them.
func TestCachesInDigest(t *testing.T) {
	with := func(c ...config.Cache) digest.Digest {
		return config.Step{Name: "unit", Run: "make", Caches: c}.Digest()
	}
	cache := func(paths []string, key ...string) config.Cache { return config.Cache{Paths: paths, Key: key} }
	a, b := cache([]string{"a"}), cache([]string{"b"}, "k")
	if with(a, b) != with(b, a) || with(cache([]string{"a", "b"}, "k", "l")) != with(cache([]string{"b", "a"}, "l", "k")) {
		t.Error("the order is in the digest")
	}
	seen := map[digest.Digest]int{}
	for i, list := range [][]config.Cache{nil, {a}, {b}, {a, b}, {cache([]string{"a", "b"})}, {cache([]string{"a", "b"}, "k")}, {cache([]string{"a"}, "b")},
		{cache([]string{"a"}, "b", "k")}, {cache([]string{"a"}, "k"), cache([]string{"b"})}} {
		if j, twice := seen[with(list...)]; twice {
			t.Errorf("lists %d and %d have one digest", j, i)
		}
		seen[with(list...)] = i
	}
	if (config.Step{Name: "unit", Run: "make", Caches: []config.Cache{}}).Digest() != with() {
		t.Error("none and empty have different digests")
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     bool
	}{{"a", "a", true}, {"a/b", "a", true}, {"ab", "a", false}, {"a", "a/b", false}} {
		if got := config.Within(c.name, c.in); got != c.want {
			t.Errorf("%s in %s: %v", c.name, c.in, got)
		}
	}
}
