package sim_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

func history(n int) string {
	var b strings.Builder
	for i := range n {
		dir := []string{"src/core", "src/net", "docs"}[i%3]
		b.WriteString(`{"id":"c` + string(rune('a'+i%26)) + `","landed":` + []string{"1000000", "1003600"}[i*2/n] +
			`,"author":"a1","paths":["` + dir + `/x.go","README"],"added":10,"removed":2,"commits":1,"pr":7}` + "\n")
	}
	return b.String()
}

func TestTraceBecomesAWorld(t *testing.T) {
	p := sim.Defaults()
	p.RatePerHour = 0
	w, err := sim.ReadTrace(strings.NewReader(history(20)), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Changes) != 20 || len(w.Targets) != 4 { // "", docs, src/core, src/net
		t.Fatalf("%d changes on %d targets", len(w.Changes), len(w.Targets))
	}
	if w.Targets[2].Group != w.Targets[3].Group || w.Targets[1].Group == w.Targets[2].Group {
		t.Errorf("folders of one top folder are one group: %v", w.Targets)
	}
	if w.Changes[0].ArriveMin != 0 || w.Changes[19].ArriveMin != 60 {
		t.Errorf("arrivals are from %v to %v; the history's are 0 and 60", w.Changes[0].ArriveMin, w.Changes[19].ArriveMin)
	}
	if _, err := sim.ReadWorld(bytes.NewReader(mustWrite(t, w))); err != nil {
		t.Errorf("it is no world: %v", err)
	}
	if m := mustMeasure(t, w, "submitqueue-2019", sim.Options{Workers: 10}); m.Bad() {
		t.Errorf("%+v", m)
	}
	p.RatePerHour, p.Changes = 60, 10
	w, err = sim.ReadTrace(strings.NewReader(history(20)), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Changes) != 10 || math.Abs(w.Changes[9].ArriveMin-9) > 1e-9 {
		t.Errorf("%d changes, the last at %v; want 10, one a minute", len(w.Changes), w.Changes[len(w.Changes)-1].ArriveMin)
	}
}

func TestTraceTellsWhatItKnows(t *testing.T) {
	text := `{"id":"a","time":1000,"paths":["x/1"],"duration_min":12,"outcome":"landed","conflicts":[]}
{"id":"b","time":1060,"paths":["x/1"],"duration_min":13,"outcome":"rejected"}
{"id":"c","time":1120,"paths":["x/2"],"outcome":"rejected","conflicts":["a"]}
`
	w, err := sim.ReadTrace(strings.NewReader(text), sim.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := w.Changes[0], w.Changes[1], w.Changes[2]
	if a.DurationMin != 12 || b.DurationMin != 13 {
		t.Errorf("durations are %v and %v", a.DurationMin, b.DurationMin)
	}
	if a.BrokenTarget >= 0 || b.BrokenTarget < 0 || c.BrokenTarget >= 0 {
		t.Errorf("broken: %d %d %d; want b only", a.BrokenTarget, b.BrokenTarget, c.BrokenTarget)
	}
	if len(b.Conflicts) != 0 || len(c.Conflicts) != 1 || c.Conflicts[0].With != 0 {
		t.Errorf("conflicts: %v %v; want c with a", b.Conflicts, c.Conflicts)
	}
}

// A history may be sparse, and longer than anybody would wait.
func TestTraceOfYears(t *testing.T) {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, `{"time":%d,"paths":["a/b/x"],"outcome":"landed"}`+"\n", 1_500_000_000+i*50_000_000)
	}
	p := sim.Defaults()
	p.RatePerHour = 0
	w, err := sim.ReadTrace(strings.NewReader(b.String()), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"oracle", "ours"} {
		if m := mustMeasure(t, w, name, sim.Options{Workers: 2}); m.Bad() || m.Landed != 4 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	for _, rate := range []float64{-1, math.NaN()} {
		p.RatePerHour = rate
		if _, err := sim.ReadTrace(strings.NewReader(b.String()), p); err == nil || !strings.Contains(err.Error(), "rate is") {
			t.Errorf("a rate of %v: %v", rate, err)
		}
	}
}

func TestTraceNamesTheLine(t *testing.T) {
	const good = `{"landed":5,"paths":["a"]}` + "\n"
	for text, want := range map[string]string{
		"":                                    "line 1: the history is empty",
		good + "nonsense":                     "line 2: invalid character",
		good + `{"paths":["a"]}`:              "line 2: it has neither landed nor time",
		good + `{"time":5,"outcome":"great"}`: `line 2: outcome is "great"`,
		good + `{"time":5,"added":-9}`:        "line 2: added, removed or duration_min",
		`{"time":5,"duration_min":1e11}`:      "line 1: added, removed or duration_min",
	} {
		if _, err := sim.ReadTrace(strings.NewReader(text), sim.Defaults()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
