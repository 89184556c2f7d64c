package derived_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

const (
	now  = queue.Instant(1_700_000_000_000)
	hour = time.Hour
	day  = 24 * time.Hour
)

func number(n int) *int { return &n }
func is(b bool) *bool   { return &b }

// waiting is a state with a change that has been analyzed and one ahead of it.
func waiting() *queue.State {
	s := queue.NewState("main")
	s.Main.Tip = "m"
	s.Main.Config = &config.Config{Steps: []config.Step{{Name: "unit", Run: "test"}}}
	for i, id := range []queue.ChangeID{"ahead", "it"} {
		arrival := now.Add(time.Duration(i-2) * hour)
		s.Changes[id] = &queue.Change{ID: id, Number: i + 1, Author: "ada", Arrival: arrival, Phase: queue.Pending, Facets: &queue.Facets{Checks: &queue.Checks{}},
			Foreseen: queue.Foreseen{Virtual: arrival}, Touches: queue.Touches{Targets: 2, Files: 2, Dirs: 2, Extent: queue.Extent{Counted: true, Placed: true}}}
		s.Footprints[id] = &queue.Footprint{Main: "m", Analyzer: "a", Write: []string{"t", "u"}, Affected: []string{"t", "u"}, Files: 2, Dirs: 2, Paths: []string{"x/f", "y/f"}}
	}
	s.Durations["unit\x00t"] = &queue.Duration{ID: "unit\x00t", N: 9}
	return s
}

func caseOf(s *queue.State) []float64 {
	fs := derived.New(s, now, predict.Default)
	fs.Order.Sort()
	return fs.Beliefs.Case(s.Changes["it"]).Vector(nil)
}

func pairOf(s *queue.State) []float64 {
	fs := derived.New(s, now, predict.Default)
	fs.Order.Sort()
	a, b := s.Changes["ahead"], s.Changes["it"]
	there, back := fs.Beliefs.PairCase(a, b).Vector(nil), fs.Beliefs.PairCase(b, a).Vector(nil)
	if fmt.Sprint(there) != fmt.Sprint(back) {
		return nil
	}
	return there
}

// cause is something that happens, and the columns that it is to move, upwards or from
// nothing, and no others.
type cause struct {
	moves []string
	by    func(s *queue.State)
}

func it(f func(ch *queue.Change)) func(s *queue.State) {
	return func(s *queue.State) { f(s.Changes["it"]) }
}

var causes = []cause{
	{[]string{"affected"}, it(func(ch *queue.Change) { ch.Touches.Targets++ })},
	{[]string{"new_targets"}, it(func(ch *queue.Change) { ch.Touches.Added++ })},
	{[]string{"gone_targets"}, it(func(ch *queue.Change) { ch.Touches.Gone++ })},
	{[]string{"everything"}, it(func(ch *queue.Change) { ch.Touches.All = true })},
	{[]string{"graph"}, it(func(ch *queue.Change) { ch.Touches.Graph = true })},
	{[]string{"commits"}, it(func(ch *queue.Change) { ch.Touches.Extent.Commits = 2 })},
	{[]string{"behind"}, it(func(ch *queue.Change) { ch.Touches.Extent.Behind = 3 })},
	{[]string{"files"}, it(func(ch *queue.Change) { ch.Touches.Files++ })},
	{[]string{"dirs"}, it(func(ch *queue.Change) { ch.Touches.Dirs++ })},
	{[]string{"lines_added"}, it(func(ch *queue.Change) { ch.Touches.Extent.Lines = 2 })},
	{[]string{"lines_removed"}, it(func(ch *queue.Change) { ch.Touches.Extent.Dropped = 2 })},
	{[]string{"hunks"}, it(func(ch *queue.Change) { ch.Touches.Extent.Hunks = 1 })},
	{[]string{"binaries"}, it(func(ch *queue.Change) { ch.Touches.Extent.Binaries = 1 })},
	{[]string{"build_files"}, it(func(ch *queue.Change) { ch.Touches.Extent.Builds = 1 })},
	{[]string{"test_files"}, it(func(ch *queue.Change) { ch.Touches.Extent.Tests = 1 })},
	{[]string{"checks_passed"}, it(func(ch *queue.Change) { ch.Facets.Checks.Passed++ })},
	{[]string{"checks_failed"}, it(func(ch *queue.Change) { ch.Facets.Checks.Failed++ })},
	{[]string{"checks_pending"}, it(func(ch *queue.Change) { ch.Facets.Checks.Pending++ })},
	{[]string{"attempts"}, it(func(ch *queue.Change) { ch.Facets.Attempts++ })},
	{[]string{"pushes"}, it(func(ch *queue.Change) { ch.Facets.Pushes++ })},
	{[]string{"approvals"}, it(func(ch *queue.Change) { ch.Facets.Approvals = number(1) })},
	{[]string{"revert"}, it(func(ch *queue.Change) { ch.Facets.Revert = is(true) })},
	{[]string{"test_plan"}, it(func(ch *queue.Change) { ch.Facets.Plan = is(false) })},
	{[]string{"open_hours"}, it(func(ch *queue.Change) { ch.Facets.Opened = ch.Arrival.Add(-hour) })},
	{[]string{"author_success"}, func(s *queue.State) {
		s.Authors["ada"] = &queue.Author{Since: now, At: now, Success: queue.Rate{Held: 9, Of: 9}}
	}},
	{[]string{"author_changes"}, func(s *queue.State) { s.Authors["ada"] = &queue.Author{Since: now, At: now, Changes: 1} }},
	{[]string{"author_days"}, func(s *queue.State) { s.Authors["ada"] = &queue.Author{Since: now.Add(-day), At: now} }},
	{[]string{"author_paths"}, func(s *queue.State) {
		s.Authors["ada"] = &queue.Author{Since: now, At: now, Dirs: map[string]float64{"x": 1}}
	}},
	{[]string{"builds_passed"}, it(func(ch *queue.Change) { ch.Green++ })},
	{[]string{"builds_failed"}, it(func(ch *queue.Change) { ch.Red++ })},
	{[]string{"height"}, func(s *queue.State) {
		also := *s.Changes["ahead"]
		also.ID, also.Number = "also", 3
		s.Changes["also"], s.Footprints["also"] = &also, s.Footprints["ahead"]
	}},
	{[]string{"targets_failed"}, func(s *queue.State) { s.Durations["unit\x00t"].Failed = 0.1 }},
	{[]string{"targets_red"}, func(s *queue.State) { s.Durations["unit\x00t"].Red = true }},
	{[]string{"targets_flaked"}, func(s *queue.State) { s.Durations["unit\x00t"].Flaked = 0.1 }},
	{[]string{"main_passed"}, func(s *queue.State) { s.Learned.Main = queue.Rate{Held: 9, Of: 9} }},
	{[]string{"queue_success", "author_success"}, func(s *queue.State) { s.Learned.Good = queue.Rate{Held: 99, Of: 99} }},
	{[]string{"queue_failing"}, func(s *queue.State) { s.Learned.Failing++ }},
	{[]string{"estimate"}, func(s *queue.State) { s.Durations["unit\x00t"].Mean = hour }},
}

var pairCauses = []cause{
	{[]string{"shared_targets", "shared_share"}, func(s *queue.State) {
		for _, f := range s.Footprints {
			f.Affected = append(f.Affected, "x")
		}
	}},
	{[]string{"shared_share"}, func(s *queue.State) { s.Footprints["it"].Affected = []string{"t"} }},
	{[]string{"shared_dirs"}, func(s *queue.State) {
		for _, f := range s.Footprints {
			f.Paths = append(f.Paths, "z/f")
		}
	}},
	{[]string{"same_author"}, it(func(ch *queue.Change) { ch.Author = "ada" })},
	{[]string{"overlap_hours"}, func(s *queue.State) {
		for _, ch := range s.Changes {
			ch.Phase, ch.Decided = queue.Landed, now.Add(hour)
		}
	}},
	{[]string{"gap_hours"}, func(s *queue.State) { s.Changes["ahead"].Arrival = s.Changes["ahead"].Arrival.Add(-hour) }},
	{[]string{"co_change"}, func(s *queue.State) {
		s.Areas["x"] = &queue.Area{Dir: "x", At: now, Weight: 3, With: map[string]float64{"y": 2}}
	}},
}

// moved returns the names of the columns that are others.
func moved(features []predict.Feature, before, after []float64) (up map[string]bool) {
	up = map[string]bool{}
	for i, f := range features {
		if a, b := before[i], after[i]; a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
			up[f.Name] = b > a || math.IsNaN(a)
		}
	}
	return up
}

func judge(t *testing.T, features []predict.Feature, list []cause, base func() *queue.State, row func(*queue.State) []float64) {
	t.Helper()
	caused := map[string]bool{}
	for _, c := range list {
		s := base()
		before := row(s)
		c.by(s)
		got := moved(features, before, row(s))
		for _, name := range c.moves {
			if caused[name] = true; !got[name] {
				t.Errorf("what is to move %v does not move %s", c.moves, name)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("what is to move %v moves %v, too", c.moves, got)
		}
	}
	for _, f := range features {
		if !caused[f.Name] {
			t.Errorf("no cause of %s is known", f.Name)
		}
	}
}

func TestEachFeatureHasItsCause(t *testing.T) {
	judge(t, predict.Features(), causes, waiting, caseOf)
}

func TestEachPairFeatureHasItsCause(t *testing.T) {
	apart := func() *queue.State {
		s := waiting()
		s.Changes["it"].Author, s.Footprints["it"].Affected = "bob", []string{"t", "w"}
		return s
	}
	judge(t, predict.PairFeatures(), pairCauses, apart, pairOf)
}

// Values that the analysis lacks come from the forge; values that both lack are missing.
func TestTheForgeFillsInForTheAnalysis(t *testing.T) {
	s := waiting()
	ch := s.Changes["it"]
	ch.Touches.Extent, ch.Facets = queue.Extent{}, nil
	row := func() map[string]float64 {
		out := map[string]float64{}
		for i, f := range predict.Features() {
			if v := caseOf(s)[i]; !math.IsNaN(v) {
				out[f.Name] = math.Round(math.Expm1(v))
			}
		}
		return out
	}
	names := []string{"commits", "lines_added", "lines_removed", "hunks", "behind", "approvals", "revert", "test_plan", "checks_passed", "attempts", "open_hours"}
	for _, name := range names {
		if v, known := row()[name]; known {
			t.Errorf("nobody has said anything, and %s is %v", name, v)
		}
	}
	ch.Facets = &queue.Facets{Commits: number(3), Files: number(9), Added: number(5), Removed: number(6), Revert: is(false), Plan: is(true)}
	got := row()
	if got["commits"] != 3 || got["lines_added"] != 5 || got["lines_removed"] != 6 || got["files"] != 2 {
		t.Errorf("with what the forge says: %v", got)
	}
	ch.Touches.Extent = queue.Extent{Counted: true, Lines: 7, Placed: true, Commits: 1}
	if got = row(); got["commits"] != 1 || got["lines_added"] != 7 || got["lines_removed"] != 0 {
		t.Errorf("with what the analysis shows, too: %v", got)
	}
	ch.Touches, s.Footprints["it"] = queue.Touches{}, nil
	delete(s.Footprints, "it")
	if got = row(); got["files"] != 9 || got["affected"] != 0 {
		t.Errorf("before the analysis: %v", got)
	}
	if _, known := got["affected"]; known {
		t.Error("how much it affects is known before its analysis")
	}
}
