package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// Flakes returns the targets that have passed what they had failed, those first that have
// cost the most time.
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
	return flakesOf(p.ledger.flaky), nil
}

// flakesOf makes a list of what a queue has seen of targets.
func flakesOf(seen []queue.Duration) []api.FlakyTarget {
	list := make([]api.FlakyTarget, 0, len(seen))
	for _, d := range seen {
		step, target, _ := strings.Cut(d.ID, "\x00")
		list = append(list, api.FlakyTarget{Step: step, Target: target, Flakes: d.Flakes, Rate: d.Flaked, Lost: (float64(d.Flakes) * d.Mean.Minutes())})
	}
	slices.SortFunc(list, func(a, b api.FlakyTarget) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Rate, a.Rate), strings.Compare(a.Target, b.Target), strings.Compare(a.Step, b.Step))
	})
	return list
}
