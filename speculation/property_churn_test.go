package speculation

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// TestNoBuildIsAskedForAgainAndAgain: with true footprints, the predictor that
// the server begins with, and nothing that fails by itself, no build of one
// commit is asked for, stopped and asked for again many times within a second.
// Each time counts for its change, which is parked at the cap though nothing is
// wrong with it.
func TestNoBuildIsAskedForAgainAndAgain(t *testing.T) {
	storetest.OneOf(t, 2)
	rounds(t, 2, func(rt *rapid.T) {
		p := newProof(rt, map[string]int{})
		defer logging(rt, p.world)
		p.relation(0)
		p.core.facts.Beliefs.Ask(predict.Default)
		p.noFaults()
		p.live()
		if p.core.facts.Beliefs.Model != predict.Default {
			return // it began with changes that are trusted
		}
		p.calm()
		asked := map[string]int{}
		for _, line := range p.log {
			f := strings.Fields(line)
			if len(f) < 5 || f[1] != "build-asked" {
				continue
			}
			at := strings.Join([]string{f[0], f[2], f[4]}, " ") // when, whose, of which commit
			if asked[at]++; asked[at] == 5 {
				rt.Fatalf("five times within a second: %s", line)
			}
		}
	})
}
