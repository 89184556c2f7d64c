package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Each of two changes passes on its own, and they are red together: the comment of the change
// that is turned down names its partner.
func TestPartnerOfAPair(t *testing.T) {
	s := newStage(t, young(config.Rules{Threshold: 0.1}), stated{good: map[int]float64{1: 0.6, 2: 0.9}}, rule{target: "a", all: []string{"c1", "c2"}})
	s.changes("a", "a b")
	s.mustStart(4, "B1", "B1.2", "B2")
	s.end("B2")
	s.end("B1")
	s.end("B1.2")
	for len(s.names()) > 0 {
		s.end(s.names()[0])
	}
	s.mustAll(queue.Landed, queue.Rejected)
	f := s.core.State().Changes[s.id(2)].Verdict.Failures
	if len(f) != 1 || !slices.Equal(f[0].Partners, []queue.ChangeID{s.id(1)}) {
		t.Fatalf("%+v", f)
	}
}

// What fails without the others, too, has no partner: nor has what was never tried without.
func TestNoPartner(t *testing.T) {
	for name, c := range map[string]struct {
		good  float64
		truth []string
	}{
		"red by itself": {0.6, []string{"c2"}},
		"never tried":   {0.99, []string{"c1", "c2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, young(config.Rules{Threshold: 0.1}), stated{good: map[int]float64{1: c.good, 2: 0.9}}, rule{target: "a", all: c.truth})
			s.changes("a", "a b")
			s.tell(queue.Capacity{Slots: 4})
			s.settleDown()
			for len(s.names()) > 0 {
				s.end(s.names()[0])
			}
			s.mustAll(queue.Landed, queue.Rejected)
			if f := s.core.State().Changes[s.id(2)].Verdict.Failures; len(f) != 1 || f[0].Partners != nil {
				t.Fatalf("%+v", f)
			}
		})
	}
}
