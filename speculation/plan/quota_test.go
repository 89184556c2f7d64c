package plan

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// planned returns a plan in which changes of two projects run and wait.
func planned(t *testing.T, quotas []config.Quota, running ...queue.ChangeID) (*planning, func(id string, always bool) candidate) {
	t.Helper()
	s := queue.NewState("main")
	s.Slots = 9
	s.Main.Config = &config.Config{Queue: config.Rules{Quotas: quotas,
		Projects: []config.Project{{Name: "a", Targets: []string{"a"}}, {Name: "b", Targets: []string{"b"}}}}}
	for id, targets := range map[queue.ChangeID][]string{"1.a": {"a"}, "2.a": {"a"}, "3.b": {"b"}, "4.b": {"b"}, "5.ab": {"a", "b"}, "6.ab": {"a", "b"}, "7.c": {"c"}} {
		s.Changes[id] = &queue.Change{ID: id, Author: string(id), Phase: queue.Pending}
		s.Footprints[id] = &queue.Footprint{Write: targets, Affected: targets}
	}
	for _, id := range running {
		s.Builds[queue.BuildID(id)] = &queue.Build{ID: queue.BuildID(id), Change: id}
	}
	return New(s, derived.New(s, 0, predict.Default)).begin(Train{}), func(id string, always bool) candidate {
		return candidate{change: queue.ChangeID(id), always: always}
	}
}

func always(name, project string, n int) config.Quota {
	return config.Quota{Name: name, Project: project, Builds: n, When: config.WhenAlways}
}

// A build that waits for one quota keeps its place in another, so that it is not
// passed for ever by those that need only that; but it keeps one, whoever else
// waits behind it.
func TestWaitingKeepsPlaces(t *testing.T) {
	p, cand := planned(t, []config.Quota{always("qa", "a", 1), always("qb", "b", 2)}, "1.a")
	if !p.slots.overQuota(cand("5.ab", true)) || !p.slots.overQuota(cand("6.ab", true)) {
		t.Fatal("they run above the quota of a")
	}
	if p.slots.overQuota(cand("3.b", true)) {
		t.Fatal("the second place of b stays free, though only one is kept")
	}
	p.slots.occupy(cand("3.b", true))
	if !p.slots.overQuota(cand("4.b", true)) {
		t.Error("the place that is kept was given away")
	}

	p, cand = planned(t, []config.Quota{always("qa", "a", 1), always("qb", "b", 1)}, "1.a")
	if !p.slots.overQuota(cand("5.ab", false)) || p.slots.overQuota(cand("3.b", true)) {
		t.Error("what assumes something keeps places, too")
	}
}

func TestOverQuota(t *testing.T) {
	each := config.Quota{Name: "each", Per: config.PerAuthor, Builds: 1, When: config.WhenAlways}
	p, cand := planned(t, []config.Quota{each}, "1.a")
	if !p.slots.overQuota(cand("1.a", false)) || p.slots.overQuota(cand("2.a", false)) {
		t.Error("each author has places of his own")
	}
	p, cand = planned(t, []config.Quota{always("qa", "a", 1)}, "1.a")
	if p.slots.overQuota(cand("", true)) || p.slots.overQuota(cand("7.c", false)) {
		t.Error("it is about main, or about changes of no project")
	}
	p.s.Train = []queue.ChangeID{"2.a"}
	if p.slots.overQuota(cand("2.a", true)) {
		t.Error("what is about to land waits for a quota")
	}
	p, cand = planned(t, []config.Quota{{Name: "soft", Project: "a", Builds: 1}, always("hard", "a", 1)}, "1.a")
	if !p.slots.overQuota(cand("2.a", true)) || len(p.lent) != 0 {
		t.Error("a quota that binds always lends nothing")
	}
}

// TestCrowded: what people are told agrees with what the plan does.
func TestCrowded(t *testing.T) {
	soft, hard := config.Quota{Name: "soft", Project: "a", Share: 0.1}, always("hard", "a", 1)
	for _, test := range []struct {
		quota config.Quota
		slots int
		id    queue.ChangeID
		want  string
	}{{hard, 9, "2.a", "hard"}, {hard, 1, "2.a", "hard"}, {hard, 9, "3.b", ""}, {soft, 9, "2.a", ""}, {soft, 1, "2.a", "soft"}, {soft, 1, "7.c", ""}} {
		p, _ := planned(t, []config.Quota{test.quota}, "1.a")
		p.s.Slots = test.slots
		got := ""
		if r := p.facts.Quotas.Crowded(p.s.Changes[test.id]); r.Code == queue.ReasonWaitsQuota {
			got = r.Names[0]
		}
		if got != test.want {
			t.Errorf("%s of %d slots: %s waits for %q, want %q", test.quota.Name, test.slots, test.id, got, test.want)
		}
	}
}
