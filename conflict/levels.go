package conflict

// span is where the dependencies of a target are in a list of all.
type span struct{ from, to uint32 }

// nothing is the span of a name that no target has.
var nothing = span{1, 0}

// levelsOf finds the level of each target of a whole graph without cycles: one
// above all targets that it depends on. Most graphs have no cycle, and one pass
// through flat lists takes a fraction of the time of the search for components.
// It reports false where there is a cycle. All lists but deps are by number;
// level is zero, and stays so for a name that is no target.
func levelsOf(ids []uint32, spans []span, deps, level []uint32) bool {
	const open = ^uint32(0)
	type visit struct{ id, next, end, below uint32 }
	var calls []visit
	for _, id := range ids {
		if level[id] != 0 {
			continue
		}
		level[id] = open
		top := visit{id: id, next: spans[id].from, end: spans[id].to}
		for {
			if top.next < top.end {
				d := deps[top.next]
				top.next++
				switch l := level[d]; l {
				case 0:
					at := spans[d]
					if at == nothing {
						continue
					}
					if at.from == at.to {
						level[d] = 1
						top.below = max(top.below, 1)
						continue
					}
					level[d] = open
					calls = append(calls, top)
					top = visit{id: d, next: at.from, end: at.to}
				case open:
					return false
				default:
					top.below = max(top.below, l)
				}
				continue
			}
			done := top.below + 1
			level[top.id] = done
			if len(calls) == 0 {
				break
			}
			top = calls[len(calls)-1]
			calls = calls[:len(calls)-1]
			top.below = max(top.below, done)
		}
	}
	return true
}
