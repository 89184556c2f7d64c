package web

import "github.com/submitqueue/submitqueue/queue"

// partners are the changes that a change is built or lands with.
type partners struct {
	Text   string
	Landed bool // the change has landed: this is no plan any more
	Rollup []ref
	Shares []ref
}

// partners returns nil where a change is on its own.
func (p *Pages) partners(d *directory, v queue.View) *partners {
	with := v.Partners()
	if with.None() {
		return nil
	}
	return &partners{Text: clean(p.words.Partners(v)), Landed: v.Change.Phase == queue.Landed, Rollup: d.refs(with.Rollup), Shares: d.refs(with.Shares)}
}
