package speculation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// TestFiftyRedMains pushes up to 32 commits past the queue, one of which breaks a
// target, fifty times; every build takes ten minutes, as many run as there are slots,
// and each failure is seen twice. It counts how often the culprit is right, and how
// long after the first failure it is known, in builds.
func TestFiftyRedMains(t *testing.T) {
	const took = 10 * minute
	right, spans := 0, []float64{}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(32)
		bad := r.IntN(n)
		var edits []edit
		for i := range n {
			e := edit{[]string{"a", "b"}[r.IntN(2)] + "/code": fmt.Sprint("v", i)}
			if i == bad {
				e = edit{"a/code": "bad"}
			}
			edits = append(edits, e)
		}
		w, pushed := redWorld(t, unit, 1, 4+r.IntN(8), edits...)
		w.audit.brief = true
		ends := map[queue.BuildID]queue.Instant{}
		for range 100 {
			w.settleDown()
			if len(w.core.s.Hunts) > 0 && w.hunt().Settled() {
				break
			}
			var next *run
			for _, x := range w.going() {
				if ends[x.build.ID] == 0 {
					ends[x.build.ID] = w.now.Add(took)
				}
				if next == nil || ends[x.build.ID] < ends[next.build.ID] {
					next = x
				}
			}
			if next == nil {
				break
			}
			w.now = max(w.now, ends[next.build.ID])
			w.tell(w.advance(next)...)
		}
		h := w.hunt()
		if len(h.Culprits) == 1 && h.Culprits[0].Commit == pushed[bad] {
			right++
			spans = append(spans, h.Culprits[0].Found.Sub(h.Began).Minutes()/took.Minutes())
		}
	}
	slices.Sort(spans)
	if len(spans) == 0 {
		t.Fatal("no culprit was found")
	}
	median := spans[len(spans)/2]
	t.Logf("culprit right in %d of 50; known after %.1f builds (median; at most %.1f) of the first failure", right, median, spans[len(spans)-1])
	if right < 49 || median > 2.1 {
		t.Errorf("culprit right in %d of 50, median %.1f builds", right, median)
	}
}
