package sim

import (
	"context"
	"os"
	"testing"
)

func mustWorld(t testing.TB, name string) *World {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ReadWorld(f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestOracleOnGivenWorld(t *testing.T) {
	w := mustWorld(t, "e-500.jsonl.gz")
	for _, n := range []int{500, 300, 200, 100} {
		m, err := Measure(context.Background(), w, oracle{}, Options{Workers: n})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d: %.1f / %.1f / %.1f min, %.2f h, harmed %d red %d", n, m.P50, m.P95, m.P99, m.Hours, m.Harmed, m.Red)
	}
}
