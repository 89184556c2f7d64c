package queue

import (
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue/digest"
)

// Hunt is the search for the commit that turned keys of main red: those that were
// seen failing together, on one commit of main. It follows them by the names of
// step and target, since these have another key on most commits. The suspects are
// the commits of main's first-parent line back to one on which all of them are
// known to have passed; builds of the commits in between narrow them down.
type Hunt struct {
	ID       string       `json:"id"`
	Tip      CommitID     `json:"tip"`                // of main, where the red was seen
	Began    Instant      `json:"began"`              // the first failure was seen
	Red      Instant      `json:"red,omitempty"`      // main was known to be red, with all retries; 0: it may be a flake
	Analyzer string       `json:"analyzer,omitempty"` // version that Line is judged by
	Line     []HuntCommit `json:"line,omitempty"`     // oldest first, up to Tip; empty: it has not been traced
	Whole    bool         `json:"whole,omitempty"`    // Line begins with the first commit that there is
	Trails   []Trail      `json:"trails"`
	More     int          `json:"more,omitempty"` // red targets beyond MostTrails, which are not followed
	Builds   int          `json:"builds,omitempty"`
	Lost     []LostProbe  `json:"lost,omitempty"`  // commits with builds that brought no result
	Retry    Instant      `json:"retry,omitempty"` // after such a build no other is started before
	Culprits []Culprit    `json:"culprits,omitempty"`
	Over     Instant      `json:"over,omitempty"` // when it ended
	End      HuntEnd      `json:"end,omitempty"`  // why
}

// MostTrails bounds the targets that one hunt follows, and MostTraced the commits
// that are looked back at.
const (
	MostTrails = 24
	MostTraced = 256
)

// HuntEnd says why a hunt has ended.
type HuntEnd string

// The ends of a hunt.
const (
	HuntRepaired HuntEnd = "repaired" // the red key has passed on main, or is gone
	HuntFlaky    HuntEnd = "flaky"    // it has passed after all, with nothing changed
	HuntForced   HuntEnd = "forced"   // main was force-pushed: its line is another one
)

// HuntCommit is a commit of main's first-parent line, as a hunt knows it.
type HuntCommit struct {
	Commit  CommitID `json:"commit"`
	Tree    TreeID   `json:"tree,omitempty"`
	Steps   Digest   `json:"steps,omitempty"`   // of its own tree
	Subject string   `json:"subject,omitempty"` // hostile text
	Author  string   `json:"author,omitempty"`  // as the commit says, or of the change; hostile text
	Change  ChangeID `json:"change,omitempty"`  // that it landed, where the queue made it
	Number  int      `json:"number,omitempty"`  // pull request that its message names
}

// Trail is what a hunt follows: a step on one target, or, where the step names
// none of those that failed, on several at once.
type Trail struct {
	Step    string    `json:"step"`
	Targets []string  `json:"targets"`
	Opaque  bool      `json:"opaque,omitempty"` // the failure named no target: it speaks of the step on its commit
	Spots   []Spot    `json:"spots,omitempty"`  // along the hunt's Line, oldest first
	Good    int       `json:"good"`             // the latest spot that has passed below the red one; -1: none is known
	Passed  Probe     `json:"passed,omitzero"`  // there
	Reds    []RedSpot `json:"reds,omitempty"`   // spots that have failed, oldest first
	Over    Instant   `json:"over,omitempty"`   // when it was seen to pass on main
	Beyond  bool      `json:"beyond,omitempty"` // it is red on every commit of Line
	Named   CommitID  `json:"named,omitempty"`  // the culprit that was named for it
}

// Spot is a stretch of the line, from the commit At on, on which a trail has the
// same keys. None: the commit has no such target, or no such step.
type Spot struct {
	At   int   `json:"at"`
	Keys []Key `json:"keys,omitempty"`
}

// RedSpot is a spot that has failed.
type RedSpot struct {
	Spot  int   `json:"spot"`
	Sure  bool  `json:"sure,omitempty"` // it has failed as often as the rules ask for
	First Probe `json:"first"`
}

// Probe is one build that has shown something, as evidence for people.
type Probe struct {
	Build  BuildID  `json:"build,omitempty"`
	Commit CommitID `json:"commit,omitempty"`
	At     Instant  `json:"at,omitempty"`
	Tries  int      `json:"tries,omitempty"`
	Tail   string   `json:"tail,omitempty"` // of a failure; hostile text
}

// LostProbe is a commit of the line with builds that brought no result.
type LostProbe struct {
	Commit CommitID `json:"commit"`
	Times  int      `json:"times"`
}

// Culprit is a commit that turned keys of main red: on the commit before it they
// pass, on it they fail.
type Culprit struct {
	HuntCommit
	Found   Instant    `json:"found"`
	Targets []string   `json:"targets"`           // that it turned red
	Names   []string   `json:"names"`             // of the steps
	Green   Probe      `json:"green,omitzero"`    // the last that passed; without a build where it is not known, or there was no such target
	Failed  Probe      `json:"failed"`            // the first that failed
	Among   []CommitID `json:"among,omitempty"`   // commits before it, behind Green, that no build could tell from it: it is the culprit, or one of them
	Later   []Later    `json:"later,omitempty"`   // commits of main behind it that a revert concerns, oldest first; at most MostLater
	Weighed CommitID   `json:"weighed,omitempty"` // the tip that Later is true of
	Revert  *Revert    `json:"revert,omitempty"`
	Told    bool       `json:"told,omitempty"` // its pull request was told
}

// Later is a commit behind a culprit that its revert concerns.
type Later struct {
	HuntCommit
	Targets []string `json:"targets,omitempty"` // that both touch, some
	Paths   []string `json:"paths,omitempty"`   // at which the revert does not merge since it came
}

// MostLater bounds the later commits that are named, and what is named of each.
const (
	MostLater      = 16
	MostLaterNames = 6
)

// Revert is what is known of taking a culprit back.
type Revert struct {
	Change    ChangeID  `json:"change,omitempty"`    // the try that proves it
	State     HuntProof `json:"state,omitempty"`     // its result
	Of        Digest    `json:"of,omitempty"`        // of the keys that its culprit was accused of then
	On        CommitID  `json:"on,omitempty"`        // the commit of main that it was proven on
	Commit    CommitID  `json:"commit,omitempty"`    // that it made
	Conflicts []string  `json:"conflicts,omitempty"` // paths at which it does not merge with later commits
	Failed    []string  `json:"failed,omitempty"`    // steps that fail on it
	Number    int       `json:"number,omitempty"`    // the pull request that proposes it
	URL       string    `json:"url,omitempty"`
	Trouble   string    `json:"trouble,omitempty"` // why it could not be proposed, or is not landed automatically
	Why       Reason    `json:"why,omitzero"`      // of one that could not be built
	Landing   bool      `json:"landing,omitempty"` // the queue has been asked to land it
}

// HuntProof is what came of a revert that was tried.
type HuntProof string

// The outcomes of a tried revert.
const (
	RevertTrying   HuntProof = "trying"
	RevertProven   HuntProof = "proven"   // it passes on main as it was
	RevertFails    HuntProof = "fails"    // its own keys fail
	RevertConflict HuntProof = "conflict" // later commits have changed the same lines
	RevertEmpty    HuntProof = "empty"    // main has none of it any more
	RevertUnknown  HuntProof = "unknown"  // it could not be built
)

// Clone returns a copy that shares no data that changes: people read it while the
// queue goes on.
func (h *Hunt) Clone() Hunt {
	out := *h
	out.Line, out.Lost, out.Trails, out.Culprits = slices.Clone(h.Line), slices.Clone(h.Lost), slices.Clone(h.Trails), slices.Clone(h.Culprits)
	for i := range out.Trails {
		t := &out.Trails[i]
		t.Targets, t.Spots, t.Reds = slices.Clone(t.Targets), slices.Clone(t.Spots), slices.Clone(t.Reds)
	}
	for i := range out.Culprits {
		c := &out.Culprits[i]
		c.Targets, c.Names, c.Among, c.Later = slices.Clone(c.Targets), slices.Clone(c.Names), slices.Clone(c.Among), slices.Clone(c.Later)
		if c.Revert != nil {
			revert := *c.Revert
			c.Revert = &revert
		}
	}
	return out
}

// SpotAt returns the index of the spot that a commit of the line belongs to; -1
// where there is none.
func (t *Trail) SpotAt(commit int) int {
	i, exact := slices.BinarySearchFunc(t.Spots, commit, func(s Spot, at int) int { return s.At - at })
	if exact {
		return i
	}
	return i - 1
}

// Bad returns the earliest spot that has failed behind the latest one that has
// passed; false where there is none.
func (t *Trail) Bad() (red RedSpot, ok bool) {
	for _, r := range t.Reds {
		if r.Spot > t.Good {
			return r, true
		}
	}
	return RedSpot{}, false
}

// Open returns the indexes of the spots without a known result, between the
// latest spot that has passed and the earliest that has failed behind it.
func (t *Trail) Open() []int {
	to := len(t.Spots)
	if r, ok := t.Bad(); ok {
		to = r.Spot
	}
	var out []int
	for i := t.Good + 1; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// Suspects returns the commits of the line that may have turned a trail red, oldest
// first; none while it has not been traced.
func (h *Hunt) Suspects(t *Trail) []HuntCommit {
	red, ok := t.Bad()
	if !ok || len(h.Line) == 0 {
		return nil
	}
	var out []HuntCommit
	for i := t.Good + 1; i <= red.Spot && i < len(t.Spots); i++ {
		out = append(out, h.Line[t.Spots[i].At])
	}
	return out
}

// Lives reports whether a hunt goes on.
func (h *Hunt) Lives() bool { return h.Over == 0 }

// Settled reports whether each trail of a hunt has its culprit, or can have none.
func (h *Hunt) Settled() bool {
	for i := range h.Trails {
		t := &h.Trails[i]
		if t.Over == 0 && !t.Beyond && h.CulpritOf(t) == nil {
			return false
		}
	}
	return true
}

// CulpritOf returns the culprit of a trail, or nil.
func (h *Hunt) CulpritOf(t *Trail) *Culprit {
	red, ok := t.Bad()
	if !ok || red.Spot >= len(t.Spots) {
		return nil
	}
	at := h.Line[t.Spots[red.Spot].At].Commit
	i := slices.IndexFunc(h.Culprits, func(c Culprit) bool { return c.Commit == at })
	if i < 0 || t.Named != at {
		return nil
	}
	return &h.Culprits[i]
}

// NewHuntID returns the id of the hunt for the keys that were seen red on a commit at a
// moment.
func NewHuntID(tip CommitID, at Instant) string {
	return string(digest.Of("hunt1", string(tip), strconv.FormatInt(int64(at), 10))[:16])
}

// Trace walks main's first-parent line back from a commit and computes the keys
// that trails have on each commit, until each trail has a commit on which all
// of its keys have passed. Result: Traced.
type Trace struct {
	Hunt     string   `json:"hunt"`
	Commit   CommitID `json:"commit"`
	Analyzer string   `json:"analyzer,omitempty"` // version to judge the line by
	Trails   []Trail  `json:"trails"`             // without spots
}

// Name implements Task.
func (t Trace) Name() (string, string) { return "trace", t.Hunt + "@" + string(t.Commit) }

// Traced is main's line back to where trails are known to have passed.
type Traced struct {
	Action   string       `json:"action"`
	Hunt     string       `json:"hunt"`
	Commit   CommitID     `json:"commit"`
	Analyzer string       `json:"analyzer,omitempty"` // version that the line was judged by
	Line     []HuntCommit `json:"line"`               // oldest first, the last is Commit
	Whole    bool         `json:"whole,omitempty"`    // it begins with the first commit that there is
	Trails   []Trail      `json:"trails"`             // those of the task, in order, with their spots
	Steps    []StepSet    `json:"steps,omitempty"`
	Passed   []Entry      `json:"passed,omitempty"` // passes of their keys in the ledger's archive
}

func (Traced) event() {}

// HuntKept is how long people are shown a hunt that has ended.
const HuntKept = 7 * 24 * time.Hour
