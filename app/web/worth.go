package web

import (
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// worth is why a build was started: its value and the factors of the value.
type worth struct {
	Value    string
	Parts    []part
	From     string // the least value for a start; empty: any
	Single   string // the least chance of a target to be needed; empty: any
	Rank     int
	Rivals   int
	Running  int
	Slots    int
	Assumes  []assumed
	More     int // number of further assumptions, each likelier
	Least    []need
	Coverage string
}

// part is one factor.
type part struct {
	Factor string
	Words  string
}

// assumed is one outcome that a build assumes.
type assumed struct {
	ref
	Lands   bool
	Flipped bool
	chance
}

// chance is a chance in words and as the length of a bar.
type chance struct {
	Percent string
	Value   int
}

func chanceOf(q float64) chance { return chance{Percent: texts.Percent(q), Value: int(100*q + 0.5)} }

// need is the chance that a target's result decides a change.
type need struct {
	Target  string
	Percent string
}

// worth returns nil for a build that an older version has asked for.
func (p *Pages) worth(d *directory, b queue.Build) *worth {
	x := b.Worth
	if x.Kind == "" {
		return nil
	}
	out := &worth{Value: texts.Number(b.Value), Rank: x.Rank, Rivals: x.Rivals, Running: x.Running, Slots: x.Slots,
		More: max(0, x.Lands+x.Fails-len(x.Assumes)), Coverage: clean(p.words.Covers(x.Covers))}
	if x.Threshold > 0 {
		out.From = texts.Number(x.Threshold)
	}
	if x.Single > 0 && x.Covers.Left > 0 {
		out.Single = texts.Percent(x.Single)
	}
	for _, f := range x.Parts() {
		out.Parts = append(out.Parts, part{Factor: texts.Number(f.Factor), Words: clean(p.words.Part(x, f.Name))})
	}
	for _, a := range x.Assumes {
		out.Assumes = append(out.Assumes, assumed{ref: d.ref(a.Change), Lands: a.Lands, Flipped: a.Flipped, chance: chanceOf(a.Chance)})
	}
	for _, n := range x.Least {
		out.Least = append(out.Least, need{Target: clean(n.Target), Percent: texts.Percent(n.Chance)})
	}
	return out
}
