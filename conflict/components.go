package conflict

// components finds the strongly connected components of a graph, by Tarjan's
// algorithm, and the level of each node: above those of all that it depends on
// outside of its component.
type components struct {
	recs    *vector[*record]
	inside  func(id uint32) bool // whether a node is part of the graph
	outside *vector[uint32]      // levels of the other nodes
	cycles  [][]uint32           // components of several nodes, and nodes that depend on themselves

	// Places say in which order nodes were entered, from first on; first itself
	// says that a node needs no second look, and low is its level then.
	at    []spotted
	first uint32
	next  uint32
	stack []uint32
	calls []call
}

// spotted is what is known of a node.
type spotted struct{ place, low uint32 }

// call is a visit that waits for another.
type call struct {
	id    uint32
	next  int32 // dependency to look at
	level uint32
	deps  []uint32
}

// visit finds the components of a node of the graph and of all nodes that it needs.
func (c *components) visit(id uint32) {
	if c.at[id].place >= c.first {
		return
	}
	c.enter(id)
	for len(c.calls) > 0 {
		top := &c.calls[len(c.calls)-1]
		if int(top.next) < len(top.deps) {
			d := top.deps[top.next]
			top.next++
			if d == top.id {
				c.cycles = append(c.cycles, []uint32{d})
				continue
			}
			switch at := &c.at[d]; {
			case at.place > c.first:
				low := &c.at[top.id].low
				*low = min(*low, at.place)
			case at.place == c.first:
				top.level = max(top.level, at.low)
			case !c.inside(d):
				*at = spotted{c.first, c.outside.at(d)}
				top.level = max(top.level, at.low)
			case len(c.recs.at(d).deps) == 0:
				*at = spotted{c.first, 1}
				top.level = max(top.level, 1)
			default:
				c.enter(d)
			}
			continue
		}
		done := *top
		c.calls = c.calls[:len(c.calls)-1]
		if at := c.at[done.id]; at.low == at.place {
			done.level++
			c.complete(done.id, done.level)
		} else {
			low := &c.at[c.calls[len(c.calls)-1].id].low
			*low = min(*low, at.low)
		}
		if len(c.calls) > 0 {
			above := &c.calls[len(c.calls)-1].level
			*above = max(*above, done.level)
		}
	}
}

func (c *components) enter(id uint32) {
	c.at[id] = spotted{c.next, c.next}
	c.next++
	c.stack = append(c.stack, id)
	c.calls = append(c.calls, call{id: id, deps: c.recs.at(id).deps})
}

func (c *components) complete(id, level uint32) {
	from := len(c.stack) - 1
	for c.stack[from] != id {
		from--
	}
	for _, member := range c.stack[from:] {
		c.at[member] = spotted{c.first, level}
	}
	if len(c.stack)-from > 1 {
		c.cycles = append(c.cycles, append([]uint32(nil), c.stack[from:]...))
	}
	c.stack = c.stack[:from]
}
