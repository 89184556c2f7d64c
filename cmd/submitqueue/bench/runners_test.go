package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The bench of runners hands each job out once, and writes what it prints.
func TestBenchRunners(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f.json")
	b := &benchRunners{Runners: 5, Rate: 500, Jobs: 40, Takes: time.Millisecond, JSON: file}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f runnersFigures
	if err := json.Unmarshal(raw, &f); err != nil || f.Jobs != 40 || f.Lost+f.Doubled != 0 || f.P99 <= 0 || f.RSS <= 0 {
		t.Errorf("%s %v", raw, err)
	}
	if err := (&benchRunners{}).Run(t.Context()); err == nil {
		t.Error("nothing is measured, and that is no error")
	}
}
