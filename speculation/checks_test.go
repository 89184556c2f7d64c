package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func TestSlotsFollowTheStepsInForce(t *testing.T) {
	runner, checks := config.Step{Name: "unit", Run: "make"}, config.Step{Name: "ci", Checks: []config.Check{{Name: "test"}}}
	for _, test := range []struct {
		name     string
		steps    []config.Step
		capacity queue.Capacity
		want     int
	}{
		{"no configuration yet", nil, queue.Capacity{Slots: 2, Forge: 10}, 2},
		{"runners", []config.Step{runner}, queue.Capacity{Slots: 2, Forge: 10}, 2},
		{"CI", []config.Step{checks}, queue.Capacity{Slots: 2, Forge: 10}, 10},
		{"CI without runners", []config.Step{checks}, queue.Capacity{Forge: 10}, 10},
		{"both", []config.Step{checks, runner}, queue.Capacity{Slots: 2, Forge: 10}, 2},
		{"no CI: the runners say that they cannot", []config.Step{checks}, queue.Capacity{Slots: 2}, 2},
	} {
		s := queue.NewState("main")
		if test.steps != nil {
			s.Main.Config = &config.Config{Version: 1, Steps: test.steps, Queue: rulesOf(config.Rules{})}
		}
		c := New(s)
		c.begin(nil)
		c.guarding.capacity(test.capacity)
		if c.s.Slots != test.want {
			t.Errorf("%s: %d slots, want %d", test.name, c.s.Slots, test.want)
		}
	}
	s := queue.NewState("main") // of a version that knew runners only
	s.Slots = 7
	s.Main.Config = &config.Config{Version: 1, Steps: []config.Step{checks}, Queue: rulesOf(config.Rules{})}
	c := New(s)
	c.begin(nil)
	if c.guarding.configured(); c.s.Slots != 7 {
		t.Errorf("%d slots before anything was told", c.s.Slots)
	}
}

// A pass of a step that covers the tree counts for what the commit has, and not
// for what the links below had in its place.
func TestPassOfATree(t *testing.T) {
	for _, counts := range []config.Counts{config.CountsAsked, config.CountsTree} {
		step := config.Step{Name: "ci", Scope: config.ScopeTargets, Report: config.ReportExitCode, Checks: []config.Check{{Name: "test"}}, Counts: counts}
		s := queue.NewState("main")
		s.Main.Tip = "m"
		s.Main.Config = &config.Config{Version: 1, Steps: []config.Step{step}, Queue: rulesOf(config.Rules{})}
		set := queue.NewStepSet([]config.Step{step})
		s.Steps[set.ID] = &set
		key := func(target string, hash queue.Digest) queue.Key {
			return queue.Key{Step: step.Digest(), Target: target, Hash: hash}
		}
		link := func(parent queue.CommitID, id queue.ChangeID, gone []string, keys ...queue.Key) *queue.Link {
			l := &queue.Link{ID: queue.LinkOf(parent, id), Parent: parent, Change: id, Outcome: queue.Merged,
				Commit: parent + "+" + queue.CommitID(id), Steps: set.ID, Keys: keys, Gone: gone}
			s.Links[l.ID] = l
			s.Changes[id] = &queue.Change{ID: id, Phase: queue.Pending, Arrival: 1, Foreseen: queue.Foreseen{Virtual: 1}}
			s.Footprints[id] = &queue.Footprint{Main: "m"}
			return l
		}
		link("m", "a", nil, key("one", "1"), key("two", "2"), key("three", "3"))
		top := link("m+a", "b", []string{"three"}, key("two", "2'"), key("four", "4"))
		build := &queue.Build{ID: "x", Link: top.ID, Change: "b", Commit: top.Commit, Jobs: []queue.Job{{Step: step, Keys: []queue.Key{key("four", "4")}}}}
		s.Builds[build.ID] = build
		c := New(s)
		c.begin(nil)
		c.judging.jobDone(queue.JobDone{Build: "x", Step: step.Digest(), Outcome: queue.JobPassed, Again: 1})
		for _, want := range []struct {
			key          queue.Key
			asked, whole bool
		}{
			{key("four", "4"), true, true}, {key("two", "2'"), false, true}, {key("one", "1"), false, true},
			{key("two", "2"), false, false}, {key("three", "3"), false, false},
		} {
			passed := want.asked
			if counts == config.CountsTree {
				passed = want.whole
			}
			e := s.Ledger[want.key.ID()]
			if got := e != nil && e.Passed != 0; got != passed {
				t.Errorf("%s: %s at %s: passed %v, want %v", counts, want.key.Target, want.key.Hash, got, passed)
			}
		}
		if e := s.Ledger[key("four", "4").ID()]; e.Tries != 2 {
			t.Errorf("%d tries, and it was run again once", e.Tries)
		}
	}
}

func TestCheckThatDoesNotAppearParks(t *testing.T) {
	s := queue.NewState("main")
	s.Main.Tip = "m"
	s.Main.Config = &config.Config{Version: 1, Queue: rulesOf(config.Rules{InfraRetries: 3})}
	s.Changes["a"] = &queue.Change{ID: "a", Phase: queue.Pending, Arrival: 1, Foreseen: queue.Foreseen{Virtual: 1}}
	s.Builds["x"] = &queue.Build{ID: "x", Change: "a", Commit: "c"}
	c := New(s)
	c.begin(nil)
	c.judging.buildDone(queue.BuildDone{Build: "x", Outcome: queue.JobInfra, NoCheck: true, Detail: "the check did not appear"})
	if ch := s.Changes["a"]; ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonNoCheck || ch.Reason.Detail != "the check did not appear" {
		t.Errorf("%s, %+v", ch.Phase, ch.Reason)
	}
}
