package queue_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Whatever shards their results come in, each key is in one job of its step, and a result
// that comes twice, or is of targets of which one has its result, finds no job.
func TestShardsDivideJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := []config.Step{{Name: "unit", Run: "u {targets}"}, {Name: "vet", Run: "v {targets}"}}
		b := queue.Build{ID: "b"}
		want := map[queue.Key]bool{}
		for _, s := range steps {
			j := queue.Job{Step: s}
			for _, target := range []string{"a", "b", "c", "d", "e"} {
				k := queue.Key{Step: s.Digest(), Target: target, Hash: queue.Digest("h" + target)}
				j.Keys = append(j.Keys, k)
				want[k] = true
			}
			b.Jobs = append(b.Jobs, j)
		}
		told := map[queue.Key]bool{}
		for range rapid.IntRange(1, 12).Draw(t, "results") {
			step := steps[rapid.IntRange(0, 1).Draw(t, "step")].Digest()
			asked := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 4, rapid.ID[string]).Draw(t, "asked")
			at, keys := b.JobOf(step, asked)
			if at < 0 {
				continue
			}
			for _, k := range keys {
				if told[k] || k.Step != step || len(asked) > 0 && !slices.Contains(asked, k.Target) {
					t.Fatalf("a result for %v finds %v, of which some have results", asked, keys)
				}
				told[k] = true
			}
			if len(asked) > 0 && len(keys) != len(asked) {
				t.Fatalf("a result for %v finds %v", asked, keys)
			}
			j := b.Divide(at, keys)
			if j.Done = true; !slices.Equal(j.Keys, keys) {
				t.Fatalf("the job of %v has %v", keys, j.Keys)
			}
			if again, _ := b.JobOf(step, asked); len(asked) > 0 && again >= 0 {
				t.Fatalf("a result for %v comes twice and counts twice", asked)
			}
		}
		seen := map[queue.Key]bool{}
		for _, j := range b.Jobs {
			for _, k := range j.Keys {
				if seen[k] || !want[k] || k.Step != j.Step.Digest() || j.Done != told[k] {
					t.Fatalf("%v in %+v", k, b.Jobs)
				}
				seen[k] = true
			}
		}
		if done, all := b.Steps(); len(seen) != len(want) || all != 2 || done > 2 || done == 2 != (len(told) == len(want)) {
			t.Fatalf("%d of %d steps, %d of %d keys", done, all, len(seen), len(want))
		}
	})
}
