package sim

// BuildMinutes returns how long one worker builds targets of a change. All of them take
// its duration; some of them take the overhead and their share of the rest, but never
// less than the longest chain of one group. The targets must be the change's, sorted.
// The tree step, if there is one, is not part of it.
func (w *World) BuildMinutes(change int, targets []int) float64 {
	c := &w.Changes[change]
	if len(targets) == len(c.Targets) {
		return c.DurationMin
	}
	all, some, longest := 0.0, 0.0, 0.0
	for _, t := range c.Targets {
		all += w.Targets[t].CostMin
	}
	chains := make([]Target, 0, 8) // by group: its work; the last group is the likeliest to continue
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

// BatchMinutes returns how long one worker builds targets of several changes at
// once, by the rule of BuildMinutes on the union of their targets. It adds up the
// overhead once, and then the work of each change's part, one after the other, but
// never less than the longest chain of one group. A target that several of them affect
// is built once, at the pace of the slowest of these. The targets must be sorted, and
// each a target of one of the changes.
func (w *World) BatchMinutes(changes, targets []int) float64 {
	if len(changes) == 1 {
		return w.BuildMinutes(changes[0], targets)
	}
	if len(targets) == 0 {
		return 0
	}
	pace, whole := map[int]float64{}, 0.0 // by target: minutes for each unit of its cost
	for _, c := range changes {
		x := &w.Changes[c]
		all, work := 0.0, max(0, x.DurationMin-w.OverheadMin)
		for _, t := range x.Targets {
			all += w.Targets[t].CostMin
		}
		whole += work
		for _, t := range x.Targets {
			pace[t] = max(pace[t], work/all)
		}
	}
	work, longest, chains := 0.0, 0.0, map[int]float64{}
	for _, t := range targets {
		x := w.Targets[t]
		work += x.CostMin * pace[t]
		chains[x.Group] += x.CostMin
		longest = max(longest, chains[x.Group])
	}
	return w.OverheadMin + min(whole, max(work, longest))
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
