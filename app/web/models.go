package web

import (
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
)

// models are what a queue has learned of its own past.
type models struct {
	Text     string // which model is used
	Tried    string // why the latest attempt has made no model
	Versions []modelVersion
}

type modelVersion struct {
	Version string
	Using   bool
	Changes int
	Cause   string
	Made    stamp
	Good    string
	Took    string
}

// models returns nil where nothing has been learned, no attempt has failed and nobody has
// chosen a model.
func (p *Pages) models(v queue.ModelsView, now queue.Instant) *models {
	if len(v.List) == 0 && !v.Fixed && v.Tried.Why == "" {
		return nil
	}
	out := &models{Text: clean(p.words.Models(v)), Tried: clean(v.Tried.Why)}
	for _, m := range v.List {
		out.Versions = append(out.Versions, modelVersion{Version: strconv.Itoa(m.Version), Using: m.Version == v.Using, Changes: m.Changes,
			Cause: clean(p.words.ModelCause(m.Cause)), Made: stampOf(m.At, now), Good: clean(p.words.ModelPart(m.Good)), Took: clean(p.words.ModelPart(m.Took))})
	}
	return out
}
