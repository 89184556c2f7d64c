package predict_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/speculation/predict"
)

// plant is a made hierarchy: the logarithm of what each target takes.
type plant struct {
	r    *rand.Rand
	keys []predict.Key
	mean map[predict.Key]float64
}

const plantNoise = 0.25

func newPlant(seed uint64, spreads [3]float64) *plant {
	p := &plant{r: rand.New(rand.NewPCG(seed, 3)), mean: map[predict.Key]float64{}}
	for s := range 4 {
		step := 4 + spreads[0]*p.r.NormFloat64()
		for a := range 12 {
			area := step + spreads[1]*p.r.NormFloat64()
			for n := range 16 {
				k := predict.Key{Step: fmt.Sprint("s", s), Area: fmt.Sprint("a", a), Target: fmt.Sprint("a", a, "/t", n)}
				p.keys = append(p.keys, k)
				p.mean[k] = area + spreads[2]*p.r.NormFloat64()
			}
		}
	}
	return p
}

func (p *plant) took(k predict.Key) float64 {
	return math.Exp(p.mean[k] + plantNoise*p.r.NormFloat64())
}

// errorAfter returns the mean absolute error of log durations of the targets in
// the second half of each area, after n observations of each of them, and many
// of the first half.
func (p *plant) errorAfter(n int) (ours, fixed float64) {
	var d predict.Durations
	for range 6 {
		for i, k := range p.keys {
			if i%16 < 8 {
				d.Observe(k, p.took(k))
			}
		}
	}
	for range n {
		for i, k := range p.keys {
			if i%16 >= 8 {
				d.Observe(k, p.took(k))
			}
		}
	}
	for i, k := range p.keys {
		if i%16 >= 8 {
			share := 2 / float64(len(p.keys))
			ours += math.Abs(math.Log(d.Estimate(k).Quantile(0.5))-p.mean[k]) * share
			fixed += math.Abs(math.Log(predict.Unseen.Seconds())-p.mean[k]) * share
		}
	}
	return ours, fixed
}

func TestDurationsImproveWithEachObservation(t *testing.T) {
	for _, spreads := range [][3]float64{{1, 0.7, 0.5}, {0.5, 0.3, 1}, {0.2, 1, 0.1}, {0, 0, 0}} {
		last := math.Inf(1)
		for _, n := range []int{0, 1, 3, 10} {
			ours, fixed := newPlant(1, spreads).errorAfter(n)
			t.Logf("spreads %v, %d seen: %.3f (5 s for all: %.3f)", spreads, n, ours, fixed)
			if spreads == [3]float64{} {
				last = plantNoise / 5 // all targets are alike: there is nothing more to learn
			}
			if ours > last*1.02+0.002 {
				t.Errorf("spreads %v: the error after %d is %.3f, before it was %.3f", spreads, n, ours, last)
			}
			if ours > fixed {
				t.Errorf("spreads %v: after %d the error is %.3f, that of 5 s for all %.3f", spreads, n, ours, fixed)
			}
			last = ours
		}
		if last > 0.75*plantNoise {
			t.Errorf("spreads %v: the error after 10 is %.3f", spreads, last)
		}
	}
}

func TestDurationsCoverWhatComes(t *testing.T) {
	for _, n := range []int{0, 1, 3, 10} {
		p := newPlant(2, [3]float64{1, 0.7, 0.5})
		var d predict.Durations
		held, total := 0, 0
		for round := range 12 {
			for i, k := range p.keys {
				took := p.took(k)
				if mine := i%16 >= 8; mine && round < 12-n-1 {
					continue
				} else if mine && round == 11 {
					e := d.Estimate(k)
					total++
					if took > e.Quantile(0.05) && took < e.Quantile(0.95) {
						held++
					}
					continue
				}
				d.Observe(k, took)
			}
		}
		if share := float64(held) / float64(total); share < 0.85 || share > 0.96 {
			t.Errorf("after %d observations 90 %% intervals hold %.3f", n, share)
		}
	}
}

func TestDurationsBearOutliersAndFollowShifts(t *testing.T) {
	p := newPlant(3, [3]float64{1, 0.7, 0.5})
	var d predict.Durations
	for range 8 {
		for _, k := range p.keys {
			d.Observe(k, p.took(k))
		}
	}
	k := p.keys[5]
	before := d.Estimate(k).Quantile(0.5)
	d.Observe(k, 1000*before)
	if got := d.Estimate(k).Quantile(0.5) / before; got > 1.25 {
		t.Errorf("one outlier moves the estimate by a factor of %.2f", got)
	}
	neighbour := d.Estimate(p.keys[6]).Quantile(0.5)
	for range 4 {
		d.Observe(k, 20*before)
	}
	near(t, "the factor after a shift", d.Estimate(k).Quantile(0.5)/before, 20, 6)
	near(t, "the neighbour", d.Estimate(p.keys[6]).Quantile(0.5)/neighbour, 1, 0.05)
}

func TestDurationsKnowNothingAtFirst(t *testing.T) {
	var d predict.Durations
	near(t, "the median", d.Estimate(predict.Key{}).Quantile(0.5), predict.Unseen.Seconds(), 1e-9)
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		d.Observe(predict.Key{Step: "s"}, bad)
	}
	if !reflect.DeepEqual(d, predict.Durations{}) {
		t.Errorf("durations that are none were taken: %+v", d)
	}
	d.Observe(predict.Key{Step: "s", Target: "t"}, 300)
	if m := d.Estimate(predict.Key{Step: "s", Target: "u"}).Quantile(0.5); m < 15 || m > 300 {
		t.Errorf("after one of 300 s another target of the step takes %.1f s", m)
	}
}

func TestDurationsStayFiniteAndComeBackFromJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d predict.Durations
		name := rapid.SampledFrom([]string{"", "a", "b"})
		draw := func() predict.Key {
			return predict.Key{Step: name.Draw(t, "step"), Area: name.Draw(t, "area"), Target: name.Draw(t, "target")}
		}
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			d.Observe(draw(), rapid.Float64().Draw(t, "seconds"))
		}
		var back predict.Durations
		if err := json.Unmarshal(must(json.Marshal(d)), &back); err != nil {
			t.Fatal(err)
		}
		k := draw()
		e := d.Estimate(k)
		if e != back.Estimate(k) {
			t.Fatalf("%v came back as %v", e, back.Estimate(k))
		}
		if !(e.Sigma > 0 && e.Sigma < 1000 && math.Abs(e.Mu) < 1000) {
			t.Fatalf("the estimate is %v", e)
		}
	})
}
