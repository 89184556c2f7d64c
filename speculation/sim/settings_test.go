package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// mustStrategies looks up names, separated by spaces.
func mustStrategies(t *testing.T, names string) []sim.Strategy {
	t.Helper()
	var out []sim.Strategy
	for _, name := range strings.Fields(names) {
		out = append(out, mustStrategy(t, name))
	}
	return out
}

func TestUnknownSettings(t *testing.T) {
	for _, c := range []struct{ strategies, key, want string }{
		{"bors submitqueue-2019", "epoh", `unknown key "epoh"; there are: batch, bypass, epoch, first, informed, learn, threshold`},
		{"oracle single", "epoh", `unknown key "epoh": no strategy that is to run has settings; others have: assignment, auto, `},
		{"oracle ours", "learn", `unknown key "learn": it is a setting of speculate-all, submitqueue-2019, submitqueue-2024, and none`},
		{"ours", "retries: 1\n  x", `unknown key "retries: 1\n  x"; there are: assignment, auto, batch, `},
	} {
		err := sim.CheckSettings(mustStrategies(t, c.strategies), map[string]string{c.key: "1"})
		if !errors.Is(err, sim.ErrUnknownSetting) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.strategies, err, c.want)
		}
	}
}

// Every name that a strategy is said to have it reads: it refuses nonsense.
func TestSettingsAreRead(t *testing.T) {
	all := strings.Fields(`assignment auto batch batch_max blocking_labels builds_per_change builds_per_hour bypass checkbox default_lane epoch external first freeze head head_wait informed infra_retries intermediate
		label lane_max_wait lanes learn margin max_overtake merge_api messages method methods now_per_day off order parked_limit projects quotas red_main require_checks
		require_resolved retries spare threshold verify_main`)
	for _, s := range sim.Strategies() {
		for _, key := range all {
			set := sim.SettingsFor(s, map[string]string{key: "[[]]"})
			if set == nil {
				continue
			}
			o := sim.Options{Workers: 1, Set: set}
			if _, err := s.Run(context.Background(), small(), o); err == nil {
				t.Errorf("%s takes %s=[[]]", s.Name(), key)
			}
			if err := sim.CheckSettings([]sim.Strategy{s}, set); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s with %s=[[]]: %v", s.Name(), key, err)
			}
		}
	}
	err := sim.CheckSettings(sim.Strategies(), map[string]string{"": ""})
	if err == nil || !strings.HasSuffix(err.Error(), "there are: "+strings.Join(all, ", ")) {
		t.Errorf("this test knows other names: %v", err)
	}
}

// Settings of several strategies are good together, and without any all is well.
func TestSettingsForEach(t *testing.T) {
	set := map[string]string{"epoch": "1", "threshold": "0.5", "margin": "0.3"}
	if err := sim.CheckSettings(mustStrategies(t, "oracle submitqueue-2024 ours"), set); err != nil {
		t.Error(err)
	}
	if err := sim.CheckSettings(sim.Strategies(), nil); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]map[string]string{
		"oracle": nil, "bors": nil, "ours": {"threshold": "0.5", "margin": "0.3"}, "speculate-all": {"epoch": "1", "threshold": "0.5"},
	} {
		if d := cmp.Diff(want, sim.SettingsFor(mustStrategy(t, name), set)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
