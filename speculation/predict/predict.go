// Package predict holds the models of how changes turn out: how likely a change is
// good, and how long verifying it takes. They choose what is built first. By the design
// of package speculation no model, however wrong, can change a verdict.
//
// Prior knows nothing of a change and is right on average. Durations are
// running means of the observed ones, per step and target.
//
// # How do I add a predictor?
//
// Add one type that implements Model, in a file here or in a separate package below,
// and one row of Models. Package server says by its name which model a queue gets; the
// simulator takes any (sim.Options.Model). For example, this model distrusts big
// changes:
//
//	{"size", func() Model { return bySize{} }}
//
//	func (bySize) Good(ch *queue.Change) float64 { return 1 / (1 + float64(ch.Touches.Targets)/1000) }
//
// Callers bound its answers, and the answers only choose builds: a property test of
// package speculation shows that main stays green under any model.
//
// # What do models see of a change?
//
// A Case, with a row of these columns (Features). A name is stable and always means the
// same; columns are only appended. Unknown values are NaN. Counts, hours and days are log1p
// in rows. If both the analysis and the forge know a value, the analysis counts. Static
// columns stay as they are from a change's analysis on, unless it is analyzed again.
//
//	affected        analysis static  targets that it affects
//	new_targets     analysis static  of these, new ones
//	gone_targets    analysis static  targets that it takes away
//	everything      analysis static  1: it touches what everything depends on, or is unknown
//	graph           analysis static  1: it adds edges to the graph, or changes what shapes it
//	commits         forge    static  commits of its own
//	files           analysis static  files that it touches
//	dirs            analysis static  directories that these are in
//	lines_added     analysis static  lines added
//	lines_removed   analysis static  lines removed
//	hunks           analysis static  places at which lines differ
//	binaries        analysis static  files that are no text
//	build_files     analysis static  files that say how things are built
//	test_files      analysis static  files that are of tests, by their names
//	behind          git      static  commits of main that its head lacks
//	checks_passed   forge    static  checks of others on its head that have passed
//	checks_failed   forge    static  the same, failed
//	checks_pending  forge    static  the same, not over
//	attempts        queue    static  earlier changes of its pull request
//	pushes          queue    static  other heads of its pull request before this one
//	approvals       forge    static  people who approve exactly its head
//	revert          forge    static  1: it says that it takes something back
//	test_plan       forge    static  1: it says how it was tested
//	open_hours      forge    static  hours from the opening of its pull request to its arrival
//	author_success  queue    dynamic share of its author's changes that land, smoothed towards everybody's
//	author_changes  queue    dynamic its author's changes that have ended here
//	author_days     queue    dynamic days since its author's first change here
//	author_paths    queue    dynamic its author's landed changes in each of its directories, decayed, on average
//	builds_passed   queue    dynamic builds for it that have passed so far
//	builds_failed   queue    dynamic builds for it that have failed so far
//	height          queue    dynamic undecided conflicting changes ahead, which its builds assume to land
//	targets_failed  queue    dynamic highest share of failures that its targets have shown lately
//	targets_red     queue    dynamic share of its targets whose latest result was a failure
//	targets_flaked  queue    dynamic highest share of results of its targets that were flakes
//	main_passed     queue    dynamic share of the latest steps on main itself that have passed, smoothed
//	queue_success   queue    dynamic share of the latest changes of everybody that have landed, smoothed
//	queue_failing   queue    dynamic changes turned down for a failure since one has landed
//	estimate        queue    dynamic seconds that building it takes, by the histories of its targets
//
// Of two changes, they see a PairCase (PairFeatures):
//
//	shared_targets  analysis static  targets that both affect
//	shared_share    analysis static  these, as a share of what the smaller affects
//	shared_dirs     analysis static  directories in which both touch files
//	same_author     forge    static  1: both are of one author
//	overlap_hours   queue    dynamic hours that both have been in the queue at once
//	gap_hours       queue    static  hours from the arrival of one to that of the other
//	co_change       queue    dynamic highest share of the changes in a directory of one that touched one of the other, too
//
// # What is trained?
//
// Train makes a Trained of the rows of a queue's event archive (Samples): the chance that a
// change lands (FitChance) and how long its first whole build takes (FitNGBoost), both from
// its case on arrival. Each part is judged on changes later than those that it was fitted
// to. A part that does not beat its baselines there is left out: the rates and the durations
// of a new server are used instead. Pairs are not trained.
//
// A Trained is asked once for each analysis of a change, and its answer is kept with the
// change; outcomes move its chances by a Shift that the queue keeps. Results of a change's
// builds enter package speculation's beliefs; in the model they would be counted twice.
package predict

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Model predicts outcomes. Implementations are pure: the same change gets the
// same answer. The results of its analysis are in its Touches: how many targets,
// files and directories, whether it alters the graph or is unknown, and how
// often its targets have failed lately. They are set before a model is asked for
// the first time, and again with each analysis.
type Model interface {
	// Good returns the chance, from 0 to 1, that a change without any result will land.
	// Callers replace a value outside the bounds by the nearest bound, and NaN by the
	// lower one.
	Good(ch *queue.Change) float64
	// Conflict returns the chance that two changes that influence a common
	// target, each green on its own, are red together. It is symmetric. One of
	// them may have landed before the other arrived; a model that knows that the
	// other was made on top of it returns 0.
	Conflict(a, b *queue.Change) float64
	// Duration returns how long building the whole of a change takes, or false:
	// then the history of its targets is used. Callers replace a negative or absurd
	// value by the nearest bound.
	Duration(ch *queue.Change) (time.Duration, bool)
	// Cold reports that the model knows only an average of all changes.
	Cold() bool
}

// Row is a model that a queue can be run with.
type Row struct {
	Name string
	New  func() Model // for one queue
}

// Models returns all models. Server, simulator and tests take theirs from here.
func Models() []Row {
	return []Row{{"prior", func() Model { return Default }}}
}

// New makes the model of a new server: the first of Models.
func New() Model { return Models()[0].New() }

// Named makes the model with the given name in a table, or returns nil if there is
// none.
func Named(table []Row, name string) Model {
	for _, row := range table {
		if row.Name == name {
			return row.New()
		}
	}
	return nil
}

// Prior gives every change the same chance.
type Prior float64

// Default is the prior of a queue without a history: most changes that people
// ask to land are good.
const Default Prior = 0.9

var _ Model = Default

// Good implements Model.
func (p Prior) Good(*queue.Change) float64 { return float64(p) }

// Conflict implements Model: few of the pairs that could break each other do.
func (p Prior) Conflict(*queue.Change, *queue.Change) float64 { return 0.004 }

// Duration implements Model.
func (p Prior) Duration(*queue.Change) (time.Duration, bool) { return 0, false }

// Cold implements Model.
func (p Prior) Cold() bool { return true }
