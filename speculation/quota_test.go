package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// planned returns a plan in which changes of two projects run and wait.
func planned(t *testing.T, quotas []config.Quota, running ...queue.ChangeID) (*planning, func(id string, always bool) candidate) {
	t.Helper()
	s := queue.NewState("main")
	s.Slots = 9
	s.Main.Config = &config.Config{Queue: rulesOf(config.Rules{Quotas: quotas,
		Projects: []config.Project{{Name: "a", Targets: []string{"a"}}, {Name: "b", Targets: []string{"b"}}}})}
	for id, targets := range map[queue.ChangeID][]string{"1.a": {"a"}, "2.a": {"a"}, "3.b": {"b"}, "4.b": {"b"}, "5.ab": {"a", "b"}, "6.ab": {"a", "b"}, "7.c": {"c"}} {
		s.Changes[id] = &queue.Change{ID: id, Author: string(id), Phase: queue.Pending}
		s.Footprints[id] = &queue.Footprint{Write: targets, Affected: targets}
	}
	for _, id := range running {
		s.Builds[queue.BuildID(id)] = &queue.Build{ID: queue.BuildID(id), Change: id}
	}
	return &planning{Core: New(s)}, func(id string, always bool) candidate {
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
	if !p.overQuota(cand("5.ab", true)) || !p.overQuota(cand("6.ab", true)) {
		t.Fatal("they run above the quota of a")
	}
	if p.overQuota(cand("3.b", true)) {
		t.Fatal("the second place of b stays free, though only one is kept")
	}
	p.occupy(cand("3.b", true))
	if !p.overQuota(cand("4.b", true)) {
		t.Error("the place that is kept was given away")
	}

	p, cand = planned(t, []config.Quota{always("qa", "a", 1), always("qb", "b", 1)}, "1.a")
	if !p.overQuota(cand("5.ab", false)) || p.overQuota(cand("3.b", true)) {
		t.Error("what assumes something keeps places, too")
	}
}

func TestOverQuota(t *testing.T) {
	each := config.Quota{Name: "each", Per: config.PerAuthor, Builds: 1, When: config.WhenAlways}
	p, cand := planned(t, []config.Quota{each}, "1.a")
	if !p.overQuota(cand("1.a", false)) || p.overQuota(cand("2.a", false)) {
		t.Error("each author has places of his own")
	}
	p, cand = planned(t, []config.Quota{always("qa", "a", 1)}, "1.a")
	if p.overQuota(cand("", true)) || p.overQuota(cand("7.c", false)) {
		t.Error("it is about main, or about changes of no project")
	}
	p.s.Train = []queue.ChangeID{"2.a"}
	if p.overQuota(cand("2.a", true)) {
		t.Error("what is about to land waits for a quota")
	}
	p, cand = planned(t, []config.Quota{{Name: "soft", Project: "a", Builds: 1}, always("hard", "a", 1)}, "1.a")
	if !p.overQuota(cand("2.a", true)) || len(p.lent) != 0 {
		t.Error("a quota that binds always lends nothing")
	}
}

// Many changes above their quota do not keep others from being planned for,
// whether slots are lent or not.
func TestQuotaKeepsTheWindow(t *testing.T) {
	for _, when := range []config.When{config.WhenAlways, config.WhenContended} {
		l := law{needs: map[string][]string{}}
		files := tree{barrier: "go1", unowned: "data", stepsFile: unit}
		for i := range 20 {
			l.targets = append(l.targets, fmt.Sprintf("t%02d", i))
			files[fileOf(l.targets[i])] = "base"
		}
		w := newWorld(t, l, files, rulesOf(config.Rules{Quotas: []config.Quota{{Name: "bots", Authors: []string{"bot"}, Builds: 1, When: when}}}))
		w.tell(queue.Capacity{Slots: 2})
		w.quiesce()
		for i, target := range l.targets {
			p := w.open(w.main, edit{fileOf(target): "fine"})
			if i < len(l.targets)-1 {
				p.author = "bot"
			}
			w.now = w.now.Add(time.Second)
			w.step(w.say(p, "dev", "/land"))
		}
		w.settleDown()
		if when == config.WhenContended { // both slots were lent before the last one was there
			w.tell(w.advance(w.going()[0])...)
			w.settleDown()
		}
		last := w.change(w.pulls[len(l.targets)])
		if !slices.ContainsFunc(w.going(), func(r *run) bool { return r.build.Change == last.ID }) {
			t.Errorf("%s: the change behind those of the bot is not built: %v", when, w.waitsOf(last.ID))
		}
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
		if r := p.crowded(p.s.Changes[test.id]); r.Code == queue.ReasonWaitsQuota {
			got = r.Names[0]
		}
		if got != test.want {
			t.Errorf("%s of %d slots: %s waits for %q, want %q", test.quota.Name, test.slots, test.id, got, test.want)
		}
	}
}
