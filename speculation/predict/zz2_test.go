package predict_test
import ("testing";"encoding/json";"github.com/submitqueue/submitqueue/speculation/predict")
func TestYY(t *testing.T) {
	for _, seed := range []uint64{23, 11} {
		x, y, _ := unseen(seed, 1000)
		c, r := mustFitChance(t, x[:700], y[:700])
		b, _ := json.Marshal(c)
		b2, _ := json.Marshal(r)
		t.Logf("%s\n%s", b, b2)
		var k [10]int
		for i, v := range y { if v { k[i/100]++ } }
		t.Log(k)
		var p []float64
		for _, row := range x[700:] { p = append(p, c.Prob(row)) }
		t.Log(predict.Judge(p, y[700:]), p[:10], p[100:110])
	}
}
