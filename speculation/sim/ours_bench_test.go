package sim

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// BenchmarkOurs replays the given worlds with the queue's own core, whole, and
// prints what a turn costs, beside what comes out for the changes.
func BenchmarkOurs(b *testing.B) {
	for _, c := range []struct {
		world   string
		workers int
	}{{"e-500", 500}, {"e-500", 300}, {"e-500", 200}, {"e-500", 100}, {"e-100", 100}, {"large-500", 500}} {
		b.Run(fmt.Sprint(c.world, "/", c.workers), func(b *testing.B) {
			f, err := os.Open("testdata/" + c.world + ".jsonl.gz")
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			w, err := ReadWorld(f)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				m, err := Measure(context.Background(), w, ours{}, Options{Workers: c.workers})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(m.P50, "P50-min")
				b.ReportMetric(m.P95, "P95-min")
				b.ReportMetric(m.P99, "P99-min")
				b.ReportMetric(m.Builds, "builds/change")
				b.ReportMetric(m.Hours, "worker-h/change")
				b.ReportMetric(m.Plan.P50, "turn-P50-ms")
				b.ReportMetric(m.Plan.P99, "turn-P99-ms")
			}
		})
	}
}
