package sim

import (
	"testing"
)

func mustGenerate(t testing.TB, set func(*Params)) *World {
	t.Helper()
	p := Defaults()
	if set != nil {
		set(&p)
	}
	w, err := Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestGeneratedLikeGiven(t *testing.T) {
	for _, f := range []string{"e-500", "large-500", "e-100"} {
		t.Logf("%s: %v", f, StatsOf(mustWorld(t, f+".jsonl.gz")))
	}
	for seed := range uint64(5) {
		t.Log(StatsOf(mustGenerate(t, func(p *Params) { p.Seed = seed })))
		t.Log(StatsOf(mustGenerate(t, func(p *Params) { p.Seed = seed; p.Large = 0.01 })))
		t.Log(StatsOf(mustGenerate(t, func(p *Params) { p.Seed = seed; p.Predictor = 1.5 })))
	}
}
