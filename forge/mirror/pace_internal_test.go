package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"pgregory.net/rapid"
)

// Builds are pushed at once while the host has been pushed to less often than it wants,
// and as often as it wants of all, whatever lands beside them.
func TestPaceOfPushes(t *testing.T) {
	want := forge.Pace{Pushes: 6}
	for name, c := range map[string]struct {
		landEach time.Duration // 0: nothing lands
		most     int           // pushes of ours in ten minutes
	}{
		"nothing lands":                {0, 6*10 + 6},
		"as much lands as is wanted":   {10 * time.Second, 6*10 + 6},
		"more lands than is wanted":    {2 * time.Second, 6*10 + 6},
		"little lands, builds have it": {time.Minute, 6*10 + 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p pace
				begun := time.Now()
				landed := begun
				for ours := 0; ; {
					if c.landEach > 0 && time.Since(landed) >= c.landEach {
						p.pushed()
						landed = time.Now()
					}
					wait := p.wait(want, false)
					if wait > 10*time.Second {
						t.Fatalf("a build waits %v", wait)
					}
					if held := p.held.Until; wait > 0 != held.After(time.Now()) {
						t.Fatalf("it waits %v, and is said to wait until %v", wait, held)
					}
					if wait == 0 {
						p.pushed()
						p.ours()
						ours++
					}
					if time.Since(begun) >= 10*time.Minute {
						if ours < 60 || ours > c.most {
							t.Errorf("%d pushes of ours in ten minutes", ours)
						}
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		})
	}
}

// No push of a target branch ever waits, no wait is longer than a minute, and without a
// wish of the host there is none.
func TestPaceIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := forge.Pace{Pushes: rapid.IntRange(0, 9).Draw(t, "a minute")}
		idle := rapid.SliceOfN(rapid.Bool(), 1, 40).Draw(t, "idle")
		apart := rapid.SliceOfN(rapid.IntRange(0, 20_000), len(idle), len(idle)).Draw(t, "milliseconds apart")
		land := rapid.SliceOfN(rapid.Bool(), len(idle), len(idle)).Draw(t, "lands")
		var p pace
		for i := range idle {
			shift := time.Duration(apart[i]) * time.Millisecond
			for k := range p.recent {
				p.recent[k] = p.recent[k].Add(-shift)
			}
			p.last = p.last.Add(-shift)
			if land[i] {
				p.pushed()
			}
			switch wait := p.wait(want, idle[i]); {
			case want.Pushes == 0 && wait != 0:
				t.Fatalf("%v without a wish", wait)
			case !idle[i] && want.Pushes > 0 && wait > time.Minute/time.Duration(want.Pushes), wait > time.Minute, wait < 0:
				t.Fatalf("%v, idle: %v, of %d a minute", wait, idle[i], want.Pushes)
			case wait == 0:
				p.pushed()
				p.ours()
			}
		}
	})
}

// Reads are spread over time, and one that nobody waits for any more ends.
func TestPaceOfReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		r := forge.Remote{Pace: forge.Pace{Reads: 15}}
		begun := time.Now()
		for range 15 + 30 {
			if err := p.read(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun).Round(100 * time.Millisecond); took != 2*time.Second {
			t.Errorf("45 reads at 15 a second and a burst of 15 took %v", took)
		}
		begun = time.Now()
		for range 100 {
			_ = p.read(t.Context(), forge.Remote{})
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("reads that nobody paces took %v", took)
		}
	})
}
