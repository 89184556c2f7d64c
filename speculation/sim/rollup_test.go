package sim

import (
	"context"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"testing"
)

// TestRollupsOfTheWholeTree holds what batches save those whose CI runs everything: with
// 95 % good changes, many more than the slots can build, and at most eight in one merge,
// 0.45 builds for each that lands, run again and controls counted; and main is green at
// each commit, whoever else pushes and whatever is flaky.
func TestRollupsOfTheWholeTree(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	worlds := map[string]*World{
		"plain": mustWorld(t, func(p *Params) {
			p.Changes, p.RatePerHour, p.Opaque, p.Broken, p.Conflict = fewer(300, 150), 60, true, 0.05, 0
		}),
		"hard": mustWorld(t, func(p *Params) {
			p.RatePerHour, p.Opaque, p.Flaky, p.ExternalPush, p.Conflict = 60, true, 0.02, 1, 0.002
		}),
	}
	for name, w := range worlds {
		builds := map[string]float64{}
		for _, batch := range []string{"rollup", "off"} {
			set := map[string]string{"batch": batch}
			if batch == "rollup" {
				set["batch_max"] = "8"
			} else if !storetest.Drawn(t.Name()+name, 2) {
				continue
			}
			out, err := ours{}.Run(context.Background(), w, Options{Workers: 4, Set: set})
			if err != nil {
				t.Fatal(err)
			}
			m := MetricsOf(w, "ours", Options{Workers: 4}, out)
			if m.Bad() || m.Landed+m.Rejected != len(w.Changes) {
				t.Errorf("%s, %s: %+v", name, batch, m)
			}
			builds[batch] = float64(out.Builds) / float64(m.Landed)
		}
		if name == "plain" && builds["rollup"] > 0.45 {
			t.Errorf("%.3f builds for each change that lands", builds["rollup"])
		}
		if apart, known := builds["off"]; known && builds["rollup"] > 0.6*apart {
			t.Errorf("%s: %.3f builds for each change that lands, one by one %.3f", name, builds["rollup"], apart)
		}
	}
}
