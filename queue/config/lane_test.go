package config_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestHeadStart(t *testing.T) {
	r := config.Rules{DefaultLane: "c", Lanes: []config.Lane{{Name: "a", MaxWait: time.Hour}, {Name: "b", MaxWait: 2 * time.Hour},
		{Name: "c", MaxWait: 3 * time.Hour}, {Name: "d", MaxWait: 4 * time.Hour}, {Name: "e", MaxWait: 5 * time.Hour}}}
	for lane, want := range map[string]time.Duration{"a": 5 * time.Hour, "b": 3 * time.Hour, "c": 0, "d": -4 * time.Hour, "e": -9 * time.Hour, "f": 0, "": 0} {
		if got := r.HeadStart(lane); got != want {
			t.Errorf("%q has a head start of %v, want %v", lane, got, want)
		}
	}
	if got := (config.Rules{}).HeadStart("a"); got != 0 {
		t.Errorf("without lanes it is %v", got)
	}
}

func TestQuota(t *testing.T) {
	q := config.Quota{Authors: []string{"ann", "renovate*", "dependabot[bot]"}}
	for author, want := range map[string]bool{"ann": true, "Ann": true, "anna": false, "renovate": true, "Renovate-bot": true, "reno": false, "dependabot[bot]": true, "dependabotb": false, "": false} {
		if got := q.HoldsAuthor(author); got != want {
			t.Errorf("it is about %q: %t", author, got)
		}
	}
	if !(config.Quota{}).HoldsAuthor("anybody") {
		t.Error("without authors it is about everybody")
	}
	for _, test := range []struct {
		q           config.Quota
		slots, want int
	}{
		{config.Quota{Builds: 3}, 1, 3}, {config.Quota{Share: 0.3}, 10, 3}, {config.Quota{Share: 0.3}, 2, 1}, {config.Quota{Share: 0.3}, 0, 1},
		{config.Quota{Share: 0.5, Builds: 2}, 10, 2}, {config.Quota{Share: 0.5, Builds: 8}, 10, 5}, {config.Quota{Share: 0.29}, 100, 29}, {config.Quota{}, 9, 1},
	} {
		if got := test.q.Limit(test.slots); got != test.want {
			t.Errorf("%+v of %d slots is %d, want %d", test.q, test.slots, got, test.want)
		}
	}
}
