package sim

// Checker knows the truth and counts what a strategy does wrong. It shares
// nothing with any planner: it only reads the world and is told each landing and each
// rejection, in the order in which they happen.
type Checker struct {
	w       *World
	landed  []bool
	decided []int
	broken  []bool  // targets where a landed change is broken on its own
	soured  [][]int // by change: targets where a push has broken it
	mates   [][]int // by change: changes with which it breaks the tree step, earlier and later ones
	tree    bool    // the landed changes break the tree step
	pushes  int
	v       Verdict
}

// Verdict holds the faults that the Checker found. The first three must be zero.
type Verdict struct {
	RedCommits   int // landed states in which a target of the landed change fails
	DecidedTwice int // decisions beyond a change's first
	Undecided    int // changes without a decision
	Landed       int
	Rejected     int
	Harmed       int // rejected, though deciding all in arrival order would have landed them
}

// Bad reports whether the strategy is wrong, however fast it may be.
func (v Verdict) Bad() bool { return v.RedCommits+v.DecidedTwice+v.Undecided > 0 }

// NewChecker returns a checker that has seen nothing.
func NewChecker(w *World) *Checker {
	k := &Checker{w: w, landed: make([]bool, len(w.Changes)), decided: make([]int, len(w.Changes)),
		broken: make([]bool, len(w.Targets)), soured: make([][]int, len(w.Changes)), mates: make([][]int, len(w.Changes))}
	for i := range w.Changes {
		for _, x := range w.Changes[i].TreeFoes {
			k.mates[i], k.mates[x] = append(k.mates[i], x), append(k.mates[x], i)
		}
	}
	return k
}

// Decide is told of a decision at a time; times must not go back. A landed
// change's commit is checked on the changes that landed before it.
func (k *Checker) Decide(change int, landed bool, at float64) {
	k.pushed(at)
	if !landed {
		if k.first(change) {
			k.v.Rejected++
		}
		return
	}
	k.land(change)
}

// Together is told of changes that have landed at a time as one commit of main. The
// states between them were never on main, so they are checked as one.
func (k *Checker) Together(changes []int, at float64) {
	k.pushed(at)
	k.land(changes...)
}

// first counts a decision and reports whether it is the change's first.
func (k *Checker) first(change int) bool {
	if k.decided[change]++; k.decided[change] > 1 {
		k.v.DecidedTwice++
		return false
	}
	return true
}

func (k *Checker) land(changes ...int) {
	red := false
	for _, c := range changes {
		if k.first(c) {
			k.v.Landed++
			red = k.red(c) || red
			k.landed[c] = true
		}
	}
	if red {
		k.v.RedCommits++
	}
}

// red reports whether a target of the change, or the tree step, fails once it is
// on main.
func (k *Checker) red(change int) bool {
	c := &k.w.Changes[change]
	k.tree = k.tree || c.BreaksTree
	for _, x := range k.mates[change] {
		k.tree = k.tree || k.landed[x]
	}
	if k.tree && k.w.TreeStepMin > 0 {
		return true
	}
	if c.BrokenTarget >= 0 {
		k.broken[c.BrokenTarget] = true
	}
	for _, t := range c.Targets {
		if k.broken[t] {
			return true
		}
	}
	for _, x := range c.Conflicts {
		if k.landed[x.With] {
			k.broken[x.Target] = true
			return true
		}
	}
	for i := change + 1; i < len(k.w.Changes); i++ {
		if !k.landed[i] {
			continue
		}
		for _, x := range k.w.Changes[i].Conflicts {
			if x.With == change {
				k.broken[x.Target] = true
				return true
			}
		}
	}
	return len(k.soured[change]) > 0
}

// pushed applies the outside commits that came up to a time.
func (k *Checker) pushed(at float64) {
	for ; k.pushes < len(k.w.Pushes) && k.w.Pushes[k.pushes].AtMin <= at; k.pushes++ {
		for _, x := range k.w.Pushes[k.pushes].Breaks {
			if !k.landed[x.With] {
				k.soured[x.With] = append(k.soured[x.With], x.Target)
			}
		}
	}
}

// Verdict returns the faults found. Call it when all decisions have been told.
func (k *Checker) Verdict() Verdict {
	v := k.v
	inOrder := arrivalOrder(k.w)
	for i, n := range k.decided {
		switch {
		case n == 0:
			v.Undecided++
		case !k.landed[i] && inOrder[i]:
			v.Harmed++
		}
	}
	return v
}

// Check tells a checker a whole outcome: its decisions by time, those of one
// time in the order in which they are listed. A landing that is not decided as
// landed, or the reverse, counts as decided twice, since one of the two must be wrong.
func Check(w *World, o *Outcome) Verdict {
	k := NewChecker(w)
	all := o.inTime()
	for len(all) > 0 {
		d, n := all[0], 1
		for d.Landed && d.Commit != 0 && n < len(all) && all[n].Landed && all[n].Commit == d.Commit {
			n++
		}
		if n > 1 {
			var group []int
			for _, x := range all[:n] {
				group = append(group, x.Change)
			}
			k.Together(group, d.At)
		} else {
			k.Decide(d.Change, d.Landed, d.At)
		}
		all = all[n:]
	}
	v := k.Verdict()
	onMain := make([]bool, len(w.Changes))
	for _, c := range o.Landings {
		onMain[c] = true
	}
	for i := range onMain {
		if onMain[i] != k.landed[i] {
			v.DecidedTwice++
		}
	}
	return v
}

// arrivalOrder returns which changes land if all are decided in the order of arrival.
// Fairness is measured against that. Pushes do not count.
func arrivalOrder(w *World) []bool {
	landed := make([]bool, len(w.Changes))
	for i := range w.Changes {
		c := &w.Changes[i]
		landed[i] = c.BrokenTarget < 0 && !(c.BreaksTree && w.TreeStepMin > 0)
		for _, x := range c.Conflicts {
			if landed[x.With] {
				landed[i] = false
			}
		}
		for _, x := range c.TreeFoes {
			if landed[x] && w.TreeStepMin > 0 {
				landed[i] = false
			}
		}
	}
	return landed
}
