package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestSlotsFollowTheStepsInForce(t *testing.T) {
	runner, checks := queue.Step{Name: "unit", Run: "make"}, queue.Step{Name: "ci", Checks: []queue.Check{{Name: "test"}}}
	for _, test := range []struct {
		name     string
		steps    []queue.Step
		capacity queue.Capacity
		want     int
	}{
		{"no configuration yet", nil, queue.Capacity{Slots: 2, Forge: 10}, 2},
		{"runners", []queue.Step{runner}, queue.Capacity{Slots: 2, Forge: 10}, 2},
		{"CI", []queue.Step{checks}, queue.Capacity{Slots: 2, Forge: 10}, 10},
		{"CI without runners", []queue.Step{checks}, queue.Capacity{Forge: 10}, 10},
		{"both", []queue.Step{checks, runner}, queue.Capacity{Slots: 2, Forge: 10}, 2},
		{"no CI: the runners say that they cannot", []queue.Step{checks}, queue.Capacity{Slots: 2}, 2},
	} {
		s := queue.NewState("main")
		if test.steps != nil {
			s.Main.Config = &queue.Config{Version: 1, Steps: test.steps, Queue: rulesOf(queue.Rules{})}
		}
		c := New(s)
		c.begin(nil)
		c.capacity(test.capacity)
		if c.s.Slots != test.want {
			t.Errorf("%s: %d slots, want %d", test.name, c.s.Slots, test.want)
		}
	}
	s := queue.NewState("main") // of a version that knew runners only
	s.Slots = 7
	s.Main.Config = &queue.Config{Version: 1, Steps: []queue.Step{checks}, Queue: rulesOf(queue.Rules{})}
	c := New(s)
	c.begin(nil)
	if c.configured(); c.s.Slots != 7 {
		t.Errorf("%d slots before anything was told", c.s.Slots)
	}
}

// A pass of a step that covers the tree counts for what the commit has, and not
// for what the links below had in its place.
func TestPassOfATree(t *testing.T) {
	for _, counts := range []queue.Counts{queue.CountsAsked, queue.CountsTree} {
		step := queue.Step{Name: "ci", Scope: queue.ScopeTargets, Report: queue.ReportExitCode, Checks: []queue.Check{{Name: "test"}}, Counts: counts}
		s := queue.NewState("main")
		s.Main.Tip = "m"
		s.Main.Config = &queue.Config{Version: 1, Steps: []queue.Step{step}, Queue: rulesOf(queue.Rules{})}
		set := queue.NewStepSet([]queue.Step{step})
		s.Steps[set.ID] = &set
		key := func(target string, hash queue.Digest) queue.Key {
			return queue.Key{Step: step.Digest(), Target: target, Hash: hash}
		}
		link := func(parent queue.CommitID, id queue.ChangeID, gone []string, keys ...queue.Key) *queue.Link {
			l := &queue.Link{ID: queue.LinkOf(parent, id), Parent: parent, Change: id, Outcome: queue.Merged,
				Commit: parent + "+" + queue.CommitID(id), Steps: set.ID, Keys: keys, Gone: gone}
			s.Links[l.ID] = l
			s.Changes[id] = &queue.Change{ID: id, Phase: queue.Pending, Arrival: 1, Virtual: 1}
			s.Footprints[id] = &queue.Footprint{Main: "m"}
			return l
		}
		link("m", "a", nil, key("one", "1"), key("two", "2"), key("three", "3"))
		top := link("m+a", "b", []string{"three"}, key("two", "2'"), key("four", "4"))
		build := &queue.Build{ID: "x", Link: top.ID, Change: "b", Commit: top.Commit, Jobs: []queue.Job{{Step: step, Keys: []queue.Key{key("four", "4")}}}}
		s.Builds[build.ID] = build
		c := New(s)
		c.begin(nil)
		c.jobDone(queue.JobDone{Build: "x", Step: step.Digest(), Outcome: queue.JobPassed, Again: 1})
		for _, want := range []struct {
			key          queue.Key
			asked, whole bool
		}{
			{key("four", "4"), true, true}, {key("two", "2'"), false, true}, {key("one", "1"), false, true},
			{key("two", "2"), false, false}, {key("three", "3"), false, false},
		} {
			passed := want.asked
			if counts == queue.CountsTree {
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
	s.Main.Config = &queue.Config{Version: 1, Queue: rulesOf(queue.Rules{InfraRetries: 3})}
	s.Changes["a"] = &queue.Change{ID: "a", Phase: queue.Pending, Arrival: 1, Virtual: 1}
	s.Builds["x"] = &queue.Build{ID: "x", Change: "a", Commit: "c"}
	c := New(s)
	c.begin(nil)
	c.buildDone(queue.BuildDone{Build: "x", Outcome: queue.JobInfra, NoCheck: true, Detail: "the check did not appear"})
	if ch := s.Changes["a"]; ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonNoCheck || ch.Reason.Detail != "the check did not appear" {
		t.Errorf("%s, %+v", ch.Phase, ch.Reason)
	}
}
