package sim

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// gloomy is a toy predictor: it believes in every other change.
type gloomy struct {
	predict.Model
	asked map[int]bool
}

func (g gloomy) Good(ch *queue.Change) float64 {
	g.asked[ch.Number] = true
	return []float64{0.05, 0.95}[ch.Number%2]
}

// A predictor is a row: whichever a queue is run with, main is green and each change has
// its verdict, as under the world's own.
func TestAddAPredictor(t *testing.T) {
	w := mustWorld(t, func(p *Params) { p.Changes = 60 })
	own, err := Measure(t.Context(), w, ours{}, Options{Workers: 40})
	if err != nil {
		t.Fatal(err)
	}
	asked := map[int]bool{}
	table := append(predict.Models(), predict.Row{Name: "gloomy", New: func() predict.Model { return gloomy{predict.Default, asked} }})
	if predict.Named(predict.Models(), "gloomy") != nil {
		t.Error("the toy is in the product's table")
	}
	for _, row := range table {
		if n := slices.IndexFunc(table, func(r predict.Row) bool { return r.Name == row.Name }); table[n].New == nil || row.Name == "" {
			t.Fatalf("row %q makes nothing", row.Name)
		}
		m, err := Measure(t.Context(), w, ours{}, Options{Workers: 40, Model: predict.Named(table, row.Name)})
		if err != nil {
			t.Fatal(err)
		}
		if m.Bad() || m.Landed+m.Rejected != len(w.Changes) {
			t.Errorf("with %s: %+v", row.Name, m)
		}
		if row.Name == "gloomy" && m.Builds == own.Builds {
			t.Errorf("the toy moves no build: %v with either", m.Builds)
		}
	}
	if len(asked) != len(w.Changes) {
		t.Errorf("the toy was asked of %d changes of %d", len(asked), len(w.Changes))
	}
}
