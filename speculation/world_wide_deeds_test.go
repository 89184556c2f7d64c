package speculation

import (
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func (x *wide) someone() string {
	return []string{"dev", "boss", "dev", "eve", "mia", "tri", "rea", "stranger", "good[bot]", "bad[bot]"}[x.pick(10, "who")]
}

// stamp has a word have the forge's time, at times, and be found later.
func (x *wide) stamp() (made queue.Instant, late bool, ago time.Duration) {
	switch n := x.pick(10, "heard"); {
	case n < 5:
		return x.now, false, 0
	case n < 8:
		return 0, false, 0
	case n == 8: // the webhook came an hour late
		ago = time.Duration(6+x.pick(60, "minutes")) * minute
		return x.now.Add(-ago), false, ago
	default:
		ago = time.Duration(1+x.pick(60, "minutes")) * minute
		return x.now.Add(-ago), true, ago
	}
}

// words are all commands.
func (x *wide) words() string {
	forms := []string{
		"/land" + x.lane() + x.method(), "/land", "/land cancel", "/land retry" + x.lane(), "/land status", "/land help", "/land try" + x.method(), "/land explain" + x.method(),
		"/land now it burns", "/land delegate @stranger", "/land delegate @rea", "/land undelegate", "/land undelegate @stranger", "/lnad", "/land priority=nowhere", "/land\n/land cancel", "/land cancel\n/land", "/land try\n/land",
		"/queue pause because", "/queue resume", "/queue freeze 10m", "/queue freeze 2h", "/queue freeze yesterday", "/queue freeze 00:00 midnight", "/queue blame", "/queue forget a", "/queue forget step=unit", "/queue model newest", "/queue model none", "/queue model 1", "/queue model learn", "/queue",
	}
	return forms[x.pick(len(forms), "words")]
}

// command has somebody give a command, in any way.
func (x *wide) command() {
	x.Helper()
	p := x.somePull()
	if p == nil {
		x.ask()
		return
	}
	user, text := x.someone(), x.words()
	if x.chance(40, "in earnest") { // of what most say
		user, text = []string{"dev", "eve", "boss"}[x.pick(3, "who")], []string{"/land" + x.lane() + x.method(), "/land cancel", "/land retry", "/land try", "/land now it burns"}[x.pick(5, "words")]
	}
	bot := strings.HasSuffix(user, "[bot]")
	switch how := x.pick(12, "how"); {
	case how == 0 && strings.HasPrefix(text, "/queue"):
		e := x.event(queue.Commented{Author: user, Body: text, Bot: bot})
		x.step(e)
	case how == 1: // a button of the check
		head := x.shows(p)
		if x.chance(20, "of before") {
			if c := x.commits[head]; c.parent != "" {
				head = c.parent
			}
		}
		e := x.event(queue.Commented{Number: p.number, Author: user, Bot: bot, Body: []string{"/land", "/land retry", "/land cancel"}[x.pick(3, "button")], Head: head})
		p.commands = append(p.commands, e)
		x.asks(p, user, head)
		x.unsure(p)
		x.step(e)
	case how == 2: // the box of the comment
		said := p.said
		if x.chance(15, "of before") {
			said.Text = "before"
		}
		made, _, _ := x.stamp()
		x.asks(p, user)
		x.unsure(p)
		e := x.event(queue.Edited{Number: p.number, Author: user, Bot: bot, Before: said, Command: []string{"/land", "/land retry", "/land cancel", ""}[x.pick(4, "box")], Made: made})
		x.step(e)
	case how == 3 || how == 4:
		x.asks(p, user)
		x.unsure(p)
		x.labels(p, user)
	default:
		e := x.say(p, user, text)
		b := e.Body.(queue.Commented)
		b.Bot = bot
		made, late, ago := x.stamp()
		b.Made, b.Late = made, late
		if late || ago > 0 {
			x.unsure(p)
		}
		e.Body = b
		p.commands[len(p.commands)-1] = e
		switch {
		case x.chance(10, "later"):
			x.unsure(p)
			x.blurred[p.number] = x.blurred[p.number] || b.Made == 0 // of the head that it is heard at
			x.mail = append(x.mail, e)
		default:
			x.step(e)
		}
		if x.chance(8, "twice") {
			x.step(e)
		}
	}
}

// labels sets or takes off a label of a pull request.
func (x *wide) labels(p *pull, user string) {
	x.Helper()
	name := []string{"land", "land", "land:lane0", "land:lane1", "hold", "urgent", "ready", "Ready", "other", "assigned"}[x.pick(10, "label")]
	on := x.chance(65, "on")
	made, late, _ := x.stamp()
	e := x.event(queue.Labeled{Number: p.number, Label: name, Actor: user, On: on, Bot: strings.HasSuffix(user, "[bot]"), Made: made, Late: late})
	b := e.Body.(queue.Labeled)
	p.changed = x.now
	set := strings.ToLower(name)
	p.labels = slices.DeleteFunc(slices.Clone(p.labels), func(l string) bool { return strings.EqualFold(l, set) })
	if on {
		p.labels = append(p.labels, name)
	}
	switch set {
	case "assigned":
		b.Label, b.Assigned = "", true
	case "hold":
		p.lacks = slices.DeleteFunc(slices.Clone(p.lacks), func(r queue.Requirement) bool { return r.Kind == queue.RequireNoLabel })
		if on && x.requires && slices.Contains(x.rules.BlockingLabels, "hold") {
			p.lacks = append(p.lacks, queue.Requirement{Kind: queue.RequireNoLabel, Names: []string{"hold"}})
		}
	case "urgent":
		if p.spared = nil; on {
			p.spared = []string{"urgent"}
		}
	}
	e.Body = b
	said := []queue.Event{e}
	if len(x.rules.Auto) > 0 && x.chance(80, "offered") {
		said = append(said, x.event(x.offers(p)))
	}
	if x.chance(15, "later") {
		x.blurred[p.number] = true // of the head that it is heard at
		x.mail = append(x.mail, said...)
		return
	}
	x.step(said...)
}

// offers is what a webhook or a list shows, by the forge's clock.
func (x *wide) offers(p *pull) queue.Offered {
	o := x.offer(p)
	if x.chance(60, "with the time") {
		o.At = x.now
	}
	return o
}

// pushes has somebody push to a pull request, and the queue hear of it, late or not.
func (x *wide) pushes() {
	x.Helper()
	p := x.somePull()
	if p == nil {
		return
	}
	before := p.head
	if x.chance(20, "update") {
		x.update(p)
	} else if x.chance(15, "back") {
		if c := x.commits[p.head]; c.parent != "" && x.commits[c.parent].parent != "" {
			p.head = c.parent // by force
		}
	} else {
		p.head = x.put(commit{parent: p.head, tree: x.commits[p.head].tree.with(x.edit(x.commits[p.head].tree))}).id
	}
	if p.head == before {
		return
	}
	x.moved[p.number], p.changed = x.now, x.now
	x.ends(p, queue.ReasonPushed)
	x.logf("## pull %d is now at %s", p.number, p.head)
	by := []string{"", "dev", "eve"}[x.pick(3, "by")]
	moved := queue.HeadMoved{Number: p.number, Head: p.head, By: by}
	if by != "" {
		moved.Made = x.now
	}
	said := []queue.Event{x.event(moved)}
	if len(x.rules.Auto) > 0 && x.chance(70, "offered") {
		said = append(said, x.event(x.offers(p)))
	}
	if by != "" {
		x.asks(p, by) // of before, too
	}
	if by != "" && x.chance(40, "and asks to land it") {
		said = append(said, x.say(p, by, "/land"+x.method()))
		x.unsure(p)
		if x.chance(50, "the word first") {
			slices.Reverse(said)
		}
	}
	switch n := x.pick(10, "heard"); {
	case n == 0:
		x.blurred[p.number] = true
	case n == 1:
		x.blurred[p.number] = x.blurred[p.number] || by == "" || x.untimed(p)
		x.mail = append(x.mail, said...)
	case n < 6:
		x.blurred[p.number] = x.blurred[p.number] || by == "" && x.isTold(p)
		x.step(said...)
	default:
		x.blurred[p.number] = x.blurred[p.number] || by == "" && x.isTold(p)
		for _, e := range said {
			x.step(e)
		}
	}
}

// untimed reports whether the queue has not followed a command yet that it does not know the time of.
func (x *wide) untimed(p *pull) bool {
	for _, r := range x.core.State().Requests {
		if (r.Number == p.number || x.native) && r.Made == 0 {
			return true
		}
	}
	return false
}

// isTold reports whether a command on a pull request is on its way to the queue.
func (x *wide) isTold(p *pull) bool {
	return slices.ContainsFunc(x.mail, func(e queue.Event) bool {
		switch b := e.Body.(type) {
		case queue.Commented:
			return b.Number == p.number || x.native
		case queue.Labeled:
			return b.Number == p.number || x.native
		}
		return false
	})
}

// reshapes changes something of a pull request besides its head.
func (x *wide) reshapes() {
	x.Helper()
	p := x.somePull()
	if p == nil {
		return
	}
	switch n := x.pick(20, "turn"); {
	case n < 4:
		p.draft = !p.draft
		x.ends(p, queue.ReasonDraft)
		x.hears(queue.Retargeted{Number: p.number}, x.offers(p))
	case n < 8:
		if x.missing[p.number] {
			return
		}
		if p.open = !p.open; p.open {
			p.merged = false
			x.hears(x.offers(p))
			return
		}
		x.ends(p, queue.ReasonClosed)
		x.hears(queue.Closed{Number: p.number})
	case n < 11 && p.native == 0:
		p.base = []string{"main", "other"}[x.pick(2, "base")]
		if low := x.somePull(); x.chance(40, "on another") {
			p.base = branchOf(low)
		}
		x.audit.moved[p.number] = true
		x.logf("## pull %d asks for %s", p.number, p.base)
		x.ends(p, queue.ReasonRetargeted)
		x.hears(queue.Retargeted{Number: p.number})
	case n == 11:
		x.missing[p.number], p.open = true, false
		x.ends(p, queue.ReasonClosed)
		x.logf("## pull %d is deleted", p.number)
	case n == 12 && p.open && p.base == "main":
		if c, conflicts := x.merge(x.main, queue.Pick{Head: p.head}); len(conflicts) == 0 {
			p.open, p.merged = false, true
			x.ends(p, queue.ReasonClosed)
			x.commitOutside(c.tree)
			x.hears(queue.Closed{Number: p.number, Merged: true})
		}
	case n == 13:
		p.green = !p.green
		x.hears(queue.Stirred{Head: p.head})
	case x.requires:
		x.flap()
	}
}

// ends notes that something came true that takes a pull request out.
func (x *wide) ends(p *pull, why queue.ReasonCode) {
	if x.ended[p.number] == nil {
		x.ended[p.number] = map[queue.ReasonCode]bool{}
	}
	x.ended[p.number][why] = true
}

// demote changes what somebody may do.
func (x *wide) demote() {
	user := []string{"dev", "eve", "rea"}[x.pick(3, "who")]
	roles := map[string]string{}
	for u, r := range x.roles {
		roles[u] = r
	}
	roles[user] = []string{"none", "read", "write", "admin", people[user], people[user]}[x.pick(6, "role")]
	x.roles = roles
	x.logf("## %s is %s", user, roles[user])
}

// rename gives main another name.
func (x *wide) rename() {
	x.Helper()
	if x.branch = []string{"main", "trunk"}[x.pick(2, "name")]; x.branch == x.core.State().Main.Branch && x.core.State().Main.Renamed == "" {
		return
	}
	x.follows = x.chance(60, "follows")
	x.logf("## main is called %s", x.branch)
	if x.chance(70, "told") {
		x.tell(queue.Access{Moved: true})
	}
}

// sets changes main's configuration.
func (x *wide) sets() {
	x.Helper()
	r, may := x.rules, x.permissions
	switch x.pick(16, "setting") {
	case 0:
		r.Freeze = nil
		if x.chance(60, "freeze") {
			r.Freeze = []config.Freeze{{Cron: "0 * * * *", For: time.Duration(1+x.pick(50, "minutes")) * minute, Reason: "each hour",
				Except: config.FreezeExcept{Lanes: []string{"lane0"}, Labels: []string{"urgent"}, Paths: []string{"a/**"}}}}
		}
	case 1:
		r.Auto = nil
		if x.chance(60, "auto") {
			r.Auto = autoRules("").Auto
		}
	case 2:
		r.ParkedLimit = []time.Duration{time.Hour, 7 * 24 * time.Hour}[x.pick(2, "limit")]
	case 3:
		if r.BlockingLabels = nil; x.chance(50, "blocking") {
			r.BlockingLabels = []string{"hold"}
		}
	case 4:
		r.Label = []string{"land", "queue"}[x.pick(2, "label")]
	case 5:
		may.Land = []config.Who{"", "write", "maintain", "dev"}[x.pick(4, "land")]
	case 6:
		may.Bots = [][]string{nil, {"good[bot]"}}[x.pick(2, "bots")]
	case 7:
		may.Queue = []config.Who{"", "admin"}[x.pick(2, "queue")]
	case 8:
		r.Assignment = []config.Assignment{"", config.AssignmentOff}[x.pick(2, "assignment")]
	case 9:
		r.Checkbox = []config.Checkbox{"", config.CheckboxOff}[x.pick(2, "checkbox")]
	case 10:
		r.NowPerDay = 1 + x.pick(2, "now")
	case 11:
		r.RedMain.Revert = []config.RevertPolicy{config.RevertOff, config.RevertPrepare, config.RevertPropose, config.RevertLand}[x.pick(4, "revert")]
	case 12:
		r.Head = []config.Head{"", config.HeadLeave}[x.pick(2, "head")]
	case 13:
		if x.guards {
			may.Protected = [][]string{{"p/**"}, {"p/**", "q/**"}}[x.pick(2, "globs")]
		}
	case 14:
		may.Now, may.Try, may.Delegate = "maintain", "triage", "maintain"
	default:
		x.configure()
		return
	}
	x.rules, x.permissions = r, may
	x.logf("## configured: %+v %+v", r, may)
	if x.chance(70, "told") {
		x.tell(queue.MainMoved{Branch: "main"})
	}
}

// trouble is what happens to the forge.
func (x *wide) trouble() {
	x.Helper()
	switch x.pick(5, "trouble") {
	case 0:
		x.refuses = !x.refuses
		x.logf("## protection refuses: %t", x.refuses)
	case 1:
		x.tell([]queue.Body{queue.Access{Lost: "suspended"}, queue.Access{}, queue.Access{Moved: true}}[x.pick(3, "access")])
	case 2, 3:
		x.tell(queue.Capacity{Slots: x.pick(7, "slots"), Forge: x.pick(3, "forge")})
		x.now++
		x.hostsCome()
	case 4:
		for range 1 + x.pick(3, "failed") {
			if len(x.waits) == 0 {
				return
			}
			i := x.pick(min(len(x.waits), 100), "action")
			a := x.waits[i]
			x.waits = slices.Delete(slices.Clone(x.waits), i, i+1)
			x.tell(queue.Failed{Action: a.Key, Error: "502", Transient: true, Outage: true, After: time.Duration(x.pick(3, "after")) * minute})
		}
	}
}

// deed is something that people do, or that happens to the forge.
func (x *wide) deed() {
	x.Helper()
	switch n := x.pick(100, "deed"); {
	case n < 28:
		x.ask()
	case n < 56:
		x.command()
	case n < 66:
		x.pushes()
	case n < 78:
		x.reshapes()
	case n < 80:
		x.demote()
	case n < 85:
		x.sets()
	case n < 86:
		x.rename()
	case n < 89:
		x.takeBack()
	case n < 94:
		x.trouble()
	case n < 97 && x.guards:
		if x.chance(50, "approves") {
			x.approve(x.somePull())
		} else {
			x.cross()
		}
	case n < 97 && x.native:
		x.restackSome()
	case n < 99 && x.everything:
		x.redden()
	default:
		x.elapse()
	}
}
