package speculation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// edits are what changes do: harmless, red alone, red together, healing,
// editing steps, breaking the configuration, touching what no target owns.
func edits() []edit {
	return []edit{
		{"a/code": "fine"}, {"b/code": "fine"}, {"c/code": "more"}, {"d/code": "more"},
		{"a/code": "p"}, {"b/code": "q"}, {"c/code": "r"}, {"d/code": "q"}, {"c/code": "p"}, {"d/code": "r"},
		{"a/code": "p", "c/code": "s"}, {"b/code": "bad"}, {"a/code": "bad"}, {"b/code": "heal"}, {"c/code": "heal s"},
		{"x/a": "one -text"}, {"x/a": "two -text"}, {"x/b": "three", "a/code": "fine"}, {"x/none": "four"}, {"x/none": "five", "a/code": "fine"},
		{"u/shared": "danger"}, {"u/shared": "p"}, {"docs/readme": "words"},
		{stepsFile: "race:go-test-json:targets:race"}, {stepsFile: "-" + unit + " unit:go-test-json:targets:test2"},
		{stepsFile: "all:exit-code:repository:all"}, {stepsFile: "oops:exit-code:targets:broken"}, {stepsFile: "?"},
		{barrier: "go2"}, {"b/code": "deleted"}, {"d/code": "ugly"},
	}
}

// edit is what a change does to a tree.
func (h *history) edit(t tree) edit {
	if h.draw != nil {
		return h.draw(t)
	}
	return h.shift(t, h.smuggle(edits()[h.pick(len(edits()), "edit")]))
}

// person is something that people do.
func (h *history) person() {
	h.Helper()
	if h.requires && h.chance(30, "requirements") {
		h.flap()
		return
	}
	if h.guards && h.chance(40, "guarded") {
		if h.chance(50, "approves") {
			h.approve(h.somePull())
		} else {
			h.cross()
		}
		return
	}
	switch n := h.pick(100, "deed"); {
	case n < 55:
		h.ask()
	case n < 70:
		h.again()
	case n < 78:
		h.pushHead()
	case n < 82:
		h.closePull()
	case n < 85:
		h.pause()
	case n < 87:
		h.takeBack()
	case n < 92:
		h.refuses = !h.refuses
		h.logf("## protection refuses: %t", h.refuses)
	case n < 95:
		h.tell([]queue.Body{queue.Access{Lost: "suspended"}, queue.Access{}, queue.Access{Moved: true}}[h.pick(3, "access")])
	default:
		h.tell(queue.Capacity{Slots: h.pick(7, "slots")})
		h.hostsCome()
	}
}

// ask opens a pull request on main as it is or was, and says /land.
func (h *history) ask() {
	h.Helper()
	line := h.line(h.main)
	from := line[min(len(line)-1, h.pick(3, "age"))]
	e := h.edit(from.tree)
	if h.chance(15, "revert") && from.parent != "" {
		p := &pull{number: len(h.pulls) + 1, open: true, base: "main"}
		p.head = h.put(commit{parent: h.main, tree: h.commits[h.commits[h.main].parent2()].tree}).id
		h.pulls[p.number] = p
		h.logf("## pull %d reverts", p.number)
		h.step(h.say(p, "dev", "/land"))
		return
	}
	p := (*pull)(nil)
	if low := h.somePull(); low != nil && h.chance(h.stacky, "stack") {
		p = h.openOn(low, e)
		if h.native {
			h.inOneStack(p, low)
		}
	} else {
		p = h.open(from.id, e)
	}
	for len(h.rules.Methods) > 0 && h.chance(40, "another commit") {
		more := []edit{h.edit(h.commits[p.head].tree)}
		if h.chance(h.detours, "detour") { // red on the way, and not at its end
			more = []edit{{fileOf("a"): "bad"}, {fileOf("a"): "-bad detour"}}
		}
		if h.chance(25, "merges main") {
			h.update(p)
		}
		for _, e := range more {
			p.head = h.put(commit{parent: p.head, tree: h.commits[p.head].tree.with(e)}).id
			h.logf("## pull %d is at %s", p.number, p.head)
		}
	}
	if h.chance(h.stacky/4, "not asked for yet") {
		return
	}
	if h.guards && h.chance(50, "approved") {
		h.approve(p)
	}
	p.author = []string{"", "eve", "Eve", "eli"}[h.pick(4, "author")]
	h.step(h.say(p, "dev", "/land"+h.lane()+h.method()))
}

// parent2 is the parent, or the commit itself where there is none.
func (c *commit) parent2() queue.CommitID {
	if c.parent == "" {
		return c.id
	}
	return c.parent
}

// lane is what a command says of lanes, which may not be there.
func (h *history) lane() string {
	if len(h.rules.Lanes) == 0 || h.chance(50, "no lane") {
		return ""
	}
	return fmt.Sprintf(" priority=lane%d", h.pick(len(h.rules.Lanes)+1, "lane"))
}

func (h *history) somePull() *pull {
	if len(h.pulls) == 0 {
		return nil
	}
	return h.pulls[slices.Sorted(maps.Keys(h.pulls))[h.pick(len(h.pulls), "pull")]]
}

// again says something on a pull request that is there already.
func (h *history) again() {
	h.Helper()
	p := h.somePull()
	if p == nil {
		return
	}
	user := []string{"dev", "boss", "stranger"}[h.pick(3, "user")]
	if h.chance(20, "label") {
		h.step(h.label(p, "land", user))
		return
	}
	if h.chance(20, "lane label") {
		h.step(h.label(p, "land:lane"+fmt.Sprint(h.pick(4, "lane")), user))
		return
	}
	e := h.say(p, user, []string{"/land" + h.lane() + h.method(), "/land cancel", "/land retry" + h.lane(), "/land status", "/land\n/land", "/lnad", "/land try", "/land now it burns", "/land delegate @stranger", "/land undelegate", "/land explain"}[h.pick(11, "words")])
	h.step(e)
	if h.chance(20, "twice") {
		h.step(e)
	}
}

// label sets a label of a pull request, or takes it off, and returns the event that
// tells of it.
func (h *history) label(p *pull, name, user string) queue.Event {
	e := h.event(queue.Labeled{Number: p.number, Label: name, Actor: user, On: h.chance(70, "on")})
	p.commands = append(p.commands, e)
	return e
}

func (h *history) pushHead() {
	h.Helper()
	p := h.somePull()
	if p == nil {
		return
	}
	if h.chance(25, "update") {
		h.update(p)
		h.step(h.event(queue.HeadMoved{Number: p.number, Head: p.head}))
		return
	}
	e := h.edit(h.commits[p.head].tree)
	p.head = h.put(commit{parent: p.head, tree: h.commits[p.head].tree.with(e)}).id
	h.logf("## pull %d is now at %s", p.number, p.head)
	h.step(h.event(queue.HeadMoved{Number: p.number, Head: p.head}))
}

// update merges main into a pull request's branch, as its author or the forge's button
// does; what else the author does in that merge is in no other commit.
func (h *history) update(p *pull) {
	h.Helper()
	at := h.main
	if line := h.line(at); h.chance(30, "of before") {
		at = line[min(1, len(line)-1)].id
	}
	there := map[queue.CommitID]bool{}
	h.reach(p.head, there)
	merged, conflicts := merge3(h.mergeBase(at, p.head).tree, h.commits[p.head].tree, h.commits[at].tree)
	if there[at] || len(conflicts) > 0 {
		return
	}
	if h.chance(30, "more than that") {
		merged = merged.with(h.edit(merged))
	}
	p.head = h.put(commit{parent: p.head, merges: at, tree: merged}).id
	h.logf("## pull %d is at %s, which merges %s of main", p.number, p.head, at)
}

func (h *history) closePull() {
	h.Helper()
	p := h.somePull()
	if p == nil {
		return
	}
	if h.chance(30, "retarget") {
		p.draft = !p.draft
		h.tell(queue.Retargeted{Number: p.number})
		return
	}
	if h.chance(h.stacky/2, "other base") {
		p.base = "main"
		if low := h.somePull(); h.chance(50, "on another") {
			p.base = branchOf(low) // its own, or one on top of it: a circle
		}
		h.audit.moved[p.number] = true
		h.logf("## pull %d asks for %s", p.number, p.base)
		h.tell(queue.Retargeted{Number: p.number})
		return
	}
	if c, conflicts := h.merge(h.main, queue.Pick{Head: p.head}); p.open && p.base == "main" && len(conflicts) == 0 && h.chance(30, "merge button") {
		p.open, p.merged = false, true
		h.commitOutside(c.tree)
		h.tell(queue.Closed{Number: p.number, Merged: true})
		return
	}
	p.open = !p.open
	if !p.open {
		h.tell(queue.Closed{Number: p.number})
	}
}

func (h *history) pause() {
	h.Helper()
	p := h.somePull()
	if p == nil {
		return
	}
	h.step(h.say(p, "boss", []string{"/queue pause because", "/queue resume", "/queue freeze 10m"}[h.pick(3, "pause")]))
}

// takeBack has what is known of a target, a step or a key forgotten.
func (h *history) takeBack() {
	h.Helper()
	p := h.somePull()
	if p == nil {
		return
	}
	what := []string{"a", "b", "step=unit", "step=lint", "c step=unit", config.TargetTree}[h.pick(6, "forgotten")]
	if ids := derived.Sorted(h.core.State().Ledger); len(ids) > 0 && h.chance(30, "a key") {
		what = "key=" + string(ids[h.pick(min(len(ids), 20), "key")])[:16]
	}
	h.step(h.say(p, "boss", "/queue forget "+what))
}

// outside moves main without the queue.
func (h *history) outside() {
	h.Helper()
	switch h.pick(5, "outside") {
	case 0, 1:
		h.commitOutside(h.commits[h.main].tree.with(h.edit(h.commits[h.main].tree)))
	case 2:
		h.commitOutside(h.good)
	case 3: // a revert
		h.commitOutside(h.commits[h.commits[h.main].parent2()].tree)
	case 4:
		line := h.line(h.main)
		gone := 1 + h.pick(2, "gone")
		if gone >= len(line) {
			return
		}
		for _, c := range line[:gone] {
			for _, x := range c.carries() {
				h.audit.removed[x.Change] = true
			}
		}
		h.main = line[gone].id
		h.commitOutside(h.commits[h.main].tree.with(edit{"d/code": "forced"}))
	}
	if h.chance(80, "told") {
		h.mail = append(h.mail, h.event(queue.MainMoved{Branch: "main"}))
	}
}
