package sim

import (
	"context"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"testing"
)

// If passes on heads count, main is green at each commit, each change has
// one verdict, and fewer builds are made: the older the branches, the more of them.
func TestHeadsKeepMainGreen(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	worlds := map[string]func(*Params){
		"plain":         func(*Params) {},
		"poisson":       func(p *Params) { p.Arrivals, p.Seed = "poisson", 2 },
		"bad predictor": func(p *Params) { p.Predictor, p.Seed = 1.5, 3 },
		"large":         func(p *Params) { p.Large, p.Seed = 0.03, 4 },
		"flaky":         func(p *Params) { p.Flaky, p.Seed = 0.005, 5 },
		"tree step":     func(p *Params) { p.TreeStepMin, p.Seed = 3, 6 },
	}
	for name, change := range worlds {
		if name != "plain" && !storetest.Drawn(t.Name()+name, 2) {
			continue
		}
		w := mustWorld(t, change)
		builds := func(heads float64) float64 {
			m, err := Measure(context.Background(), w, ours{}, Options{Workers: 40, Heads: heads})
			if err != nil {
				t.Fatal(err)
			}
			if m.Bad() || m.Landed+m.Rejected != len(w.Changes) {
				t.Errorf("%s, heads of %v minutes before: %+v", name, heads, m)
			}
			return m.Builds
		}
		none, fresh, old := builds(0), builds(1), builds(600)
		t.Logf("%s: %.2f builds a change; with heads a minute old %.2f, ten hours old %.2f", name, none, fresh, old)
		if fresh >= none {
			t.Errorf("%s: %.2f builds a change, and %.2f with heads that count", name, none, fresh)
		}
	}
}
