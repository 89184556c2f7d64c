package sim

// gate is a queue in which each change is built on all changes ahead of it that are not
// failing. Zuul, GitHub and GitLab are such queues with different limits.
type gate struct {
	*engine
	graph  *Graph
	window int  // how many of the undecided changes may be built
	floor  int  // smallest window; 0: the window does not move
	eager  bool // a failure is final at once, on any base

	changes []gateChange
	pending []int // undecided, by arrival
}

// gateChange is the gate's record of a change.
type gateChange struct {
	ahead   int  // undecided changes ahead
	result  bool // it was built on what is assumed now
	failing bool // and failed
	run     *build
}

func runGate(e *engine, g *Graph, limits gate) (*Outcome, error) {
	limits.engine, limits.graph, limits.changes = e, g, make([]gateChange, len(e.w.Changes))
	return e.run(&limits)
}

func (g *gate) arrived(c int) {
	g.pending = append(g.pending, c)
	for _, a := range g.graph.Earlier[c] {
		if !g.decided[a] {
			g.changes[c].ahead++
		}
	}
}

func (g *gate) ended(b *build) {
	c := b.changes[0]
	x := &g.changes[c]
	x.run, x.result = nil, true
	if b.failed {
		x.failing = true
		g.rebase(c)
	}
}

func (g *gate) voided(c int) { g.reset(c) }

// reset forgets the result of a change: its base has changed.
func (g *gate) reset(c int) {
	x := &g.changes[c]
	x.result, x.run = false, nil
	for len(g.current[c]) > 0 {
		g.stop(g.current[c][0])
	}
	if x.failing {
		x.failing = false
		g.rebase(c)
	}
}

// rebase forgets the results of the changes behind a change: they are now built with
// it, or without it. Their builds stop, so the base of a build that ends is always the
// one assumed at its end.
func (g *gate) rebase(c int) {
	for _, d := range g.graph.Later[c] {
		if d >= g.arrivals {
			return
		}
		if !g.decided[d] {
			g.reset(d)
		}
	}
}

func (g *gate) plan() {
	g.report()
	g.shrink()
	for i, c := range g.pending {
		if i >= g.window || g.free == 0 {
			return
		}
		x := &g.changes[c]
		if x.result || x.run != nil {
			continue
		}
		var assumed []int
		for _, a := range g.graph.Earlier[c] {
			if !g.decided[a] && !g.changes[a].failing {
				assumed = append(assumed, a)
			}
		}
		x.run = g.start([]int{c}, assumed, 0)
	}
}

// shrink stops builds outside a window that has become smaller.
func (g *gate) shrink() {
	if g.floor == 0 || len(g.pending) <= g.window {
		return
	}
	for _, c := range g.pending[g.window:] {
		if x := &g.changes[c]; x.run != nil {
			g.stop(x.run)
			x.run = nil
		}
	}
}

// report decides, from the front, changes with a result and no change ahead.
func (g *gate) report() {
	kept := g.pending[:0]
	for _, c := range g.pending {
		x := &g.changes[c]
		if !x.result || x.ahead > 0 && !(g.eager && x.failing) {
			kept = append(kept, c)
			continue
		}
		g.decide(c, !x.failing)
		for _, d := range g.graph.Later[c] {
			if d >= g.arrivals {
				break
			}
			g.changes[d].ahead--
		}
		switch {
		case g.floor == 0:
		case x.failing:
			g.window = max(g.floor, g.window/2)
		default:
			g.window++
		}
	}
	g.pending = kept
}
