package sim

// State is a set of changes (and pushes) that are in, and which targets fail
// with them. The cost of adding and removing depends on the number of the change's real
// conflicts, not on the size of the set. So assumed changes can be added on top of the
// landed ones and removed again.
//
// A target fails when a change that is in is broken there, or two that are in
// break it together. It has no flakes: these belong to builds, see Flake.
type State struct {
	w      *World
	foes   [][]Conflict // by change: earlier and later changes that it breaks with
	pushed [][]int      // by change: the targets where a push that is in breaks it
	in     []bool
	bad    []int   // by target: reasons to fail
	red    int     // targets with a reason
	mates  [][]int // by change: earlier and later changes with which it breaks the tree step
	tree   int     // reasons for the tree step to fail
}

// NewState returns the empty state of a world: main as it was before.
func NewState(w *World) *State {
	s := &State{w: w, foes: make([][]Conflict, len(w.Changes)), pushed: make([][]int, len(w.Changes)),
		in: make([]bool, len(w.Changes)), bad: make([]int, len(w.Targets)), mates: make([][]int, len(w.Changes))}
	for i := range w.Changes {
		for _, x := range w.Changes[i].Conflicts {
			s.foes[i] = append(s.foes[i], x)
			s.foes[x.With] = append(s.foes[x.With], Conflict{With: i, Target: x.Target})
		}
		for _, x := range w.Changes[i].TreeFoes {
			s.mates[i], s.mates[x] = append(s.mates[i], x), append(s.mates[x], i)
		}
	}
	return s
}

// Has reports whether a change is in.
func (s *State) Has(change int) bool { return s.in[change] }

// Add puts a change in; a change that is in stays in.
func (s *State) Add(change int) { s.set(change, true) }

// Remove takes a change out; a change that is out stays out.
func (s *State) Remove(change int) { s.set(change, false) }

// Push puts a commit of the world's Pushes in, for good. Changes that have
// landed are not broken by it, by the rule of Push.
func (s *State) Push(p *Push) {
	for _, x := range p.Breaks {
		if !s.in[x.With] {
			s.pushed[x.With] = append(s.pushed[x.With], x.Target)
		}
	}
}

// Fails reports whether a target fails.
func (s *State) Fails(target int) bool { return s.bad[target] > 0 }

// Red returns how many targets fail.
func (s *State) Red() int { return s.red }

// Broken returns those of the targets that fail, in their order.
func (s *State) Broken(targets []int) []int {
	if s.red == 0 {
		return nil
	}
	var out []int
	for _, t := range targets {
		if s.bad[t] > 0 {
			out = append(out, t)
		}
	}
	return out
}

// TreeFails reports whether there is a tree step and it fails.
func (s *State) TreeFails() bool { return s.tree > 0 && s.w.TreeStepMin > 0 }

// With returns which of the targets fail on this state with more changes in,
// and whether the tree step does. It leaves the state as it was.
func (s *State) With(more, targets []int) (broken []int, tree bool) {
	added := make([]int, 0, len(more))
	for _, c := range more {
		if !s.in[c] {
			s.Add(c)
			added = append(added, c)
		}
	}
	broken, tree = s.Broken(targets), s.TreeFails()
	for _, c := range added {
		s.Remove(c)
	}
	return broken, tree
}

func (s *State) set(change int, in bool) {
	if s.in[change] == in {
		return
	}
	s.in[change] = in
	step := -1
	if in {
		step = 1
	}
	if t := s.w.Changes[change].BrokenTarget; t >= 0 {
		s.blame(t, step)
	}
	if s.w.Changes[change].BreaksTree {
		s.tree += step
	}
	for _, x := range s.mates[change] {
		if s.in[x] {
			s.tree += step
		}
	}
	for _, x := range s.foes[change] {
		if s.in[x.With] {
			s.blame(x.Target, step)
		}
	}
	for _, t := range s.pushed[change] {
		s.blame(t, step)
	}
}

func (s *State) blame(target, step int) {
	before := s.bad[target] > 0
	s.bad[target] += step
	switch after := s.bad[target] > 0; {
	case after && !before:
		s.red++
	case before && !after:
		s.red--
	}
}

// Flake reports whether a build reports a sound target as failed: a seeded draw
// that is the same for the same change, attempt and target; target -1 is the tree
// step.
func (w *World) Flake(change, attempt, target int) bool {
	if w.Flaky == 0 {
		return false
	}
	x := w.Seed ^ uint64(change)*0x9e3779b97f4a7c15 ^ uint64(attempt)*0xbf58476d1ce4e5b9 ^ uint64(target)*0x94d049bb133111eb
	return float64(mix(x)>>11)/(1<<53) < w.Flaky
}

// mix spreads the bits of a number (SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
