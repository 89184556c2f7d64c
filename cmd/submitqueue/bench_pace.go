package main

import (
	"context"
	"path/filepath"
	"slices"
	"time"
)

// paceSpan is how many landings a pace is taken of, and paceLeast how many landings
// there have to be for two of them.
const (
	paceSpan  = 500
	paceLeast = 20
)

// pacesOf returns how many changes a minute landed at the beginning and at the end,
// of a quarter of them, at most paceSpan; span 0: there are too few.
func pacesOf(ends []time.Time) (span int, first, last float64) {
	if len(ends) < paceLeast {
		return 0, 0, 0
	}
	slices.SortFunc(ends, time.Time.Compare)
	span = min(paceSpan, len(ends)/4)
	pace := func(part []time.Time) float64 {
		took := max(part[len(part)-1].Sub(part[0]), time.Microsecond)
		return float64(len(part)-1) / took.Minutes()
	}
	return span, pace(ends[:span]), pace(ends[len(ends)-span:])
}

// packsEach is how often the packs are counted.
const packsEach = 200 * time.Millisecond

// watchPacks counts the packs of the mirrors in a folder until it is asked for the
// most that there were in one of them.
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
