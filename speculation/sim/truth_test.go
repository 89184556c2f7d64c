package sim_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// failing is the rule of the worlds, written down again: which targets fail on a
// state.
func failing(w *sim.World, in map[int]bool) []int {
	bad := map[int]bool{}
	for i := range w.Changes {
		c := &w.Changes[i]
		if !in[i] {
			continue
		}
		if c.BrokenTarget >= 0 {
			bad[c.BrokenTarget] = true
		}
		for _, x := range c.Conflicts {
			if in[x.With] {
				bad[x.Target] = true
			}
		}
	}
	var out []int
	for t := range bad {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

func TestStateAgreesWithTheRule(t *testing.T) {
	w := mustGenerate(t, func(p *sim.Params) { p.Changes, p.Components, p.Conflict, p.Broken = 60, 5, 0.2, 0.2 })
	var all []int
	for i := range w.Targets {
		all = append(all, i)
	}
	r := rand.New(rand.NewPCG(1, 1))
	s, in := sim.NewState(w), map[int]bool{}
	for range 2000 {
		c := r.IntN(len(w.Changes))
		if r.IntN(2) == 0 {
			s.Add(c)
			in[c] = true
		} else {
			s.Remove(c)
			delete(in, c)
		}
		want := failing(w, in)
		if got := s.Broken(all); !slices.Equal(got, want) || s.Red() != len(want) {
			t.Fatalf("%d targets fail, %v; want %v", s.Red(), got, want)
		}
		more := []int{r.IntN(len(w.Changes)), r.IntN(len(w.Changes))}
		over := map[int]bool{more[0]: true, more[1]: true}
		for k := range in {
			over[k] = true
		}
		got, _ := s.With(more, all)
		if want := failing(w, over); !slices.Equal(got, want) {
			t.Fatalf("with %v more, %v fail; want %v", more, got, want)
		}
		if got := s.Broken(all); !slices.Equal(got, want) {
			t.Fatalf("With has changed the state: %v, before %v", got, want)
		}
	}
}

func TestGraphIsWhoseTargetsMeet(t *testing.T) {
	w := mustGenerate(t, func(p *sim.Params) { p.Changes, p.Large = 120, 0.05 })
	g := sim.NewGraph(w)
	for i := range w.Changes {
		for j := range i {
			meet := slices.ContainsFunc(w.Changes[i].Targets, func(x int) bool { return slices.Contains(w.Changes[j].Targets, x) })
			if slices.Contains(g.Earlier[i], j) != meet || slices.Contains(g.Later[j], i) != meet {
				t.Fatalf("%d and %d: meet %t, the graph says otherwise", i, j, meet)
			}
		}
		if !slices.IsSorted(g.Earlier[i]) || !slices.IsSorted(g.Later[i]) {
			t.Fatalf("neighbours of %d are out of order", i)
		}
	}
}

func TestBuildMinutes(t *testing.T) {
	w := &sim.World{OverheadMin: 4, Targets: []sim.Target{{10, 0}, {10, 0}, {10, 1}, {10, 2}},
		Changes: []sim.Change{{DurationMin: 34, Targets: []int{0, 1, 2, 3}}, {DurationMin: 16, Targets: []int{0, 1, 2, 3}}}}
	for _, c := range []struct {
		name    string
		change  int
		targets []int
		want    float64
	}{
		{"all", 0, []int{0, 1, 2, 3}, 34},
		{"one", 0, []int{2}, 4 + 10}, // its chain is longer than its share, 7.5
		{"two side by side", 0, []int{2, 3}, 4 + 15},
		{"two after each other", 0, []int{0, 1}, 4 + 20},
		{"never more than all", 1, []int{0, 1}, 4 + 12},
		{"nothing", 0, nil, 0},
	} {
		if got := w.BuildMinutes(c.change, c.targets); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v minutes; want %v", c.name, got, c.want)
		}
	}
	for ran, want := range map[float64]int{0: 0, 9: 0, 10: 1, 19.9: 1, 20: 2, 40: 4, 50: 4} {
		if got := w.Finished([]int{0, 1, 2, 3}, ran, 40); got != want {
			t.Errorf("after %v of 40 minutes %d targets are finished; want %d", ran, got, want)
		}
	}
}

func TestFlakesAreAsRareAsStated(t *testing.T) {
	w := &sim.World{Seed: 1, Flaky: 0.02}
	n := 0
	for change := range 100 {
		for attempt := range 10 {
			for target := range 20 {
				flaky := w.Flake(change, attempt, target)
				if again := w.Flake(change, attempt, target); again != flaky {
					t.Fatal("a flake is another the second time")
				}
				if flaky {
					n++
				}
			}
		}
	}
	if n < 330 || n > 470 {
		t.Errorf("%d of 20000 flake; want about 400", n)
	}
}
