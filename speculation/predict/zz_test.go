package predict_test
import ("testing";"github.com/submitqueue/submitqueue/speculation/predict")
func TestZZ(t *testing.T) {
	for _, n := range []int{1000, 4000, 12000} {
	var a, b, c, d, e, f float64
	for seed := range uint64(24) {
		x, y, _ := unseen(seed, n)
		_, r := mustFitChance(t, x, y)
		l := mustFit(t, x[:r.Fitted], y[:r.Fitted], nil, predict.LogisticOptions{})
		var p []float64
		for _, row := range x[r.Fitted:] { p = append(p, l.Prob(row)) }
		g := predict.Judge(p, y[r.Fitted:])
		if n == 1000 { t.Logf("%d %.4f %.4f %.4f %v %v", seed, r.Model.AUC, r.Still.AUC, g.AUC, r.Columns, r.Calibrated); t.Logf("   %.4f %.4f %.4f base %.4f C%g %v", r.Model.Brier, r.Still.Brier, g.Brier, r.BaseRate.Brier, r.C, r.Trials) }
		a += r.Model.AUC/24; b += r.Still.AUC/24; c += g.AUC/24
		d += r.Model.Brier/24; e += r.Still.Brier/24; f += g.Brier/24
	}
	t.Logf("%d AUC %.4f still %.4f plain %.4f Brier %.4f %.4f %.4f", n, a, b, c, d, e, f)
	}
}
