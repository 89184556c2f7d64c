package several

import (
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
)

var (
	_ conflict.Versioned = (*Analyzer)(nil)
	_ conflict.Versioned = guarded{}
)

// mostElder bounds the elder versions: the numbers of versions of all parts multiply.
const mostElder = 64

// Elder implements conflict.Versioned: it returns all combinations of versions
// of the parts, except that of the newest ones.
func (a *Analyzer) Elder() []conflict.Analyzer {
	all := [][]Part{nil}
	for _, p := range a.parts {
		var longer [][]Part
		versions := conflict.Versions(p.Analyzer)
		for _, some := range all {
			for _, v := range versions {
				p.Analyzer = v
				longer = append(longer, append(slices.Clip(some), p))
			}
		}
		all = longer[:min(len(longer), mostElder+1)]
	}
	var out []conflict.Analyzer
	for _, parts := range all[1:] {
		if v, err := New(parts); err == nil { // only the versions differ from those of a
			out = append(out, v)
		}
	}
	return out
}

// Elder implements conflict.Versioned.
func (g guarded) Elder() []conflict.Analyzer { return g.all.Elder() }
