package web

import (
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// outlook is what the queue predicts of a pending change.
type outlook struct {
	Chance    *chance // nil: it has not been planned for yet
	Arrived   string
	Good      chance
	Tested    int
	Targets   int
	Accuracy  string
	Threshold string
	Single    string
	Ahead     []rival
	More      int // further ones ahead
	Pairs     []pair
	Doubts    []doubt
}

// rival is an undecided change ahead.
type rival struct {
	ref
	chance
	Ends stamp
	Red  string
}

// pair is a change that this one may be red together with.
type pair struct {
	ref
	chance
	Landed bool
}

// doubt is a failure that this change may be to blame for.
type doubt struct {
	Pair    *ref
	Percent string
	Others  []ref
}

// outlook returns nil where there is nothing left to predict.
func (d *directory) outlook(v queue.View) *outlook {
	o := v.Outlook
	if v.Change.Phase != queue.Pending || o.Good == 0 {
		return nil
	}
	out := &outlook{
		Good: chanceOf(o.Good), Tested: o.Tested, Targets: o.Targets, More: max(0, len(v.Ahead)-len(o.Ahead)),
		Accuracy: texts.Percent(o.Trust.Accuracy), Threshold: texts.Number(o.Trust.Threshold), Single: texts.Percent(o.Trust.Single),
	}
	if o.Chance > 0 {
		c := chanceOf(o.Chance)
		out.Chance = &c
	}
	if o.Arrived > 0 {
		out.Arrived = texts.Percent(o.Arrived)
	}
	for _, a := range o.Ahead {
		r := rival{ref: d.ref(a.Change), chance: chanceOf(a.Chance), Ends: dueOf(a.Ends, d.now)}
		if a.Red > 0 {
			r.Red = texts.Percent(a.Red)
		}
		out.Ahead = append(out.Ahead, r)
	}
	for _, p := range o.Pairs {
		out.Pairs = append(out.Pairs, pair{ref: d.ref(p.With), chance: chanceOf(p.Chance), Landed: p.Landed})
	}
	for _, s := range o.Doubts {
		x := doubt{Percent: texts.Percent(s.Chance), Others: d.refs(s.Others)}
		if s.Pair != "" {
			r := d.ref(s.Pair)
			x.Pair = &r
		}
		out.Doubts = append(out.Doubts, x)
	}
	return out
}
