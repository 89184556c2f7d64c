package api

import (
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// Partners are the changes that another is built or lands with, by id.
type Partners struct {
	Rollup []string `json:"rollup,omitempty"` // with which it is to land in one merge or, where it has landed, has done so
	Shares []string `json:"shares,omitempty"` // for which its live builds are, too; each lands by itself
	Text   string   `json:"text"`             // the same in words, of which the first are named
}

// partnersOf returns nil where a change is on its own.
func (s *Handlers) partnersOf(v queue.View) *Partners {
	p := v.Partners()
	if p.None() {
		return nil
	}
	return &Partners{Rollup: texts.Strings(p.Rollup), Shares: texts.Strings(p.Shares), Text: s.o.Words.Partners(v)}
}
