package speculation

import (
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// word is what somebody has said last of a pull request, or of all landings, and how the world
// knows that the queue has heard it.
type word struct {
	verb queue.Verb // "": it is not known which word was the last
	user string
	id   string // of the comment
	head queue.CommitID
	at   queue.Instant
}

// watched is what the audit of wide histories remembers.
type watched struct {
	asked  map[int]map[queue.CommitID]map[string]bool // heads that were asked to land, by whom
	last   map[int]word
	ruled  word                           // of pauses
	phases map[queue.ChangeID]queue.Phase // as of the turn before
	parked map[queue.ChangeID]queue.Instant
	often  map[string][]queue.Instant // when an action was asked for
	known  map[int]queue.Inspected    // what the queue was last told of pull requests
}

func newWatched() *watched {
	return &watched{asked: map[int]map[queue.CommitID]map[string]bool{}, last: map[int]word{}, phases: map[queue.ChangeID]queue.Phase{},
		parked: map[queue.ChangeID]queue.Instant{}, often: map[string][]queue.Instant{}, known: map[int]queue.Inspected{}}
}

// word takes in what somebody says, and the queue hears at once.
func (x *wide) word(p *pull, user, text, id string) {
	if x == nil {
		return
	}
	x.asks(p, user)
	verb := queue.Verb("")
	if cmds := queue.Commands().Parse(text); len(cmds) == 1 {
		verb = cmds[0].Verb
	}
	able := slices.Contains([]string{"write", "maintain", "admin"}, x.roleOf(user)) && !strings.HasSuffix(user, "[bot]")
	said := word{verb, user, id, x.shows(p), x.now}
	switch verb {
	case queue.CommandLand, queue.CommandCancel:
		if able {
			x.watched.last[p.number] = said
		} else {
			x.watched.last[p.number] = word{}
		}
	case queue.CommandPause, queue.CommandResume:
		if x.watched.ruled = (word{}); user == "boss" {
			x.watched.ruled = said
		}
	case queue.CommandFreeze:
		x.watched.ruled = word{}
	}
	if verb != queue.CommandLand && verb != queue.CommandCancel {
		x.watched.last[p.number] = word{} // its answer may take the place of another
	}
}

// unsure says that it is not known when the queue hears a word, or of which head it is taken to be.
func (x *wide) unsure(p *pull) {
	x.watched.last[p.number], x.watched.ruled = word{}, word{}
}

// asks notes that somebody has said something about a head of a pull request that may land it, or about
// one that a button names.
func (x *wide) asks(p *pull, user string, named ...queue.CommitID) {
	of := x.watched.asked[p.number]
	if of == nil {
		of = map[queue.CommitID]map[string]bool{}
		x.watched.asked[p.number] = of
	}
	for _, head := range append(named, p.head, x.shows(p)) {
		if of[head] == nil {
			of[head] = map[string]bool{}
		}
		of[head][user] = true
	}
}

// hasAsked reports whether somebody has asked for a head, or for one that was the same commits on others.
func (x *wide) hasAsked(ch *queue.Change) bool {
	numbers := []int{ch.Number}
	if x.native { // who asks for a member asks for those below
		numbers = derived.Sorted(x.pulls)
	}
	for _, n := range numbers {
		for head, by := range x.watched.asked[n] {
			if by[ch.Requester] && (n != ch.Number || head == ch.Head || slices.Contains(x.same[ch.Head], head)) {
				return true
			}
		}
	}
	return false
}

// untold reports whether the queue has not heard yet that a head was pushed.
func (x *wide) untold(ch *queue.Change) bool {
	return slices.ContainsFunc(x.mail, func(e queue.Event) bool {
		b, is := e.Body.(queue.HeadMoved)
		return is && b.Number == ch.Number && b.Head == ch.Head
	})
}

// underway reports whether the answer to an inspection is on its way to the queue.
func (x *wide) underway(action string) bool {
	return slices.ContainsFunc(x.mail, func(e queue.Event) bool {
		b, is := e.Body.(queue.Inspected)
		return is && b.Action == action
	})
}

// awaits reports whether a word still waits for its answer.
func (x *wide) awaits(id string) bool {
	for _, r := range x.core.State().Requests {
		if strings.HasPrefix(r.ID, id+"#") {
			return true
		}
	}
	return false
}

// looks is the audit of each turn.
func (x *wide) looks() {
	x.Helper()
	s, a := x.core.State(), x.watched
	for _, id := range derived.Sorted(s.Changes) {
		ch := s.Changes[id]
		was, had := a.phases[id]
		if a.phases[id] = ch.Phase; had && was == ch.Phase || x.audit.lossy {
			continue
		}
		switch ch.Phase {
		case queue.Landing:
			x.boards(ch)
		case queue.Parked:
			if a.parked[id] == 0 {
				a.parked[id] = x.now
			}
		case queue.Cancelled:
			x.takenOut(ch)
		}
	}
	if m := s.Main.Paused; a.ruled.verb != "" && !x.awaits(a.ruled.id) && !x.audit.lossy && x.answered(a.ruled) {
		switch byPerson := m != nil && m.By != "submitqueue"; {
		case a.ruled.verb == queue.CommandPause && m == nil:
			x.Fatalf("landings go on, and %s has paused them at %s", a.ruled.user, a.ruled.at.Time())
		case a.ruled.verb == queue.CommandResume && byPerson:
			x.Fatalf("landings are paused, and %s has resumed them at %s: %+v", a.ruled.user, a.ruled.at.Time(), m)
		}
	}
}

// answered reports whether a word was heard and was not given back.
func (x *wide) answered(w word) bool {
	for _, p := range x.core.State().Pulls {
		if p.Notice.Code == queue.ReasonForge && p.NoticeTo == w.user {
			return false
		}
	}
	return true
}

// boards demands of a change that is about to land that somebody has asked for it, and nobody has
// taken it back.
func (x *wide) boards(ch *queue.Change) {
	x.Helper()
	if !ch.Own && !x.hasAsked(ch) && !x.blurred[ch.Number] && !x.untold(ch) {
		x.Fatalf("%s lands at %s for %s, who has asked for %v", ch.ID, ch.Head, ch.Requester, x.watched.asked[ch.Number])
	}
	if w := x.watched.last[ch.Number]; w.verb == queue.CommandCancel && !x.awaits(w.id) && x.answered(w) && ch.Arrival <= w.at && !ch.Own {
		x.Fatalf("%s lands, and %s has taken it back at %s", ch.ID, w.user, w.at.Time())
	}
	if in, has := x.watched.known[ch.Number]; has && !x.underway(in.Action) && (!in.Open || in.Base == "other" || in.Draft) && !ch.Own {
		x.Fatalf("%s lands, and the queue was told that its pull request is open %t, a draft %t, and asks for %s", ch.ID, in.Open, in.Draft, in.Base)
	}
	m := x.core.State().Main
	if m.Paused != nil && m.Paused.Window == nil && m.Paused.Code != queue.ReasonProtected && (m.Paused.Until == 0 || ch.Now == nil) {
		x.Fatalf("%s lands, and landings are paused: %+v", ch.ID, m.Paused)
	}
	if m.Config != nil && ch.Now == nil {
		for _, f := range m.Config.Queue.Freeze {
			for _, w := range f.Windows(x.now.Time(), 1) {
				if queue.At(w.Start) <= x.now && queue.At(w.Start) > m.Resumed && !x.excepts(f.Except, ch) {
					x.Fatalf("%s lands in a freeze: %+v", ch.ID, f)
				}
			}
		}
	}
}

func (x *wide) excepts(e config.FreezeExcept, ch *queue.Change) bool {
	var paths []string
	if f := x.core.State().Footprints[ch.ID]; f != nil {
		paths = f.Paths
	}
	return e.Lets(ch.Lane, ch.Spared, paths)
}

// takenOut demands that a change is taken out for something that has happened.
func (x *wide) takenOut(ch *queue.Change) {
	x.Helper()
	p, why := x.pulls[ch.Number], ch.Reason
	if p == nil {
		return // a revert that was tried
	}
	is := x.ended[ch.Number][why.Code]
	switch why.Code {
	case queue.ReasonClosed:
		is = is || !p.open || p.merged
	case queue.ReasonPushed:
		is = is || p.head != ch.Head || x.branches != nil
	case queue.ReasonDraft:
	case queue.ReasonRetargeted, queue.ReasonWrongBase:
		is = is || p.base != "main"
	case queue.ReasonParkedLimit:
		at, known := x.watched.parked[ch.ID]
		is = known && x.now.Sub(at) >= time.Hour
	default:
		return
	}
	if !is {
		x.Fatalf("%s is taken out: %+v, which has not happened", ch.ID, why)
	}
}

// saw demands that nothing is asked for again and again within a moment.
func (x *wide) saw(t Turn) {
	x.Helper()
	for _, a := range t.Actions {
		kind, subject := a.Task.Name()
		if kind == "publish" {
			subject, _, _ = strings.Cut(subject, "-")
		}
		name := kind + "/" + subject
		times := append(x.watched.often[name], x.now)
		times = slices.DeleteFunc(times, func(at queue.Instant) bool { return x.now.Sub(at) > 30*time.Second })
		if x.watched.often[name] = times; len(times) > x.most(kind) {
			x.Fatalf("%s is asked for %d times within half a minute", name, len(times))
		}
	}
}

func (x *wide) most(kind string) int {
	switch kind {
	case "publish":
		return 120
	case "observe":
		return 60
	}
	return 25
}

// rests demands, at the end, that what waits has a reason that holds, and that each command had its
// answer.
func (x *wide) rests() {
	x.Helper()
	s := x.core.State()
	for _, id := range derived.Sorted(s.Changes) {
		ch := s.Changes[id]
		p := x.pulls[ch.Number]
		if ch.Phase != queue.Parked || p == nil {
			continue
		}
		switch ch.Reason.Code {
		case queue.ReasonRedMain, queue.ReasonNoTool:
			if x.wholly(x.commits[x.main].tree) && len(x.drifts) == 0 {
				x.Fatalf("%s is parked, %+v, and main is whole", id, ch.Reason)
			}
		case queue.ReasonInfra, queue.ReasonNoRunner, queue.ReasonNoCheck, queue.ReasonStuck:
			x.Fatalf("%s is parked, %+v, until %s, and it is %s", id, ch.Reason, ch.Until.Time(), x.now.Time())
		case queue.ReasonParent:
			low := x.core.facts.Links.Active(ch.Parent)
			if low != nil && low.Phase != queue.Parked {
				x.Fatalf("%s waits for pull %d, which is %s", id, ch.Parent, low.Phase)
			}
		}
	}
	if x.audit.lossy {
		return
	}
	for _, n := range derived.Sorted(x.pulls) {
		p, w := x.pulls[n], x.watched.last[n]
		if w.verb != queue.CommandLand || !p.open || x.missing[n] || w.head != p.head || x.now.Sub(w.at) > 20*time.Hour {
			continue
		}
		q := s.Pulls[n]
		if q == nil {
			x.Fatalf("%s has asked to land pull %d, and the queue does not know it", w.user, n)
		}
		last := s.Changes[q.Last]
		if q.Active == "" && q.Notice.Code == "" && (last == nil || last.Head != p.head && !slices.Contains(x.same[p.head], last.Head)) {
			x.Fatalf("%s has asked to land pull %d at %s, and had no answer: %+v", w.user, n, w.head, last)
		}
	}
}

// idles lets a time pass in which nothing happens, and demands that the queue does little.
func (x *wide) idles(d time.Duration) {
	x.Helper()
	end := x.now.Add(d)
	turns := x.turns
	for x.wake != 0 && x.wake < end {
		x.now = max(x.wake, x.now+1)
		x.tell(queue.Tick{})
		x.quiesce()
		if most := 500 + int(d/time.Minute)*3; x.turns-turns > most {
			x.Fatalf("%d turns, and it is %s", x.turns-turns, x.now.Time())
		}
	}
	x.now = max(x.now, end)
}
