package bench

import (
	"context"
	"path/filepath"
	"slices"
	"time"
)

// paceSpan is the most landings that a pace is measured over, and paceLeast is how many
// landings two paces need.
const (
	paceSpan  = 500
	paceLeast = 20
)

// pace is how changes landed at the beginning or at the end.
type pace struct {
	PerMinute float64 `json:"per_minute"`
	CPU       float64 `json:"cpu_per_landed"` // seconds of the server and its git processes; the better figure where other work runs on the machine
}

// pacesOf returns the paces at the beginning and at the end, each over a quarter of the
// verdicts, at most paceSpan; span 0: there are too few.
func pacesOf(ends []benchVerdict) (span int, first, last pace) {
	if len(ends) < paceLeast {
		return 0, first, last
	}
	slices.SortFunc(ends, func(a, b benchVerdict) int { return a.at.Compare(b.at) })
	span = min(paceSpan, len(ends)/4)
	of := func(part []benchVerdict) pace {
		n, a, b := float64(len(part)-1), part[0], part[len(part)-1]
		return pace{n / max(b.at.Sub(a.at), time.Microsecond).Minutes(), (b.cpu - a.cpu).Seconds() / n}
	}
	return span, of(ends[:span]), of(ends[len(ends)-span:])
}

// packsEach is how often the packs are counted.
const packsEach = 200 * time.Millisecond

// watchPacks counts the packs of the mirrors in a folder until most is called, which
// returns the most packs that one mirror had.
func watchPacks(ctx context.Context, dir string) (most func() int) {
	ctx, stop := context.WithCancel(ctx)
	told := make(chan int, 1)
	go func() {
		most := 0
		tick := time.NewTicker(packsEach)
		defer tick.Stop()
		for {
			mirrors, _ := filepath.Glob(filepath.Join(dir, "*.git")) // none: nothing to count
			for _, m := range mirrors {
				packs, _ := filepath.Glob(filepath.Join(m, "objects", "pack", "*.pack"))
				most = max(most, len(packs))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				told <- most
				return
			}
		}
	}()
	return func() int {
		stop()
		return <-told
	}
}
