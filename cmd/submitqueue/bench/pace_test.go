package bench

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPaceOfLandings(t *testing.T) {
	t.Parallel()
	var ends []benchVerdict
	at := time.Unix(0, 0)
	for i := range 400 { // a landing a second, then one every four
		ends = append(ends, benchVerdict{at: at, cpu: time.Duration(at.Unix()) * time.Millisecond})
		at = at.Add(time.Second)
		if i >= 200 {
			at = at.Add(3 * time.Second)
		}
	}
	ends[3], ends[390] = ends[390], ends[3]
	span, first, last := pacesOf(ends)
	if span != 100 || math.Abs(first.PerMinute-60) > 1e-9 || math.Abs(last.PerMinute-15) > 1e-9 || math.Abs(last.CPU-0.004) > 1e-9 {
		t.Errorf("%d: %v, %v", span, first, last)
	}
	if span, _, _ := pacesOf(ends[:paceLeast-1]); span != 0 {
		t.Errorf("a pace of %d of too few", span)
	}
	if span, _, _ := pacesOf(make([]benchVerdict, 4000)); span != paceSpan {
		t.Errorf("a span of %d", span)
	}
}

func TestPacksAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packs := filepath.Join(dir, "x.git", "objects", "pack")
	if err := os.MkdirAll(packs, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.pack", "a.idx", "b.pack"} {
		if err := os.WriteFile(filepath.Join(packs, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := watchPacks(t.Context(), dir)(); n != 2 {
		t.Errorf("%d packs, want 2", n)
	}
}
