package queue

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue/digest"
)

// Row is one line of a queue's event archive: the outcome of a change or build, for models,
// analytics and replays. Exactly one of the pointers is set; a Row with none is of a kind that
// a newer version writes. Package queue/history has the file format.
//
// A Row holds no log, no address, no machine and no secret. Its texts are hostile.
type Row struct {
	At Instant `json:"at"` // when it happened

	Arrival *ArrivalRow `json:"arrival,omitempty"`
	Verdict *VerdictRow `json:"verdict,omitempty"`
	Build   *BuildRow   `json:"build,omitempty"`
	Result  *ResultRow  `json:"result,omitempty"`
	Main    *MainRow    `json:"main,omitempty"`
}

// Features are numbers about a change by name, as far as they are known: a missing name
// is a missing value.
type Features map[string]float64

// ArrivalRow is a change as it was known once it was analyzed for the first time.
type ArrivalRow struct {
	Change    ChangeID `json:"change"`
	Number    int      `json:"number,omitempty"`
	Author    string   `json:"author,omitempty"`
	Title     string   `json:"title,omitempty"` // at most MostTitle bytes
	Head      CommitID `json:"head,omitempty"`
	Arrival   Instant  `json:"arrival"`
	Paths     []string `json:"paths,omitempty"`   // the first MostRowPaths
	Targets   []string `json:"targets,omitempty"` // affected, sorted; the first MostRowTargets
	Affected  int      `json:"affected"`          // how many there are
	Digest    Digest   `json:"digest,omitempty"`  // of all of them
	All       bool     `json:"all,omitempty"`     // it counts as touching everything
	Features  Features `json:"features,omitempty"`
	Chance    float64  `json:"chance,omitempty"`       // that it lands, as predicted; 0: nobody did
	Predicted int64    `json:"predicted_ms,omitempty"` // duration of its first build, as predicted
}

// VerdictRow is how a change ended.
type VerdictRow struct {
	Change   ChangeID     `json:"change"`
	Number   int          `json:"number,omitempty"`
	Author   string       `json:"author,omitempty"`
	Arrival  Instant      `json:"arrival"`
	Outcome  Phase        `json:"outcome"` // landed, rejected, cancelled or nothing-to-land
	Reason   ReasonCode   `json:"reason,omitempty"`
	Commit   CommitID     `json:"commit,omitempty"` // as in Verdict
	Builds   int          `json:"builds,omitempty"` // started for it
	Failures []FailureRow `json:"failures,omitempty"`
	Clashes  []string     `json:"clashes,omitempty"` // paths that do not merge
	Against  []ChangeID   `json:"against,omitempty"` // landed changes that touch these
	Features Features     `json:"features,omitempty"`
	// Sound is how far a change that was turned down for a failure is believed to be sound on
	// its own and to have broken with others. 0: not known.
	Sound float64 `json:"sound,omitempty"`
}

// FailureRow is a step that a change was rejected for, and what ran.
type FailureRow struct {
	Step    string     `json:"step"`
	Targets []string   `json:"targets,omitempty"`
	Build   BuildID    `json:"build,omitempty"`
	Main    CommitID   `json:"main,omitempty"`  // the commit of main that Chain was put on
	Chain   []ChangeID `json:"chain,omitempty"` // the changes that were assumed to have landed there
	Change  ChangeID   `json:"change,omitempty"`
}

// BuildRow is a build that has ended; the row's At is when.
type BuildRow struct {
	Build     BuildID    `json:"build"`
	Change    ChangeID   `json:"change,omitempty"` // empty: of main itself
	Also      []ChangeID `json:"also,omitempty"`
	Main      CommitID   `json:"main,omitempty"`
	Chain     []ChangeID `json:"chain,omitempty"` // changes put on Main before Change
	Commit    CommitID   `json:"commit,omitempty"`
	Attempt   int        `json:"attempt,omitempty"`
	Worth     WorthKind  `json:"worth,omitempty"`
	Value     float64    `json:"value,omitempty"`
	Steps     []StepRow  `json:"steps,omitempty"`
	Asked     Instant    `json:"asked"`
	Started   Instant    `json:"started,omitempty"` // 0: it never began
	Outcome   JobOutcome `json:"outcome"`           // cancelled: it was aborted then
	Predicted int64      `json:"predicted_ms,omitempty"`
}

// StepRow is a step that a build was asked for.
type StepRow struct {
	Step    string `json:"step"`
	Targets int    `json:"targets"`
}

// ResultRow is what one run of a step of a build has shown; it comes before the build's row. A
// step is run once for each part into which its targets are divided (for several runners, or
// because some are in quarantine), and several times for what is new (config.Step.StrictNew).
type ResultRow struct {
	Build   BuildID     `json:"build"`
	Step    string      `json:"step"`
	Repeat  int         `json:"repeat,omitempty"` // config.Step.Repeat
	Whole   bool        `json:"whole,omitempty"`  // the step is on the whole tree
	Outcome JobOutcome  `json:"outcome"`
	Took    int64       `json:"took_ms"`
	Targets []TargetRow `json:"targets,omitempty"` // asked for, the first MostRowTargets
	Asked   int         `json:"asked"`             // how many there are
}

// TargetRow is what a step has shown of one target.
type TargetRow struct {
	Target  string     `json:"target"`
	Outcome JobOutcome `json:"outcome,omitempty"` // passed or failed; empty: nothing was said of it
	Took    int64      `json:"took_ms,omitempty"` // 0: not known
}

// MainRow is one commit that main has got.
type MainRow struct {
	Commit  CommitID   `json:"commit"`
	Changes []ChangeID `json:"changes,omitempty"` // that landed as it, in order
	Outside bool       `json:"outside,omitempty"` // the queue did not make it
}

// Bounds of a row.
const (
	MostRowPaths   = 200
	MostRowTargets = 500
	MostRowChanges = 500 // of a chain, the latest
	MostTitle      = 200
)

// HistoryAge is how long rows are kept, where nobody says otherwise.
const HistoryAge = 100 * 24 * time.Hour

// Kind names what a row is about: arrival, verdict, build, result or main; "" for a kind
// that this version does not know.
func (r Row) Kind() string {
	switch {
	case r.Arrival != nil:
		return "arrival"
	case r.Verdict != nil:
		return "verdict"
	case r.Build != nil:
		return "build"
	case r.Result != nil:
		return "result"
	case r.Main != nil:
		return "main"
	}
	return ""
}

// ID is equal for two rows that say the same thing of the same change, build or commit: of
// these, the later one counts.
func (r Row) ID() string {
	switch k := r.Kind(); k {
	case "arrival":
		return k + "/" + string(r.Arrival.Change)
	case "verdict":
		return k + "/" + string(r.Verdict.Change)
	case "build":
		return k + "/" + string(r.Build.Build)
	case "result":
		id := k + "/" + string(r.Result.Build) + "/" + r.Result.Step + "/" + strconv.Itoa(r.Result.Repeat)
		if len(r.Result.Targets) > 0 {
			id += "/" + r.Result.Targets[0].Target // no two parts of a step have a target in common
		}
		return id
	case "main":
		return k + "/" + string(r.Main.Commit)
	}
	return ""
}

// Check returns what is wrong with the row. A row of an unknown kind is right.
func (r Row) Check() error {
	kinds := 0
	for _, is := range []bool{r.Arrival != nil, r.Verdict != nil, r.Build != nil, r.Result != nil, r.Main != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("a row is of one kind, and this one is of several")
	case r.At <= 0:
		return errors.New("a row has its moment: at, in milliseconds since 1970")
	case r.Arrival != nil && (r.Arrival.Change == "" || r.Arrival.Arrival <= 0):
		return errors.New("an arrival has change and arrival")
	case r.Verdict != nil && (r.Verdict.Change == "" || !r.Verdict.Outcome.Final() || r.Verdict.Outcome == Tried):
		return errors.New("a verdict has change and outcome: landed, rejected, cancelled or nothing-to-land")
	case r.Build != nil && (r.Build.Build == "" || r.Build.Outcome == ""):
		return errors.New("a build has build and outcome")
	case r.Result != nil && (r.Result.Build == "" || r.Result.Step == "" || r.Result.Outcome == "" || r.Result.Took < 0):
		return errors.New("a result has build, step, outcome, and took_ms from 0 up")
	case r.Main != nil && r.Main.Commit == "":
		return errors.New("a commit of main has commit")
	}
	return nil
}

// NewArrivalRow returns the row of a change with its first footprint.
func NewArrivalRow(ch *Change, f *Footprint) *ArrivalRow {
	return &ArrivalRow{Change: ch.ID, Number: ch.Number, Author: ch.Author, Title: clip(ch.Title, MostTitle), Head: ch.Head,
		Arrival: ch.Arrival, Paths: firstOf(f.Paths, MostRowPaths), Targets: firstOf(f.Affected, MostRowTargets), Affected: len(f.Affected),
		Digest: digest.Of(append([]string{"targets1"}, f.Affected...)...), All: f.All, Chance: ch.Chance, Predicted: ch.Predicted.Milliseconds()}
}

// NewVerdictRow returns the row of a change that has ended.
func NewVerdictRow(ch *Change) *VerdictRow {
	r := &VerdictRow{Change: ch.ID, Number: ch.Number, Author: ch.Author, Arrival: ch.Arrival, Outcome: ch.Phase, Reason: ch.Reason.Code, Builds: ch.Course.Builds}
	v := ch.Verdict
	if v == nil {
		return r
	}
	r.Commit, r.Clashes, r.Against = v.Commit, firstOf(v.Conflicts, MostRowPaths), firstOf(v.Against, MostRowChanges)
	for _, f := range v.Failures {
		r.Failures = append(r.Failures, FailureRow{Step: f.Step, Targets: firstOf(f.Targets, MostRowTargets), Build: f.Build,
			Main: f.Ran.Main, Chain: lastOf(f.Ran.Chain, MostRowChanges), Change: f.Ran.Change})
	}
	return r
}

// NewBuildRow returns the row of a build that has ended.
func NewBuildRow(b *Build, outcome JobOutcome) *BuildRow {
	r := &BuildRow{Build: b.ID, Change: b.Change, Also: firstOf(b.Also, MostRowChanges), Main: b.Main, Chain: lastOf(b.Chain, MostRowChanges),
		Commit: b.Commit, Attempt: b.Attempt, Worth: b.Worth.Kind, Value: b.Value, Asked: b.At, Started: b.Started, Outcome: outcome,
		Predicted: b.Predicted.Milliseconds()}
	at := map[Digest]int{} // by step: jobs that a step was divided into are one step, as it was asked for
	for _, j := range b.Jobs {
		d := j.Step.Digest()
		if i, known := at[d]; known {
			r.Steps[i].Targets += len(j.Keys)
			continue
		}
		at[d] = len(r.Steps)
		r.Steps = append(r.Steps, StepRow{Step: j.Step.Name, Targets: len(j.Keys)})
	}
	return r
}

// NewResultRow returns the row of the results of a job of a build. whole says that its step is
// on the whole tree, unnamed that a pass of the step passes all its targets.
func NewResultRow(j *Job, d JobDone, whole, unnamed bool) *ResultRow {
	r := &ResultRow{Build: d.Build, Step: j.Step.Name, Repeat: j.Step.Repeat, Whole: whole, Outcome: d.Outcome, Took: d.Took.Milliseconds(), Asked: len(j.Keys)}
	said := map[string]JobOutcome{}
	for _, t := range d.Passed {
		said[t] = JobPassed
	}
	for _, f := range d.Failed {
		said[f.Target] = JobFailed
	}
	unnamed = unnamed && d.Outcome == JobPassed && len(said) == 0
	for _, k := range firstOf(j.Keys, MostRowTargets) {
		t := TargetRow{Target: k.Target, Outcome: said[k.Target], Took: d.PerTarget[k.Target].Milliseconds()}
		if unnamed {
			t.Outcome = JobPassed
		}
		r.Targets = append(r.Targets, t)
	}
	return r
}

func firstOf[T any](list []T, most int) []T { return slices.Clip(list[:min(len(list), most)]) }

func lastOf[T any](list []T, most int) []T { return slices.Clip(list[max(0, len(list)-most):]) }

// clip cuts a text to at most so many bytes, and not within a UTF-8 character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most]
}
