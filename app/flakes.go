package app

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Flakes returns the targets that have passed where they had failed before, or have
// failed in quarantine. The targets that have cost the most time come first.
func (o *Owner) Flakes(context.Context) ([]api.FlakyTarget, error) {
	p, made := o.wait(ledgerWait, func(p *shown) bool {
		if p.ledger == nil {
			o.window.wantLedger()
		}
		return p.ledger != nil
	})
	switch {
	case !p.owned:
		return nil, api.ErrNotOwned
	case !made:
		return nil, errors.New("turns leave no time to look")
	}
	return flakesOf(p.ledger.flaky, p.ledger.config, time.Now()), nil
}

// flakesOf makes the list of flaky targets from a queue's figures of targets.
func flakesOf(seen []queue.Duration, cfg *config.Config, now time.Time) []api.FlakyTarget {
	list := make([]api.FlakyTarget, 0, len(seen))
	for _, d := range seen {
		step, target, _ := strings.Cut(d.ID, "\x00")
		of, _ := cfg.StepNamed(step)
		f := api.FlakyTarget{Step: step, Target: target, Flakes: d.Flakes, Rate: d.Flaked, Runs: d.N, Excused: d.Excused, Quarantined: of.Quarantined(target, now), Lost: float64(d.Flakes) * d.Mean.Minutes()}
		f.Low, f.High = wilson(d.Flaked, min(d.N, predict.Memory))
		if d.Shaken != 0 {
			f.Seen, f.Build, f.Log = d.Shaken.Time().UTC().Format(time.RFC3339), string(d.ShakenIn), texts.LogPath(string(d.ShakenIn))
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b api.FlakyTarget) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Rate, a.Rate), strings.Compare(a.Target, b.Target), strings.Compare(a.Step, b.Step))
	})
	return list
}

// wilson returns the 95 % interval of a share of n results (E. B. Wilson, "Probable
// inference, the law of succession, and statistical inference", 1927). Where there is
// no result, it is 0 to 1.
func wilson(share float64, n int) (low, high float64) {
	if n < 1 {
		return 0, 1
	}
	const z = 1.96
	of := float64(n)
	mid, half := share+z*z/(2*of), z*math.Sqrt(share*(1-share)/of+z*z/(4*of*of))
	return max(0, (mid-half)/(1+z*z/of)), min(1, (mid+half)/(1+z*z/of))
}
