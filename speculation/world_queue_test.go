package speculation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var digests = regexp.MustCompile(`\b([0-9a-f]{4})[0-9a-f]{60}\b`)

const minute = time.Minute

// tb is what the world needs of a test: testing.T and rapid.T have it.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// pull is a pull request of the world's forge.
type pull struct {
	facets   *queue.Facets // what the forge knows of it
	number   int
	author   string // "": dev
	head     queue.CommitID
	open     bool
	draft    bool
	merged   bool          // by hand
	base     string        // main, or the branch of another (branchOf)
	native   int           // the forge's own stack that it is in
	commands []queue.Event // what was said on it, to be read again after a loss
	changed  queue.Instant // when the forge says that it was last changed
	shown    string        // what its comment says
	said     queue.Said    // the same, as it is compared with an edit

	fork    bool                // its branch is another repository's
	spared  []string            // labels that a freeze excepts
	labels  []string            // that are set
	green   bool                // its checks have passed
	lacks   []queue.Requirement // what is asked of it and not met
	seenMet queue.Instant       // when the queue was last told that all is met
}

// run is a build as the world's controller knows it.
type run struct {
	build queue.Build
	host  string
	jobs  int           // done so far
	at    queue.Instant // when the next of them began, or would
	over  bool
	said  []queue.Body
	asked [][]string // of each job, the targets of the shard that it is; nil: there are no shards
}

// faults says what may go wrong. Each is asked in the order of the actions, so
// that a run is repeated exactly by the same draws.
type faults struct {
	flake    func(keys []queue.Key) bool // a green run reports failure
	reruns   func(target string) bool    // a green run reports that it has passed when it was run again
	shaky    func(k queue.Key) bool      // a target in quarantine fails by chance
	fresh    func(k queue.Key) bool      // a run of a new target fails by chance
	timeout  func(keys []queue.Key) bool
	infra    func(b *queue.Build) (bad, noRunner bool)
	matched  bool                               // infra is by the log of a step, on a host
	divides  func(b *queue.Build, keys int) int // how many keys of a job are a shard of their own, before or (negative) behind the others; 0: it is not divided
	forgets  func(b *queue.Build) bool          // a report leaves its last target out
	fails    func(a *queue.Action) (bad, transient bool)
	loses    func(a *queue.Action) bool // done, and the answer is lost
	footless func(id queue.ChangeID, f queue.Footprint) queue.Footprint
}

// world answers the core's actions from a hidden truth, over virtual time.
type world struct {
	same map[queue.CommitID][]queue.CommitID // heads that were the same commits on others, by that which the forge made of them
	tb
	law
	repository
	faults
	hosts       hosts
	rules       config.Rules
	protected   bool
	textual     bool                           // footprints name the touched paths
	versions    []string                       // versions of the analyzer that the server has, the newest first; none: nobody speaks of them
	refuses     bool                           // main's protection refuses pushes
	versionless bool                           // the queue's state is of a server that knew no versions of analyzers
	refusesRef  func(*queue.Build) string      // the rule that refuses a ref for a build of a commit; "": it is taken
	refusesIf   func(*queue.Push) string       // the rule that refuses a push for what is in it; "": it may pass
	learns      func(queue.Learn) *queue.Model // makes a model; nil: there is none to make
	requires    bool                           // the forge asks things of pull requests
	everything  bool                           // steps that name no target run everything, whatever they are asked for
	rule        string                         // in the words of which it does so

	roles       map[string]string  // of users, besides boss and dev
	permissions config.Permissions // besides what world.config says

	branches *branches // that the queue moves; nil: it may move none

	guards     bool                    // there is a file that is moved to a protected place and away
	sanctioned map[queue.CommitID]bool // heads that an administrator has approved

	saw   func(Turn) // each turn; nil: nobody
	now   queue.Instant
	main  queue.CommitID
	pulls map[int]*pull
	runs  map[queue.BuildID]*run
	waits []queue.Action // outstanding, not yet carried out, oldest first
	mail  []queue.Event  // on its way to the queue, oldest first

	real   *analyst                       // in the place of the world's own hashes and footprints
	passes func(t tree, keys []queue.Key) // told of what a build has shown of its tree
	took   map[string]time.Duration       // how long targets take; others share a minute

	core  *Core
	store store
	wake  queue.Instant
	audit audit
	heads map[queue.CommitID]*headRun // what its own CI has shown of a head

	headOpen  func() bool // its CI has not ended
	headFlake func() bool // a step fails there, and nothing is wrong

	next  int
	turns int
	log   []string

	wide *wide // what else is drawn there; nil: nothing

	toldMain []queue.Tell               // what the checks of main's commits were made to say, in order
	proposes func(queue.Propose) string // why the forge opens no pull request; nil: it does
	lackAll  []queue.Requirement        // what the forge asks of them
	proposed map[queue.CommitID]int     // pull requests of reverts, by culprit
}

// newWorld returns a world whose main holds the given files.
func newWorld(t tb, l law, files tree, rules config.Rules) *world {
	w := &world{tb: t, law: l, repository: repository{commits: map[queue.CommitID]*commit{}}, rules: rules,
		now: queue.At(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)), pulls: map[int]*pull{}, runs: map[queue.BuildID]*run{}, heads: map[queue.CommitID]*headRun{}}
	w.main = w.put(commit{tree: files}).id
	w.core = New(queue.NewState("main"))
	w.store = newStore()
	w.audit = newAudit(w)
	return w
}

// rulesOf fills in the defaults as the configuration's parser does.
func rulesOf(r config.Rules) config.Rules {
	if r.Order == "" {
		r.Order = config.OrderFinish
	}
	if r.InfraRetries == 0 {
		r.InfraRetries = 3
	}
	if r.BuildsPerChange == 0 {
		r.BuildsPerChange = 20
	}
	if r.Margin == 0 {
		r.Margin = 0.4
	}
	if r.MaxOvertake == 0 {
		r.MaxOvertake = 4 * time.Hour
	}
	if r.ParkedLimit == 0 {
		r.ParkedLimit = 7 * 24 * time.Hour
	}
	if r.Threshold == 0 {
		r.Threshold = 0.3
	}
	r.Label = "land"
	return r
}

func (w *world) logf(format string, args ...any) {
	if w.audit.off || w.audit.mute {
		return
	}
	line := fmt.Sprintf("%s ", w.now.Time().Format("15:04:05")) + fmt.Sprintf(format, args...)
	w.log = append(w.log, digests.ReplaceAllString(line, "$1"))
}

func (w *world) event(b queue.Body) queue.Event {
	w.next++
	b = w.wide.named(b)
	return queue.Event{ID: fmt.Sprintf("e%d", w.next), At: w.now, Body: b}
}

// step makes a turn of the given events, stores it, and takes its actions in.
func (w *world) step(events ...queue.Event) Turn {
	w.Helper()
	for i := range events {
		events[i].At = w.now
		w.logf("<- %s %+v", queue.EventName(events[i].Body), events[i].Body)
	}
	w.turns++
	turn := w.audit.step(events)
	w.store.commit(w, turn)
	w.wake, w.by = turn.Wake, w.core.State().Main.Analyzer
	w.waits = slices.DeleteFunc(w.waits, func(a queue.Action) bool { return slices.Contains(turn.Ended, a.Key) })
	w.waits = append(w.waits, turn.Actions...)
	for _, a := range turn.Actions {
		w.logf("-> %s", a.Key)
	}
	for _, n := range turn.Notes {
		what := fmt.Sprintf("{%s %v %s}", n.Reason.Code, n.Reason.Names, n.Reason.Detail)
		if n.Worth.Kind != "" {
			what = worthLine(n.Worth)
		}
		w.logf("   %s %s %s %s %s", n.What, n.Change, n.Build, n.Commit, what)
	}
	w.audit.check(turn)
	if w.saw != nil {
		w.saw(turn)
	}
	return turn
}

func (w *world) tell(b ...queue.Body) {
	w.Helper()
	var events []queue.Event
	for _, x := range b {
		events = append(events, w.event(x))
	}
	w.step(events...)
}

// config is main's configuration at a commit, as Observe reads it.
func (w *world) config(id queue.CommitID) (*config.Config, string) {
	steps, broken := configOf(w.commits[id].tree)
	if broken != "" {
		return nil, broken
	}
	may := w.permissions
	may.Land, may.Queue = cmp.Or(may.Land, "write"), cmp.Or(may.Queue, "maintain")
	return &config.Config{Version: 1, Steps: steps, Queue: w.rules, Permissions: may}, ""
}

// carryOut does what an action asks for and returns what comes of it.
func (w *world) carryOut(a queue.Action) []queue.Body {
	switch t := a.Task.(type) {
	case queue.Observe:
		if b := w.wide.elsewhere(a.Key); b != nil {
			return []queue.Body{b}
		}
		return []queue.Body{w.observe(a.Key, t)}
	case queue.Survey:
		return []queue.Body{w.survey(a.Key, t)}
	case queue.Trace:
		return []queue.Body{w.trace(a.Key, t)}
	case queue.Watch:
		return []queue.Body{w.controlled(a.Key, t)}
	case queue.Inspect:
		if w.branches != nil {
			w.now = max(w.now, a.NotBefore)
		}
		return []queue.Body{w.inspect(a.Key, t)}
	case queue.Analyze:
		defer w.under(w.version(t.Analyzer, w.commits[t.Main].tree))()
		return []queue.Body{queue.Analyzed{Action: a.Key, Change: t.Change, Footprint: w.footprint(t), Analyzer: t.Analyzer}}
	case queue.Attest:
		if w.version(t.Analyzer, w.commits[t.Main].tree) != t.Analyzer {
			return []queue.Body{queue.Failed{Action: a.Key, Error: "the version is not known", Transient: true}}
		}
		defer w.under(t.Analyzer)()
		return []queue.Body{w.attest(a.Key, t)}
	case queue.Meet:
		return []queue.Body{w.meet(a.Key, t)}
	case queue.Resolve:
		if w.version(t.Analyzer, w.commits[t.Base].tree) != t.Analyzer {
			return []queue.Body{queue.Failed{Action: a.Key, Error: "the version is not known", Transient: true}}
		}
		defer w.under(t.Analyzer)()
		return []queue.Body{w.resolveChain(a.Key, t)}
	case queue.Run:
		return w.start(t)
	case queue.ProbeHost:
		return w.start(queue.Run{Build: t.Build})
	case queue.Stop:
		if r := w.runs[t.Build]; r != nil && !r.over {
			r.over = true
			r.said = append(r.said, queue.BuildDone{Build: t.Build, Outcome: queue.JobStopped})
			return []queue.Body{queue.Done{Action: a.Key}, r.said[len(r.said)-1]}
		}
		return []queue.Body{queue.Done{Action: a.Key}}
	case queue.Weigh:
		return []queue.Body{w.weigh(a.Key, t)}
	case queue.Propose:
		return []queue.Body{w.propose(a.Key, t)}
	case queue.Learn:
		return []queue.Body{w.learn(a.Key, t)}
	case queue.Tell:
		w.toldMain = append(w.toldMain, t)
		return []queue.Body{queue.Done{Action: a.Key}}
	case queue.MoveHeads:
		return []queue.Body{w.moveHeads(a, t)}
	case queue.SeeHeads:
		return []queue.Body{w.seeHeads(a, t)}
	case queue.ReturnHeads:
		return []queue.Body{w.returnHeads(a, t)}
	case queue.Land:
		return []queue.Body{w.push(a, t)}
	case queue.Publish:
		var said queue.Said
		if p := w.pulls[t.Number]; p != nil {
			v, _ := w.core.PullView(t.Number)
			p.shown = says(v)
			w.closesLanded(p, v.Change)
			said = w.wide.writes(p, t, v)
		}
		return []queue.Body{queue.Done{Action: a.Key, Shown: t.Want, Said: said}}
	}
	return []queue.Body{queue.Done{Action: a.Key}}
}

// says is what the comment of a pull request has to say.
func says(v queue.View) string {
	n := v.Notice
	n.Culprits = slices.Clone(n.Culprits)
	reverts := ""
	for i, x := range n.Culprits {
		n.Culprits[i].Weighed = ""
		if r := x.Revert; r != nil {
			n.Culprits[i].Revert = nil
			reverts += fmt.Sprint(r.State, r.Number, r.Landing, r.Trouble)
		}
	}
	return fmt.Sprint(v.Change.ID, v.Change.Phase, v.Change.Reason, n, reverts)
}

func (w *world) observe(key string, t queue.Observe) queue.Body {
	out := queue.Observed{Action: key, Tip: w.main, From: t.From, Protected: w.protected, Analyzers: w.knownFor(w.commits[w.main].tree)}
	out.Config, out.Broken = w.config(w.main)
	if w.main == t.From {
		return out
	}
	line := w.line(w.main)
	at := slices.IndexFunc(line, func(c *commit) bool { return c.id == t.From })
	if at < 0 {
		out.Forced = t.From != ""
		at = len(line)
	}
	for _, c := range line[:at] {
		out.Line = append(out.Line, queue.LineCommit{Commit: c.id, Change: c.change, Head: c.head, Also: c.also, Merged: c.merged(), Holds: w.holds(c), As: w.standsFor(c)})
	}
	slices.Reverse(out.Line)
	return out
}

func (w *world) inspect(key string, t queue.Inspect) queue.Body {
	p := w.pulls[t.Number]
	if b := w.wide.answers(p, key, t); b != nil {
		return b
	}
	if p == nil {
		return queue.Inspected{Action: key, Missing: true}
	}
	level := cmp.Or(w.roles[t.User], map[string]string{"boss": "admin", "dev": "write"}[t.User])
	if w.metAtHead(p) {
		p.seenMet = w.now
	}
	out := queue.Inspected{Requires: w.requires && p.open, Unmet: p.lacks, Spared: p.spared, Action: key, ConfigAt: w.core.State().Main.ConfigAt, Head: w.shows(p), HeadRef: fmt.Sprintf("refs/pull/%d/head", p.number), Base: p.base,
		Merged: p.merged && !p.open, Branch: branchOf(p), Stack: w.stack(p), Below: w.below(w.shows(p)),
		Title: fmt.Sprintf("change %d", p.number), Author: cmp.Or(p.author, "dev"), Facets: p.facets, Changed: p.changed, Open: p.open, Draft: p.draft, Permission: level}
	out.Auto = w.rulings(p)
	w.protects(p, t, level, &out)
	w.wide.tells(p, t, &out)
	if ch := w.core.facts.Links.Active(p.number); ch != nil && slices.Contains(w.same[out.Head], ch.Head) {
		out.Same = ch.Head
	}
	return out
}

func (w *world) footprint(t queue.Analyze) queue.Footprint {
	f := queue.Footprint{Main: t.Main, Analyzer: "world/1"}
	main := w.commits[t.Main]
	for _, p := range t.Under {
		if c, conflicts := w.merge(main.id, p); len(conflicts) == 0 {
			main = c
		}
	}
	with := w.commits[t.Pick.Head].tree
	if c, conflicts := w.merge(main.id, t.Pick); len(conflicts) == 0 {
		with = c.tree
	}
	if w.real != nil {
		f = w.real.footprint(w, main, with)
		if w.footless != nil {
			f = w.footless(t.Change, f)
		}
		return f
	}
	before := map[string]queue.Digest{}
	for _, h := range w.hashes(main.tree) {
		before[h.Target] = h.Hash
	}
	for _, h := range w.hashes(with) {
		if before[h.Target] != h.Hash {
			f.Write, f.Affected = append(f.Write, h.Target), append(f.Affected, h.Target)
		}
		delete(before, h.Target)
	}
	for target := range before {
		f.Write = append(f.Write, target)
	}
	slices.Sort(f.Write)
	if w.textual {
		for file := range with {
			if with[file] != main.tree[file] {
				f.Paths = append(f.Paths, file)
			}
		}
		slices.Sort(f.Paths)
	}
	if w.footless != nil {
		f = w.footless(t.Change, f)
	}
	return f
}

func (w *world) meet(key string, t queue.Meet) queue.Body {
	out := queue.Met{Action: key, Change: t.Change}
	for _, p := range t.With {
		if on, conflicts := w.merge(t.Main, p); len(conflicts) == 0 {
			if _, conflicts = w.merge(on.id, t.Pick); len(conflicts) == 0 {
				out.Merges = append(out.Merges, p.Change)
			}
		}
	}
	return out
}

func (w *world) resolveChain(key string, t queue.Resolve) queue.Body {
	out := queue.Resolved{Action: key, Guard: t.Guard()}
	at, by := t.Base, t.Analyzer
	single := t.Picks[:len(t.Picks)-t.Together]
	for i, p := range t.Picks[:min(len(t.Picks), len(single)+1)] {
		l := queue.Link{ID: queue.LinkOf(at, p.Change), Parent: at, Change: p.Change, Before: by}
		c, conflicts := (*commit)(nil), []string{"one of them"}
		if i < len(single) {
			c, conflicts = w.merge(at, p)
		} else {
			var ids []queue.ChangeID
			for _, x := range t.Picks[i:] {
				ids = append(ids, x.Change)
			}
			l.ID, l.With, l.Change = queue.LinkOf(at, ids...), ids[:len(ids)-1], ids[len(ids)-1]
			if c = w.mergeAll(at, t.Picks[i:]); c != nil {
				conflicts = nil
			}
		}
		switch {
		case len(conflicts) > 0:
			l.Outcome, l.Conflicts = queue.MergeFailed, conflicts
		case c.id == at:
			l.Outcome = queue.MergeNothing
		default:
			set := queue.NewStepSet(stepsOf(c.tree))
			l.Outcome, l.Commit, l.Tree, l.Steps = queue.Merged, c.id, c.tree.id(), set.ID
			l.Analyzer = w.version(by, c.tree)
			l.Keys = w.crossKeys(w.commits[at].tree, by, c.tree, l.Analyzer)
			l.Gone = w.gone(w.commits[at].tree, c.tree)
			out.Steps = append(out.Steps, set)
			if len(single) > i {
				w.partsOf(&l, p, c, &out)
				w.guardLink(&l, t.Protected, p)
			} else {
				w.guardLink(&l, t.Protected, t.Picks[i:]...)
			}
			for _, k := range l.Keys {
				if e, ok := w.store.archive[k.ID()]; ok {
					out.Passed = append(out.Passed, e)
				}
			}
			at, by = c.id, l.Analyzer
			back := w.under(by)
			out.Proven = append(out.Proven, w.translate(t.Former, l.OwnKeys())...)
			back()
		}
		out.Links = append(out.Links, l)
		if l.Outcome == queue.MergeFailed {
			break
		}
	}
	return out
}

// push moves main if it is where the push expects it, before the deadline only.
func (w *world) push(a queue.Action, t queue.Land) queue.Body {
	p := w.core.State().Push
	switch {
	case p == nil || p.ID != t.Push:
		return queue.Done{Action: a.Key}
	case w.now >= a.Deadline:
		return queue.Failed{Action: a.Key, Error: "the deadline has passed"}
	case w.main == p.Tip():
		if w.audit.ours[p.Tip()] == nil {
			w.arrived(p) // somebody else has moved main to the very commit, which is a pull request's head
		}
		return queue.Pushed{Action: a.Key, Push: p.ID, Moved: true}
	}
	if p.ByForge {
		return w.mergedByForge(a, p)
	}
	w.rebased(p) // before it is known how the push ends
	switch {
	case w.main != p.Expected:
		return queue.Pushed{Action: a.Key, Push: p.ID, Lost: true}
	case w.refuses:
		return queue.Pushed{Action: a.Key, Push: p.ID, Refused: `Required status check "ci" is expected.`}
	}
	if w.refusesIf != nil {
		if rule := w.refusesIf(p); rule != "" {
			return queue.Pushed{Action: a.Key, Push: p.ID, Refused: rule}
		}
	}
	w.arrived(p)
	w.main = p.Tip()
	w.logf("== main is %s", w.main)
	w.mergedBy(p)
	return queue.Pushed{Action: a.Key, Push: p.ID, Moved: true}
}

// arrived judges a push that moves main.
func (w *world) arrived(p *queue.Push) {
	w.audit.landing(p)
	for i, id := range p.Commits {
		if ch := w.forwarded(p, i); ch != nil {
			w.commits[id].taken = ch.ID
		}
	}
}
