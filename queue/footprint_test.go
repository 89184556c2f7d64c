package queue_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func TestProjectHolds(t *testing.T) {
	for _, test := range []struct {
		glob, target string
		want         bool
	}{
		{"pay/**", "pay", true}, {"pay/**", "pay/api", true}, {"pay/**", "./pay/api/v2", true}, {"./pay/**", "pay/api", true},
		{"pay/*", "pay/api/v2", false}, {"pay/**", "paying", false}, {"**", ".", true}, {"pay", "./pay", true}, {"{a,b}/c", "b/c", true},
	} {
		p := config.Project{Targets: []string{"none", test.glob}}
		if got := (&queue.Footprint{Write: []string{"other", test.target}}).In(p); got != test.want {
			t.Errorf("%s holds %s: %t", test.glob, test.target, got)
		}
	}
	p := config.Project{Targets: []string{"pay"}}
	if (*queue.Footprint)(nil).In(p) || (&queue.Footprint{}).In(p) || !(&queue.Footprint{All: true}).In(p) {
		t.Error("a change of everything is of each project, one that is not analyzed of none")
	}
}
