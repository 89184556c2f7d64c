package queue

import "strconv"

// Models says which models a queue has learned from its own past, and which of them it uses.
type Models struct {
	Using  int    `json:"using,omitempty"`  // version of the one in use; 0: none
	Fixed  bool   `json:"fixed,omitempty"`  // somebody has chosen it, or none: a newer one does not come into use on its own
	By     string `json:"by,omitempty"`     // the author of that choice; hostile text
	Latest int    `json:"latest,omitempty"` // the highest version that was ever asked for

	Seen  int          `json:"seen,omitempty"`  // changes that have landed or failed since the queue began
	Tried LearnAttempt `json:"tried,omitzero"`  // the latest attempt to learn
	Asked *LearnAsked  `json:"asked,omitempty"` // a request to learn before it is due
}

// LearnAsked is somebody's wish for a new model.
type LearnAsked struct {
	By string  `json:"by"` // hostile text
	At Instant `json:"at"`
}

// LearnAttempt is an attempt to learn.
type LearnAttempt struct {
	At    Instant    `json:"at"`   // when it was asked for
	Seen  int        `json:"seen"` // as Models.Seen then
	Cause LearnCause `json:"cause"`
	Why   string     `json:"why,omitempty"` // why it has made no model; empty: it has made one, or is not over
}

// LearnCause says why a queue learns.
type LearnCause string

// The causes.
const (
	LearnFirst LearnCause = "first" // enough has ended for a first model
	LearnDaily LearnCause = "daily"
	LearnGrown LearnCause = "grown" // much has ended since
	LearnDrift LearnCause = "drift" // the model in use has done worse lately than none
	LearnAsk   LearnCause = "asked" // by a person
)

// Model is one version of a queue's learned model. It does not change.
type Model struct {
	Version int        `json:"version"` // from 1 up
	At      Instant    `json:"at"`      // when it was made
	Cause   LearnCause `json:"cause"`
	Changes int        `json:"changes"` // that it was made from: landed or failed
	First   Instant    `json:"first"`   // analysis of the first of these
	Last    Instant    `json:"last"`    // and of the last
	Good    ModelPart  `json:"good"`    // chances that changes are sound on their own
	Took    ModelPart  `json:"took"`    // durations of first builds

	Text string `json:"text,omitempty"` // the model, of package predict, as JSON
}

// Useful reports whether any part of the model beats the predictions without a model.
func (m *Model) Useful() bool { return m.Good.Used || m.Took.Used }

// ModelPart says how good one part of a model is.
type ModelPart struct {
	Used    bool           `json:"used"`
	Why     string         `json:"why,omitempty"` // why it is not used
	Figures []ModelFigures `json:"figures,omitempty"`
}

// ModelFigures judge the predictions of one predictor against the outcomes, on changes
// later than those that it was fitted to. Figures of other parts are 0.
type ModelFigures struct {
	Name string `json:"name"` // model, base rate, last outcome, median or estimate
	Rows int    `json:"rows"`

	LogLoss     float64 `json:"log_loss,omitempty"`
	Brier       float64 `json:"brier,omitempty"`
	AUC         float64 `json:"auc,omitempty"` // 0: there is none, as all outcomes are alike
	Calibration float64 `json:"calibration,omitempty"`

	MAPE     float64 `json:"mape,omitempty"` // in per cent
	NLL      float64 `json:"nll,omitempty"`
	Coverage float64 `json:"coverage,omitempty"` // share within the 90 % interval
}

// Learn makes a model of the queue's event archive. Result: Learnt.
type Learn struct {
	Version int        `json:"version"`
	Cause   LearnCause `json:"cause"`
}

// Name implements Task.
func (t Learn) Name() (kind, subject string) { return "learn", strconv.Itoa(t.Version) }

// Learnt is what came of a Learn.
type Learnt struct {
	Action string `json:"action"`
	Model  *Model `json:"model,omitempty"` // nil: there is none
	Why    string `json:"why,omitempty"`   // why there is none
}

func (Learnt) event() {}

// ModelsView is a queue's models as people see them.
type ModelsView struct {
	Models
	Learning  bool     // a model is being learned
	Chances   float64  // how far the chances of the model in use are believed, from 0 to 1, against what is known without it
	Durations float64  // the same of its durations
	Unread    bool     // the model in use cannot be read by this version, and is not used
	List      []*Model // versions that are kept, the newest first; the caller does not modify them
}
