package api

import (
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// Partners are the changes that another is built or lands with, by id.
type Partners struct {
	Rollup []string `json:"rollup,omitempty"` // the changes that it is to land with in one merge, or has landed with
	Shares []string `json:"shares,omitempty"` // other changes that its live builds are for, too; each lands separately
	Text   string   `json:"text"`             // the same in words; only the first ones are named
}

// partnersOf returns nil where a change is on its own.
func (s *Handlers) partnersOf(v queue.View) *Partners {
	p := v.Partners()
	if p.None() {
		return nil
	}
	return &Partners{Rollup: texts.Strings(p.Rollup), Shares: texts.Strings(p.Shares), Text: s.o.Words.Partners(v)}
}
