package predict

import (
	"encoding/json"
	"fmt"
	"math"
)

// Feature is one column of the vectors that models see.
//
// Columns are only appended: a name never gets another meaning. A stored model names
// its columns, so that a version with more columns can use it.
type Feature struct {
	Name    string // in snake case; stable
	Meaning string // with its unit
	Source  string // where the value comes from: analysis, forge, git or queue
	Static  bool   // the same from a change's analysis to its verdict, unless the change is analyzed again
}

// Case holds the facts of one change at one moment, in plain values. An unknown value is
// NaN; NewCase makes a case of unknown values. Counts are plain counts: Vector takes
// their logarithms. Flags are 0 or 1, shares from 0 to 1.
type Case struct {
	// The change.
	Affected, NewTargets, GoneTargets             float64
	Everything, Graph                             float64
	Commits, Files, Dirs                          float64
	LinesAdded, LinesRemoved, Hunks, Binaries     float64
	BuildFiles, TestFiles                         float64
	Behind                                        float64
	ChecksPassed, ChecksFailed, ChecksPending     float64
	Attempts, Pushes, Approvals, Revert, TestPlan float64 // the revision
	OpenHours                                     float64

	AuthorSuccess, AuthorChanges, AuthorDays, AuthorPaths float64

	BuildsPassed, BuildsFailed, Height float64 // the speculation

	// History.
	TargetsFailed, TargetsRed, TargetsFlaked float64
	MainPassed, QueueSuccess, QueueFailing   float64
	Estimate                                 float64 // in seconds
}

// column is a feature, and where a case has its value.
type column[C any] struct {
	Feature
	long bool // a count or a time with a long tail: vectors have log1p of it
	of   func(*C) *float64
}

// features is the table of the columns of a Case, never changed.
var features = []column[Case]{
	{Feature{"affected", "targets that it affects", "analysis", true}, true, func(c *Case) *float64 { return &c.Affected }},
	{Feature{"new_targets", "of these, new ones", "analysis", true}, true, func(c *Case) *float64 { return &c.NewTargets }},
	{Feature{"gone_targets", "targets that it takes away", "analysis", true}, true, func(c *Case) *float64 { return &c.GoneTargets }},
	{Feature{"everything", "1: it touches what everything depends on, or is unknown", "analysis", true}, false, func(c *Case) *float64 { return &c.Everything }},
	{Feature{"graph", "1: it adds edges to the graph, or changes what shapes it", "analysis", true}, false, func(c *Case) *float64 { return &c.Graph }},
	{Feature{"commits", "commits of its own", "forge", true}, true, func(c *Case) *float64 { return &c.Commits }},
	{Feature{"files", "files that it touches", "analysis", true}, true, func(c *Case) *float64 { return &c.Files }},
	{Feature{"dirs", "directories that these are in", "analysis", true}, true, func(c *Case) *float64 { return &c.Dirs }},
	{Feature{"lines_added", "lines added", "analysis", true}, true, func(c *Case) *float64 { return &c.LinesAdded }},
	{Feature{"lines_removed", "lines removed", "analysis", true}, true, func(c *Case) *float64 { return &c.LinesRemoved }},
	{Feature{"hunks", "places at which lines differ", "analysis", true}, true, func(c *Case) *float64 { return &c.Hunks }},
	{Feature{"binaries", "files that are no text", "analysis", true}, true, func(c *Case) *float64 { return &c.Binaries }},
	{Feature{"build_files", "files that say how things are built", "analysis", true}, true, func(c *Case) *float64 { return &c.BuildFiles }},
	{Feature{"test_files", "files that are of tests, by their names", "analysis", true}, true, func(c *Case) *float64 { return &c.TestFiles }},
	{Feature{"behind", "commits of main that its head lacks", "git", true}, true, func(c *Case) *float64 { return &c.Behind }},
	{Feature{"checks_passed", "checks of others on its head that have passed", "forge", true}, true, func(c *Case) *float64 { return &c.ChecksPassed }},
	{Feature{"checks_failed", "the same, failed", "forge", true}, true, func(c *Case) *float64 { return &c.ChecksFailed }},
	{Feature{"checks_pending", "the same, not over", "forge", true}, true, func(c *Case) *float64 { return &c.ChecksPending }},
	{Feature{"attempts", "earlier changes of its pull request", "queue", true}, true, func(c *Case) *float64 { return &c.Attempts }},
	{Feature{"pushes", "other heads of its pull request before this one", "queue", true}, true, func(c *Case) *float64 { return &c.Pushes }},
	{Feature{"approvals", "people who approve exactly its head", "forge", true}, true, func(c *Case) *float64 { return &c.Approvals }},
	{Feature{"revert", "1: it says that it takes something back", "forge", true}, false, func(c *Case) *float64 { return &c.Revert }},
	{Feature{"test_plan", "1: it says how it was tested", "forge", true}, false, func(c *Case) *float64 { return &c.TestPlan }},
	{Feature{"open_hours", "hours from the opening of its pull request to its arrival", "forge", true}, true, func(c *Case) *float64 { return &c.OpenHours }},
	{Feature{"author_success", "share of its author's changes that land, smoothed towards everybody's", "queue", false}, false, func(c *Case) *float64 { return &c.AuthorSuccess }},
	{Feature{"author_changes", "its author's changes that have ended here", "queue", false}, true, func(c *Case) *float64 { return &c.AuthorChanges }},
	{Feature{"author_days", "days since its author's first change here", "queue", false}, true, func(c *Case) *float64 { return &c.AuthorDays }},
	{Feature{"author_paths", "its author's landed changes in each of its directories, decayed, on average", "queue", false}, true, func(c *Case) *float64 { return &c.AuthorPaths }},
	{Feature{"builds_passed", "builds for it that have passed so far", "queue", false}, true, func(c *Case) *float64 { return &c.BuildsPassed }},
	{Feature{"builds_failed", "builds for it that have failed so far", "queue", false}, true, func(c *Case) *float64 { return &c.BuildsFailed }},
	{Feature{"height", "undecided conflicting changes ahead, which its builds assume to land", "queue", false}, true, func(c *Case) *float64 { return &c.Height }},
	{Feature{"targets_failed", "highest share of failures that its targets have shown lately", "queue", false}, false, func(c *Case) *float64 { return &c.TargetsFailed }},
	{Feature{"targets_red", "share of its targets whose latest result was a failure", "queue", false}, false, func(c *Case) *float64 { return &c.TargetsRed }},
	{Feature{"targets_flaked", "highest share of results of its targets that were flakes", "queue", false}, false, func(c *Case) *float64 { return &c.TargetsFlaked }},
	{Feature{"main_passed", "share of the latest steps on main itself that have passed, smoothed", "queue", false}, false, func(c *Case) *float64 { return &c.MainPassed }},
	{Feature{"queue_success", "share of the latest changes of everybody that have landed, smoothed", "queue", false}, false, func(c *Case) *float64 { return &c.QueueSuccess }},
	{Feature{"queue_failing", "changes turned down for a failure since one has landed", "queue", false}, true, func(c *Case) *float64 { return &c.QueueFailing }},
	{Feature{"estimate", "seconds that building it takes, by the histories of its targets", "queue", false}, true, func(c *Case) *float64 { return &c.Estimate }},
}

// Features returns the columns of Case.Vector, in order.
func Features() []Feature { return listed(features) }

// NewCase returns a case in which all values are unknown.
func NewCase() *Case { return unknown(features) }

// Vector writes the case as a row of Features' columns into dst, which grows if it is
// too short, and returns it. Counts and times with a long tail are log1p; no value is
// infinite. It allocates nothing if dst has room.
func (c *Case) Vector(dst []float64) []float64 { return vector(features, c, dst) }

// Known returns the known values, by the names of the columns.
func (c *Case) Known() map[string]float64 { return known(features, c) }

// CaseOf returns a case with the given values known and all others unknown. It ignores
// names that are no columns, and values that are not finite.
func CaseOf(values map[string]float64) *Case { return caseOf(features, values) }

// MarshalJSON writes the known values, by the names of the columns.
func (c *Case) MarshalJSON() ([]byte, error) { return encode(features, c) }

// UnmarshalJSON reads the output of MarshalJSON. Columns that the text does not name
// are unknown; names of other versions are ignored. Anything but an object of numbers
// is an error.
func (c *Case) UnmarshalJSON(data []byte) error { return decode(features, c, data) }

func listed[C any](table []column[C]) []Feature {
	out := make([]Feature, len(table))
	for i, f := range table {
		out[i] = f.Feature
	}
	return out
}

func unknown[C any](table []column[C]) *C {
	c := new(C)
	for _, f := range table {
		*f.of(c) = math.NaN()
	}
	return c
}

func vector[C any](table []column[C], c *C, dst []float64) []float64 {
	dst = dst[:0]
	for i := range table {
		v := *table[i].of(c)
		if table[i].long && v > -1 {
			v = math.Log1p(v)
		}
		if math.IsInf(v, 0) || table[i].long && v <= -1 {
			v = math.NaN()
		}
		dst = append(dst, v)
	}
	return dst
}

func known[C any](table []column[C], c *C) map[string]float64 {
	known := map[string]float64{}
	for _, f := range table {
		if v := *f.of(c); !math.IsNaN(v) && !math.IsInf(v, 0) {
			known[f.Name] = v
		}
	}
	return known
}

func encode[C any](table []column[C], c *C) ([]byte, error) { return json.Marshal(known(table, c)) }

func decode[C any](table []column[C], c *C, data []byte) error {
	var values map[string]float64
	if err := json.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("predict: reading a case: %w", err)
	}
	*c = *caseOf(table, values)
	return nil
}

func caseOf[C any](table []column[C], values map[string]float64) *C {
	c := unknown(table)
	for _, f := range table {
		if v, ok := values[f.Name]; ok && !math.IsInf(v, 0) {
			*f.of(c) = v
		}
	}
	return c
}
