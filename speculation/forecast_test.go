package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// foreseen is a queue at noon on a proven main: every target takes two minutes,
// every change touches one. The first change has a build that has run for one.
func foreseen(slots int, touches ...string) (*Core, queue.Instant) {
	noon := queue.At(time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC))
	s := queue.NewState("main")
	step := config.Step{Name: "unit", Run: "test", Scope: config.ScopeTargets}
	s.Slots = slots
	s.Main = queue.Main{Branch: "main", Tip: "m0", Surveyed: "m0", Config: &config.Config{Steps: []config.Step{step}}}
	for i, target := range touches {
		id := queue.ChangeID(rune('1'+i)) + ".x"
		at := noon.Add(time.Duration(i-10) * time.Minute)
		s.Changes[id] = &queue.Change{ID: id, Number: i + 1, Phase: queue.Pending, Arrival: at, Foreseen: queue.Foreseen{Virtual: at}}
		s.Footprints[id] = &queue.Footprint{Main: "m0", Write: []string{target}, Affected: []string{target}}
		d := derived.DurationID(step.Name, target)
		s.Durations[d] = &queue.Duration{ID: d, Mean: 2 * time.Minute, N: 3}
	}
	s.Builds["b1"] = &queue.Build{ID: "b1", Link: "m0+1.x", Change: "1.x", Commit: "c1", At: noon.Add(-time.Minute), Started: noon.Add(-time.Minute),
		Jobs: []queue.Job{{Step: step, Keys: []queue.Key{{Step: step.Digest(), Target: touches[0], Hash: "h"}}}}}
	c := New(s)
	c.facts.Now = noon
	c.landing.sortOrder()
	return c, noon
}

func forecastOf(c *Core, id queue.ChangeID) queue.Forecast {
	c.telling.forecasts = nil
	v, _ := c.View(id)
	return v.Forecast
}

func TestForecastOfARunningBuild(t *testing.T) {
	c, noon := foreseen(2, "a")
	want := queue.Forecast{Early: noon.Add(30 * time.Second), Late: noon.Add(2*time.Minute + landingTime), Usual: 2 * time.Minute}
	if got := forecastOf(c, "1.x"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.facts.Futures.Verified["1.x"] = true
	if got := forecastOf(c, "1.x"); got.Early != noon || got.Late != noon.Add(landingTime) {
		t.Errorf("proven: %+v", got)
	}
}

func TestForecastWaitsForASlot(t *testing.T) {
	for slots, want := range map[int]time.Duration{1: 2*time.Minute + landingTime, 2: 0} {
		c, noon := foreseen(slots, "a", "b")
		start := noon.Add(want)
		got := forecastOf(c, "2.x")
		if got.Early != start.Add(90*time.Second) || got.Late != start.Add(3*time.Minute+landingTime) || got.Usual != 0 {
			t.Errorf("%d slots: %+v after %d", slots, got, start)
		}
	}
}

func TestForecastBehindAnotherChange(t *testing.T) {
	c, _ := foreseen(2, "a", "a")
	first, second := forecastOf(c, "1.x"), forecastOf(c, "2.x")
	if second.Early < first.Early || second.Late < first.Late.Add(2*time.Minute) {
		t.Errorf("ahead %+v, behind %+v: it may have to be built once more", first, second)
	}
}

// Nobody is told a time that nothing speaks for.
func TestNoForecast(t *testing.T) {
	for name, change := range map[string]func(*Core){
		"paused":        func(c *Core) { c.s.Main.Paused = &queue.Pause{By: "ann"} },
		"no runner":     func(c *Core) { c.s.Slots = 0 },
		"main unproven": func(c *Core) { c.s.Main.Surveyed, c.s.Main.Protected = "", true },
		"main red": func(c *Core) {
			c.s.Main.Protected, c.s.Main.Root = true, "m0+"
			c.s.Links["m0+"] = &queue.Link{ID: "m0+", Parent: "m0", Commit: "m0", Outcome: queue.Merged, Keys: []queue.Key{{Target: "z"}}}
		},
		"never seen": func(c *Core) { clear(c.s.Durations) },
		"parked": func(c *Core) {
			for _, ch := range c.s.Changes {
				ch.Phase = queue.Parked
				c.touchChange(ch)
			}
			c.landing.sortOrder()
		},
	} {
		c, _ := foreseen(2, "a", "a", "b")
		change(c)
		for _, id := range []queue.ChangeID{"1.x", "2.x", "3.x"} {
			if got := forecastOf(c, id); got != (queue.Forecast{}) {
				t.Errorf("%s: %s has %+v", name, id, got)
			}
		}
	}
}

func TestForecastOfWhatIsLate(t *testing.T) {
	c, noon := foreseen(2, "a", "a", "b")
	c.facts.Now = noon.Add(10 * time.Minute)
	if got := forecastOf(c, "1.x"); got.Late >= c.facts.Now || got.Usual != 2*time.Minute {
		t.Errorf("the late one: %+v", got)
	}
	if got := forecastOf(c, "2.x"); got != (queue.Forecast{}) {
		t.Errorf("behind the late one: %+v", got)
	}
	if got := forecastOf(c, "3.x"); got.Early < c.facts.Now {
		t.Errorf("beside the late one: %+v", got)
	}
	if v, _ := c.View("1.x"); v.Builds[0].Expected >= c.facts.Now || v.Builds[0].Usual != 2*time.Minute {
		t.Errorf("its build: %+v", v.Builds[0])
	}
}

func TestForecastIsBounded(t *testing.T) {
	touches := make([]string, 3*forecastDepth)
	for i := range touches {
		touches[i] = "t"
	}
	s, _ := foreseen(2, "a")
	for i := range touches {
		id := queue.NewChangeID(i+1, "h", "c")
		s.s.Changes[id] = &queue.Change{ID: id, Number: i + 1, Phase: queue.Pending}
		s.touchChange(s.s.Changes[id])
	}
	s.landing.sortOrder()
	if n := len(s.telling.foresee()); n > forecastDepth {
		t.Errorf("%d forecasts", n)
	}
}

// Where several analyzers run, a target takes the time of its own steps.
func TestDurationsOfOneAnalyzer(t *testing.T) {
	c, _ := foreseen(2, "go:a", "go:a")
	steps := c.s.Main.Config.Steps
	steps[0].Analyzer = "go"
	c.s.Main.Config.Steps = append(steps, config.Step{Name: "web", Run: "test", Scope: config.ScopeTargets, Analyzer: "web"})
	d := derived.DurationID("web", "go:a")
	c.s.Durations[d] = &queue.Duration{ID: d, Mean: time.Hour, N: 3}
	ch, f := c.s.Changes["2.x"], c.s.Footprints["2.x"]
	if got := c.facts.Beliefs.Predict(ch, f); got != 2*time.Minute {
		t.Errorf("predicted %s", got)
	}
	if got := c.facts.Futures.TargetCost(c.facts.Futures.Assumed.Number("go:a")); got != (2*time.Minute + time.Millisecond).Seconds() {
		t.Errorf("cost %v", got)
	}
	delete(c.s.Durations, d)
	steps = append(c.s.Main.Config.Steps, config.Step{Name: "site", Run: "test", Scope: config.ScopeTargets, Analyzer: "web"}, config.Step{Name: "api", Run: "test", Scope: config.ScopeTargets, Analyzer: "web"})
	c.s.Main.Config.Steps = steps
	if took, seen := c.telling.foreseeBuild("2.x"); took != 2*time.Minute || !seen {
		t.Errorf("foreseen %s, seen %v: steps that never run on it count", took, seen)
	}
}
