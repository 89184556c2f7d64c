package predict_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// TestP99 holds it against the sorted durations themselves.
func TestP99(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []queue.Took
		var all []time.Duration
		for range rapid.IntRange(0, 400).Draw(t, "runs") {
			took := time.Duration(rapid.IntRange(300, 40_000_000).Draw(t, "ms")) * time.Millisecond
			before := fmt.Sprint(list)
			next := predict.ObserveTook(list, "unit", took)
			if fmt.Sprint(list) != before {
				t.Fatalf("the list has changed to %v", list)
			}
			list, all = next, append(all, took)
		}
		slices.Sort(all)
		usual, n := predict.P99(list, "unit")
		if n != len(all) {
			t.Fatalf("%d runs of %d", n, len(all))
		}
		if n < 20 {
			if usual != 0 {
				t.Fatalf("%s of %d runs", usual, n)
			}
			return
		}
		want := all[n-1-n/100]
		if usual < want-time.Millisecond || usual.Seconds() > want.Seconds()*math.Exp2(0.25)+0.002 {
			t.Fatalf("%s, and it is %s", usual, want)
		}
	})
}

// TestTookFades holds that what a step took long ago fades, and that steps which are
// run no more make room.
func TestTookFades(t *testing.T) {
	var list []queue.Took
	for i := range 6000 {
		took := time.Hour
		if i > 2000 {
			took = time.Minute
		}
		list = predict.ObserveTook(list, "unit", took)
	}
	if usual, n := predict.P99(list, "unit"); usual > 2*time.Minute || n > 1000 || n < 400 {
		t.Errorf("%s of %d runs", usual, n)
	}
	for i := range 500 {
		list = predict.ObserveTook(list, fmt.Sprintf("s%d", i), time.Minute)
	}
	if _, n := predict.P99(list, "unit"); n == 0 || len(list) > 100 {
		t.Errorf("%d runs, %d steps", n, len(list))
	}
	if !slices.IsSortedFunc(list, func(a, b queue.Took) int { return strings.Compare(a.Step, b.Step) }) {
		t.Errorf("%v", list)
	}
}
