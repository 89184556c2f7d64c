package sim

// BuildMinutes returns how long one worker builds the targets of a change: all
// of them, its duration; some of them, the overhead and their share of the rest,
// but never less than the longest chain of one group needs. The targets must be
// the change's, sorted. The tree step, where there is one, is not part of it.
func (w *World) BuildMinutes(change int, targets []int) float64 {
	c := &w.Changes[change]
	if len(targets) == len(c.Targets) {
		return c.DurationMin
	}
	all, some, longest := 0.0, 0.0, 0.0
	for _, t := range c.Targets {
		all += w.Targets[t].CostMin
	}
	chains := make([]Target, 0, 8) // by group, its work; the last is the likeliest to go on
	for _, t := range targets {
		x := w.Targets[t]
		some += x.CostMin
		at := len(chains) - 1
		for at >= 0 && chains[at].Group != x.Group {
			at--
		}
		if at < 0 {
			chains = append(chains, x)
			at = len(chains) - 1
		} else {
			chains[at].CostMin += x.CostMin
		}
		longest = max(longest, chains[at].CostMin)
	}
	if some == 0 {
		return 0
	}
	work := max(0, c.DurationMin-w.OverheadMin)
	return w.OverheadMin + min(work, max(work/all*some, longest))
}

// Finished returns how many of the targets, in order, a build that was aborted
// after it ran for some of its minutes has finished: by the share of their cost.
func (w *World) Finished(targets []int, ran, minutes float64) int {
	if ran >= minutes {
		return len(targets)
	}
	all := 0.0
	for _, t := range targets {
		all += w.Targets[t].CostMin
	}
	done := 0.0
	for i, t := range targets {
		done += w.Targets[t].CostMin
		if done > all*ran/minutes {
			return i
		}
	}
	return len(targets)
}
