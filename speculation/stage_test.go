package speculation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// stated is a predict.Model with given numbers, by the numbers of the pull
// requests. A change that is not stated is certain to be good, never conflicts,
// and takes a minute.
type stated struct {
	good  map[int]float64
	pairs map[[2]int]float64 // chance that both, each green on its own, are red together
	takes map[int]time.Duration
}

func (m stated) Good(ch *queue.Change) float64 {
	if q, ok := m.good[ch.Number]; ok {
		return q
	}
	return 1
}

func (m stated) Conflict(a, b *queue.Change) float64 {
	return m.pairs[[2]int{min(a.Number, b.Number), max(a.Number, b.Number)}]
}

func (m stated) Duration(ch *queue.Change) (time.Duration, bool) {
	if d, ok := m.takes[ch.Number]; ok {
		return d, true
	}
	return minute, true
}

func (m stated) Cold() bool { return false }

// papers are the rules under which the core plans as the papers have it: one
// value for each build, from given probabilities, independent of earlier builds.
func papers(off ...config.Ingredient) config.Rules {
	return config.Rules{Order: config.OrderArrival, Threshold: 1e-6, Off: append(off, config.IngredientAdaptive, config.IngredientAging,
		config.IngredientBeliefs, config.IngredientJustInTime, config.IngredientMargin, config.IngredientPreempt, config.IngredientTargetThreshold)}
}

// stage is a world in which builds are named as in the papers, B1.2 for the
// build of change 2 on main and change 1.
type stage struct {
	*world
	t      *testing.T
	seen   map[queue.BuildID]bool
	values map[string]float64 // of every build that was started
}

// newStage returns a world with targets a to g, a proven main and no slot.
func newStage(t *testing.T, rules config.Rules, model stated, truth ...rule) *stage {
	t.Helper()
	return newStageOf(t, unit, rules, model, truth...)
}

// newStageOf is newStage with other steps.
func newStageOf(t *testing.T, steps string, rules config.Rules, model stated, truth ...rule) *stage {
	t.Helper()
	l, files := plain("a", "b", "c", "d", "e", "f", "g")
	l.rules, files[stepsFile] = truth, steps
	s := &stage{world: newWorld(t, l, files, rulesOf(rules)), t: t, seen: map[queue.BuildID]bool{}, values: map[string]float64{}}
	s.core.facts.Beliefs.Ask(model)
	t.Cleanup(func() {
		if t.Failed() {
			for _, x := range s.log {
				t.Log(x)
			}
		}
	})
	s.begin(1)
	for id := range s.runs {
		s.seen[id] = true
	}
	s.tell(queue.Capacity{})
	return s
}

// changes asks to land changes 1, 2, ... that touch the given targets, e.g.
// "a", "a b"; each writes a token with its own name there: c1, c2, ...
func (s *stage) changes(touches ...string) {
	s.t.Helper()
	for _, targets := range touches {
		e := edit{}
		for _, target := range strings.Fields(targets) {
			e[fileOf(target)] = fmt.Sprintf("c%d", len(s.pulls)+1)
		}
		s.land(e)
		s.settleDown()
	}
}

// name is the paper's name of a build.
func (s *stage) name(r *run) string {
	if r.build.Change == "" {
		return "main"
	}
	out := "B"
	for _, id := range append(slices.Clone(r.build.Chain), r.build.Change) {
		n, _, _ := strings.Cut(string(id), ".")
		out += n + "."
	}
	return strings.TrimSuffix(out, ".")
}

// fresh returns the builds that were started since the last time.
func (s *stage) fresh() []string {
	var out []string
	for _, r := range s.going() {
		if !s.seen[r.build.ID] {
			s.seen[r.build.ID] = true
			out = append(out, s.name(r))
			s.values[s.name(r)] = r.build.Value
		}
	}
	return out
}

// schedule gives the queue one slot after the other, and returns the builds in
// the order in which it takes them: by value.
func (s *stage) schedule(slots int) []string {
	s.t.Helper()
	var out []string
	for n := 1; n <= slots; n++ {
		s.tell(queue.Capacity{Slots: n})
		s.settleDown()
		out = append(out, s.fresh()...)
	}
	return out
}

func (s *stage) mustStart(slots int, want ...string) {
	s.t.Helper()
	if got := s.schedule(slots); !slices.Equal(got, want) {
		s.t.Fatalf("with %d slots it starts %v; want %v", slots, got, want)
	}
}

// mustBeWorth checks the values of builds that were started.
func (s *stage) mustBeWorth(want map[string]float64) {
	s.t.Helper()
	for _, b := range derived.Sorted(want) {
		if got, ok := s.values[b]; !ok || math.Abs(got-want[b]) > 1e-9 {
			s.t.Errorf("P_needed(%s) = %v (started: %t); want %v", b, got, ok, want[b])
		}
	}
}

// end finishes builds by name.
func (s *stage) end(names ...string) {
	s.t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(s.going(), func(r *run) bool { return s.name(r) == name })
		if i < 0 {
			s.t.Fatalf("no %s is going; there are %v", name, s.names())
		}
		s.finish(s.going()[i])
	}
}

func (s *stage) finish(r *run) {
	s.t.Helper()
	s.now = s.now.Add(time.Second)
	for !r.over {
		s.tell(s.advance(r)...)
	}
	s.settleDown()
}

// only finishes the builds of the given changes until they have none; those of
// all others are slow.
func (s *stage) only(numbers ...int) {
	s.t.Helper()
	for range 100 {
		i := slices.IndexFunc(s.going(), func(r *run) bool {
			ch := s.core.State().Changes[r.build.Change]
			return ch != nil && slices.Contains(numbers, ch.Number)
		})
		if i < 0 {
			return
		}
		s.finish(s.going()[i])
	}
	s.t.Fatalf("no end of builds of %v", numbers)
}

func (s *stage) names() []string {
	out := []string{}
	for _, r := range s.going() {
		out = append(out, s.name(r))
	}
	slices.Sort(out)
	return out
}

func (s *stage) mustGo(want ...string) {
	s.t.Helper()
	slices.Sort(want)
	if got := s.names(); !slices.Equal(got, want) {
		s.t.Fatalf("going are %v; want %v", got, want)
	}
}

// mustAll checks the phases of changes 1, 2, ...
func (s *stage) mustAll(want ...queue.Phase) {
	s.t.Helper()
	for i, phase := range want {
		s.mustBe(s.pulls[i+1], phase)
	}
}

// calm lets everything end and checks the whole history against the truth.
func (s *stage) calm() {
	s.t.Helper()
	s.waitOut()
	s.audit.final()
	for _, c := range s.line(s.main) {
		if !s.wholly(c.tree) {
			s.t.Errorf("%s is on main and red", c.id)
		}
	}
}
