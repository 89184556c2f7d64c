package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// foreseeing is a queue at noon on a proven main: every target takes two minutes,
// every change touches one. The first change has a build that has run for one.
func foreseeing(slots int, touches ...string) (*Core, queue.Instant) {
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
	c, noon := foreseeing(2, "a")
	got := forecastOf(c, "1.x")
	if usual := c.facts.Builds.PredictBuild(c.s.Builds["b1"]); got.Usual != usual || got.Early <= noon || got.Late < noon.Add(usual) {
		t.Errorf("%+v; it has run for one minute of about %s", got, usual)
	}
	c.facts.Futures.Verified["1.x"] = true
	if got := forecastOf(c, "1.x"); got.Early != noon || got.Late != noon.Add(landingTime) {
		t.Errorf("proven: %+v", got)
	}
}

func TestForecastWaitsForASlot(t *testing.T) {
	one, noon := foreseeing(1, "a", "b")
	two, _ := foreseeing(2, "a", "b")
	later, sooner := one.telling.foresee()["2.x"].left, two.telling.foresee()["2.x"].left
	for _, level := range spanLevels {
		if later.Quantile(level) <= sooner.Quantile(level) {
			t.Errorf("with one slot %+v, with two %+v", later, sooner)
		}
	}
	if got := forecastOf(one, "2.x"); got.Early <= noon || got.Usual != 0 {
		t.Errorf("%+v", got)
	}
}

func TestForecastBehindAnotherChange(t *testing.T) {
	c, _ := foreseeing(2, "a", "a")
	first, second := c.telling.foresee()["1.x"].left, c.telling.foresee()["2.x"].left
	if second.Quantile(0.5) <= first.Quantile(0.5) {
		t.Errorf("ahead %+v, behind %+v: it may have to be built once more", first, second)
	}
}

// The interval is what the queue's own record says of such forecasts.
func TestForecastFollowsTheRecord(t *testing.T) {
	c, noon := foreseeing(2, "a")
	cold := forecastOf(c, "1.x")
	lead := predict.Lead(time.Minute, 0, 0, 10*time.Minute)
	for range 50 {
		c.s.Learned.Foresight = predict.SeeForecast(c.s.Learned.Foresight, queue.Promise{Median: time.Minute, Lead: lead}, time.Minute, time.Minute)
	}
	if got := forecastOf(c, "1.x"); got.Late.Sub(got.Early) > cold.Late.Sub(cold.Early)/10 || got.Early < noon {
		t.Errorf("%+v before, %+v after forecasts that were right", cold, got)
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
		"out of reach": func(c *Core) { c.s.Main.Away = "the App was suspended" },
		"never seen":   func(c *Core) { clear(c.s.Durations) },
		"parked": func(c *Core) {
			for _, ch := range c.s.Changes {
				ch.Phase = queue.Parked
				c.touchChange(ch)
			}
			c.landing.sortOrder()
		},
	} {
		c, _ := foreseeing(2, "a", "a", "b")
		change(c)
		for _, id := range []queue.ChangeID{"1.x", "2.x", "3.x"} {
			if got := forecastOf(c, id); got != (queue.Forecast{}) {
				t.Errorf("%s: %s has %+v", name, id, got)
			}
		}
	}
}

// Where landings wait for a newer version of an analyzer, a change that is proven is not decided
// within seconds: its comment says until when they wait at most.
func TestForecastWhileTheVersionChanges(t *testing.T) {
	c, noon := foreseeing(2, "a", "b")
	hold := noon.Add(8 * time.Minute)
	c.s.Main.Next = &queue.Upgrade{Analyzer: "v2", Surveyed: "m0", Hold: hold, Root: "m0++"}
	c.s.Links["m0++"] = &queue.Link{ID: "m0++", Parent: "m0", Commit: "m0", Outcome: queue.Merged, Keys: []queue.Key{{Target: "z"}}}
	c.facts.Futures.Verified["1.x"] = true
	if !c.facts.Changing() {
		t.Fatal("landings go on")
	}
	v, _ := c.View("1.x")
	if i := slices.IndexFunc(v.Waits, func(r queue.Reason) bool { return r.Code == queue.ReasonWaitsUpgrade }); i < 0 || v.Waits[i].Until != hold {
		t.Fatalf("it waits for %+v", v.Waits)
	}
	if got := forecastOf(c, "1.x"); got.Late != 0 && got.Late < hold {
		t.Errorf("it waits until %v at most, and its verdict is forecast by %v", hold.Time(), got.Late.Time())
	}
}

func TestForecastOfWhatIsLate(t *testing.T) {
	c, noon := foreseeing(2, "a", "a", "b")
	c.facts.Now = noon.Add(10 * time.Minute)
	usual := c.facts.Builds.PredictBuild(c.s.Builds["b1"])
	if got := forecastOf(c, "1.x"); got.Late >= c.facts.Now || got.Usual != usual {
		t.Errorf("the late one: %+v", got)
	}
	if got := forecastOf(c, "2.x"); got != (queue.Forecast{}) {
		t.Errorf("behind the late one: %+v", got)
	}
	if got := forecastOf(c, "3.x"); got.Early < c.facts.Now {
		t.Errorf("beside the late one: %+v", got)
	}
	if v, _ := c.View("1.x"); v.Builds[0].Expected >= c.facts.Now || v.Builds[0].Usual != usual {
		t.Errorf("its build: %+v", v.Builds[0])
	}
}

func TestForecastIsBounded(t *testing.T) {
	touches := make([]string, 3*forecastDepth)
	for i := range touches {
		touches[i] = "t"
	}
	s, _ := foreseeing(2, "a")
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

// With several analyzers, a target takes the time of its own steps.
func TestDurationsOfOneAnalyzer(t *testing.T) {
	c, _ := foreseeing(2, "go:a", "go:a")
	steps := c.s.Main.Config.Steps
	steps[0].Analyzer = "go"
	c.s.Main.Config.Steps = append(steps, config.Step{Name: "web", Run: "test", Scope: config.ScopeTargets, Analyzer: "web"})
	d := derived.DurationID("web", "go:a")
	c.s.Durations[d] = &queue.Duration{ID: d, Mean: time.Hour, N: 3}
	ch, f := c.s.Changes["2.x"], c.s.Footprints["2.x"]
	about := func(got time.Duration) bool { return got > 90*time.Second && got <= 2*time.Minute } // one run says most of it
	if got := c.facts.Beliefs.Predict(ch, f); !about(got) {
		t.Errorf("predicted %s", got)
	}
	if got := c.facts.Futures.TargetCost(c.facts.Futures.Assumed.Number("go:a")); !about(time.Duration(got * float64(time.Second))) {
		t.Errorf("cost %v", got)
	}
	delete(c.s.Durations, d)
	steps = append(c.s.Main.Config.Steps, config.Step{Name: "site", Run: "test", Scope: config.ScopeTargets, Analyzer: "web"}, config.Step{Name: "api", Run: "test", Scope: config.ScopeTargets, Analyzer: "web"})
	c.s.Main.Config.Steps = steps
	if took, seen := c.telling.foreseeBuild("2.x"); !about(took) || !seen {
		t.Errorf("foreseen %s, seen %v: steps that never run on it count", took, seen)
	}
}
