package sim

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// independent is a world of changes that have nothing to do with each other but
// for a step of three minutes on the whole tree: each is built for ten minutes,
// and 500 arrive in an hour.
func independent(n int, set func(i int, c *Change)) *World {
	w := &World{OverheadMin: 1, TreeStepMin: 3, RatePerHour: 500, Arrivals: "fixed", Seed: 1}
	for i := range n {
		w.Targets = append(w.Targets, Target{CostMin: 9, Group: i})
		c := Change{ID: i, ArriveMin: thousandth(float64(i) * 60 / w.RatePerHour), DurationMin: 10, Targets: []int{i}, BrokenTarget: -1,
			Predicted: Prediction{Success: 0.95, DurationMin: 10, DurationSDMin: 1}}
		if set != nil {
			set(i, &c)
		}
		w.Changes = append(w.Changes, c)
	}
	return w
}

// each calls a function on each n-th change.
func each(n int, f func(c *Change)) func(int, *Change) {
	return func(i int, c *Change) {
		if i%n == n/3 {
			f(c)
		}
	}
}

// Independent changes at 500 per hour and one step of three minutes on the whole
// tree: 95 of 100 are decided within their own build and twice the step,
// whatever else happens.
func TestTrainsCarryATreeStep(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	breaks := func(c *Change) { c.BreaksTree = true }
	usual := []string{"a hundred", "one in twenty, foreseen", "one in a hundred breaks the step", "two hundred at once"} // without SUBMITQUEUE_REQUIRE=long
	for _, c := range []struct {
		name    string
		world   *World
		workers int
		p95     float64
		builds  float64
		reject  int
	}{
		{"a hundred", independent(100, nil), 1000, 13.01, 2, 0},
		{"with no worker to spare", independent(300, nil), 110, 13.01, 2.3, 0},
		{"broken on their own", independent(300, each(20, func(c *Change) { c.BrokenTarget = c.ID })), 1000, 16, 3.2, 15},
		{"one in twenty breaks the step", independent(600, each(20, breaks)), 1000, 16, 3.5, 30},
		{"one in twenty, foreseen", independent(300, each(20, func(c *Change) {
			breaks(c)
			c.Predicted.Success = 0.3
		})), 1000, 16, 3.5, 15},
		{"one in a hundred breaks the step", independent(300, each(100, breaks)), 1000, 16, 3.5, 3},
		{"pairs that break it together", independent(300, each(50, func(c *Change) { c.TreeFoes = []int{c.ID - 5} })), 1000, 16, 3.5, 6},
		{"flaky", func() *World {
			w := independent(300, nil)
			w.Flaky = 0.005
			return w
		}(), 1000, 16, 2.1, 0},
		{"pushes from outside", func() *World {
			w := independent(300, nil)
			for i := range 3 {
				w.Pushes = append(w.Pushes, Push{AtMin: float64(10*i + 12), Targets: []int{50 * i}})
			}
			return w
		}(), 1000, 16, 2.5, 0},
		{"two hundred at once", independent(200, func(_ int, c *Change) { c.ArriveMin = 0 }), 1000, 16, 2.1, 0},
	} {
		if !storetest.Required("long") && !slices.Contains(usual, c.name) {
			continue
		}
		m := mustRun(t, c.world, ours{informed: true}, c.workers, nil)
		t.Logf("%-32s P50 %5.2f P95 %5.2f P99 %5.2f min, %.2f builds and %.3f hours per change", c.name, m.P50, m.P95, m.P99, m.Builds, m.Hours)
		if m.Bad() || m.Rejected != c.reject || m.Landed != len(c.world.Changes)-c.reject || m.P95 > c.p95 || m.Builds > c.builds {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
}

// If changes are few, the step is over when the change's own build is, but
// for the two minutes after which the simulator says that a build has started.
func TestStepRunsBesideTheBuildWhereChangesAreFew(t *testing.T) {
	w := independent(40, func(i int, c *Change) { c.ArriveMin = float64(15 * i) })
	with, without := mustRun(t, w, ours{informed: true}, 10, nil), mustRun(t, w, ours{informed: true}, 10, map[string]string{"off": "[early]"})
	if with.Bad() || with.P95 > 12.01 || with.Builds != 2 || without.P50 < 12.99 {
		t.Errorf("%+v\nwithout boarding early %+v", with, without)
	}
}

// A change that probably breaks the step is found before it boards: otherwise those
// behind it are built again each time.
func TestTrialsKeepTheTrainGoing(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	w := independent(300, each(20, func(c *Change) { c.BreaksTree = true }))
	with, without := mustRun(t, w, ours{informed: true}, 1000, nil), mustRun(t, w, ours{informed: true}, 1000, map[string]string{"off": "[trials]"})
	t.Logf("P50 %.2f P95 %.2f min with %.2f builds; without trials %.2f, %.2f with %.2f", with.P50, with.P95, with.Builds, without.P50, without.P95, without.Builds)
	if with.Bad() || without.Bad() || with.P95 > 0.8*without.P95 || with.Builds > without.Builds || with.Landed != without.Landed {
		t.Errorf("%+v\nwithout trials %+v", with, without)
	}
}

// If targets of changes are not known, the queue is in strict order and every
// build is of the whole tree. Main is green, and as long as failures are
// foreseen no change waits for long.
func TestOpaqueWorldsAreInOrder(t *testing.T) {
	t.Parallel()
	broken := each(20, func(c *Change) { c.BrokenTarget = c.ID })
	foreseen := each(20, func(c *Change) { c.BrokenTarget, c.Predicted.Success = c.ID, 0.2 })
	for _, c := range []struct {
		name string
		set  func(int, *Change)
		tree float64
		p95  float64
	}{
		{"sound", nil, 0, 10.01},
		{"foreseen", foreseen, 0, 12},
		{"unforeseen", broken, 0, 25},
		{"with a step on the whole tree", foreseen, 3, 16},
	} {
		w := independent(120, c.set)
		w.Opaque, w.TreeStepMin = true, c.tree
		for i := range w.Changes {
			w.Changes[i].ArriveMin = float64(i) // 60 in an hour
		}
		if first := mustRun(t, w, ours{}, 100, nil); c.set == nil && (first.Bad() || first.Rejected > 0 || first.P95 > 14) {
			t.Errorf("%s, on a first day: %+v", c.name, first)
		}
		m := mustRun(t, w, ours{informed: true}, 100, nil)
		t.Logf("%-32s P50 %5.2f P95 %5.2f P99 %5.2f min, %.2f builds and %.3f hours per change", c.name, m.P50, m.P95, m.P99, m.Builds, m.Hours)
		if m.Bad() || m.Landed+m.Rejected != len(w.Changes) || m.Harmed > 0 || m.P95 > c.p95 {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
}
