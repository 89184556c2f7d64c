package speculation

import (
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// TestAnyHistory is the promise of the queue as a property: under any acts of
// people, forge, runners and store, main is green at each commit, each change has
// one verdict or is parked, and none is stuck. The audit of the
// world holds what exactly is checked, at each turn.
//
// Without SUBMITQUEUE_REQUIRE=long a fifth as many are drawn; SUBMITQUEUE_SOAK=1 makes the histories longer. TestHistories makes many more of them.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer func() {
			if rt.Failed() {
				for _, x := range h.log {
					rt.Log(x)
				}
			}
		}()
		events := 40
		if os.Getenv("SUBMITQUEUE_SOAK") != "" {
			events = 160
		}
		h.live(events)
		h.audit.final()
	})
}

// live begins, lets things happen, at most so many, and comes to rest.
func (h *history) live(events int) {
	h.Helper()
	h.begin(1 + h.pick(6, "slots"))
	for range 5 + h.pick(events-4, "events") {
		h.happen()
	}
	h.calm()
}

// history draws what happens in a world.
type history struct {
	*world
	pick     dice
	flaked   map[queue.Digest]int
	timed    map[queue.Digest]int
	good     tree
	draw     func(t tree) edit // instead of edits
	native   bool              // stacks are the forge's own
	stacky   int               // percent of the pull requests that are opened on top of others
	smuggled int               // percent of the changes that bring what the forge refuses
	shifts   int               // edits of the protected file so far
	detours  int               // percent of the further commits that are red, and mended by the next
	drifting bool              // main drifts, and then nothing fails by chance: what does both cannot be told apart
}

// dice draws a number from 0 to n-1, for what is named.
type dice func(n int, what string) int

// shrinking are dice of a property that rapid checks: small numbers are likelier
// than others, which shrinks well.
func shrinking(rt *rapid.T) dice {
	return func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
}

// even are dice of a property that rapid checks: nothing is likelier than the rest.
func even(rt *rapid.T) dice {
	return func(n int, what string) int { return rapid.SampledFrom(hundred[:n]).Draw(rt, what) }
}

var hundred = func() []int {
	list := make([]int, 100)
	for i := range list {
		list[i] = i
	}
	return list
}()

func (h *history) chance(percent int, what string) bool {
	return h.pick(100, what) >= 100-percent
}

func newHistory(t tb, pick dice) *history {
	l := law{targets: []string{"a", "b", "c", "d"}, needs: map[string][]string{}}
	h := &history{pick: pick, flaked: map[queue.Digest]int{}, timed: map[queue.Digest]int{}}
	if h.chance(50, "deps") {
		l.needs = map[string][]string{"b": {"a"}, "d": {"c"}}
	}
	files := tree{stepsFile: unit, barrier: "go1", unowned: "data"}
	switch h.pick(9, "steps") {
	case 7:
		files[stepsFile] = shard + " vet:exit-code:targets:vet"
	case 8:
		files[stepsFile] = shard + " lint:exit-code:repository:lint"
	case 1:
		files[stepsFile] = "unit:exit-code:targets:test"
	case 2:
		files[stepsFile] = unit + " lint:exit-code:repository:lint"
	case 3:
		files[stepsFile] = "unit:exit-code:targets:test vet:go-test-json:targets:vet"
	case 4:
		files[stepsFile] = unit + " lint:exit-code:repository:lint seal:exit-code:repository:seal"
	case 5:
		files[stepsFile] = "ci:exit-code:targets:test:tree"
	case 6:
		files[stepsFile] = "ci:exit-code:targets:test:tree vet:go-test-json:targets:vet"
	}
	for _, n := range l.targets {
		files[fileOf(n)], files["x/"+n] = "base", "text"
	}
	l.rules = []rule{
		{target: "a", all: []string{"bad"}},
		{target: "b", all: []string{"p", "q"}},
		{target: "b", step: "unit", all: []string{"bad"}, unless: "heal"},
		{target: "c", all: []string{"p", "r"}, unless: "heal"},
		{target: "c", all: []string{"danger"}},
		{target: "d", all: []string{"q", "r"}},
		{target: config.TargetTree, step: "lint", all: []string{"ugly"}},
		{target: config.TargetTree, step: "lint", all: []string{"p", "s"}},
		{target: config.TargetTree, step: "seal", all: []string{"ugly", "r"}},
		{target: config.TargetTree, step: "seal", all: []string{"q", "s"}, unless: "heal"},
	}
	r := rulesOf(config.Rules{
		Retries: h.pick(3, "retries"), BuildsPerChange: []int{20, 4, 8}[h.pick(3, "cap")],
		BuildsPerHour: []int{0, 0, 12}[h.pick(3, "hourly")], InfraRetries: 1 + h.pick(3, "infra-retries"),
		VerifyMain: []string{"", "24h", "10m"}[h.pick(3, "verify")],
	})
	// Not drawn by itself: histories of a seed stay what they were.
	if r.Retries != 1 { // what has passed on heads counts there
		files[stepsFile] = strings.Replace(files[stepsFile], ":test:tree", ":test:tree:count", 1)
	}
	r.RedMain.Revert = []config.RevertPolicy{config.RevertOff, config.RevertPrepare, config.RevertPropose, config.RevertLand}[(r.Retries+r.InfraRetries+len(r.VerifyMain))%4]
	if h.chance(50, "lanes") {
		lanes := drawLanes(pick)
		r.Lanes, r.DefaultLane = lanes.Lanes, lanes.DefaultLane
	}
	if h.chance(50, "quotas") {
		r.Projects = []config.Project{{Name: "x", Targets: []string{"a", "b"}, Benefit: 3}, {Name: "y", Targets: []string{"b", "c"}, Benefit: 0.2}}
		for i, q := range []config.Quota{{Project: "x"}, {Project: "y"}, {Per: config.PerAuthor}, {Authors: []string{"e*"}, Share: 0.5}} {
			if h.chance(50, "quota") {
				q.Name, q.Builds, q.When = fmt.Sprint("q", i), 1+h.pick(2, "places"), []config.When{config.WhenAlways, config.WhenContended}[h.pick(2, "when")]
				r.Quotas = append(r.Quotas, q)
			}
		}
	}
	if h.chance(30, "arrival") {
		r.Order = config.OrderArrival
	}
	h.methods(&r)
	if h.chance(50, "batch") {
		r.Batch = []config.Batch{config.BatchIndependent, config.BatchRollup}[h.pick(2, "kind")]
		r.BatchMax = 2 + h.pick(3, "batch-max")
	}
	if h.chance(50, "hold") {
		r.External = config.ExternalHold
	}
	guards := h.chance(30, "guards")
	if guards {
		files[elsewhere] = "job"
	}
	h.detours = 30
	if strings.Contains(strings.Fields(files[stepsFile])[0], ":tree") { // what a pass covers, and what not
		h.detours = 80
		if len(r.Methods) == 0 && h.chance(70, "by commit") {
			r.Method, r.Methods = config.MethodRebase, []config.Method{config.MethodRebase, config.MethodFastForward}
		}
	}
	h.world = newWorld(t, l, files, r)
	if guards {
		h.guard()
	}
	h.everything, h.drifting = h.chance(40, "everything"), h.chance(25, "drifting")
	h.good, h.textual = files, h.chance(50, "textual")
	h.drawHosts()
	h.stacky = []int{0, 20, 60, 90}[h.pick(4, "stacks")]
	h.relation(h.pick(4, "relation"))
	h.forbids()
	if h.chance(50, "predictor") {
		h.core.facts.Beliefs.Ask(anyModel{})
	} else if h.chance(50, "trust") {
		h.core.facts.Beliefs.Ask(trusting{})
	}
	return h
}

// anyModel predicts nonsense.
type anyModel struct{}

func (anyModel) Good(ch *queue.Change) float64 {
	return []float64{0, 0.1, 0.5, 0.9, 1, math.NaN(), math.Inf(1), -3}[digest.Of(string(ch.ID))[0]%8]
}

func (anyModel) Conflict(a, b *queue.Change) float64 {
	if a.ID > b.ID {
		a, b = b, a
	}
	return []float64{0, 0.01, 0.2, 0.9, 1, math.NaN(), math.Inf(1), -3}[digest.Of(string(a.ID), string(b.ID))[0]%8]
}

func (anyModel) Cold() bool { return true }

func (anyModel) Duration(ch *queue.Change) (time.Duration, bool) {
	d := digest.Of("d", string(ch.ID))[0]
	return []time.Duration{0, -minute, time.Second, minute, 1000 * time.Hour}[d%5], d%2 == 0
}

// relation makes the footprints true, empty, full or arbitrary.
func (h *history) relation(kind int) {
	all := h.targets
	h.footless = func(id queue.ChangeID, f queue.Footprint) queue.Footprint {
		switch kind {
		case 1:
			return queue.Footprint{Main: f.Main}
		case 2:
			return queue.Footprint{Main: f.Main, All: true, Affected: f.Affected}
		case 3:
			out := queue.Footprint{Main: f.Main}
			for i, n := range all {
				d := digest.Of(string(id), string(f.Main)) // another one each time
				if d[i]%2 == 0 {
					out.Write, out.Affected = append(out.Write, n), append(out.Affected, n)
				}
				if d[i+8] < '3' {
					out.Read, out.Edges = append(out.Read, n), append(out.Edges, queue.AddedEdge{To: n, Up: []string{all[d[i+16]%4]}})
				}
			}
			return out
		}
		return f
	}
}

// faulty lets machines and the forge fail, within what the queue can decide in
// spite of it: a green key fails at most `retries` times, and times out once.
func (h *history) faulty() {
	id := queue.Key.ID
	if len(h.versions) > 0 { // what a run shows of a key may count for that of another version
		id = func(k queue.Key) queue.Digest { return digest.Of(string(k.Step), k.Target) }
	}
	bounded := func(seen map[queue.Digest]int, limit int, what string) func([]queue.Key) bool {
		return func(keys []queue.Key) bool {
			if h.drifting {
				return false
			}
			for _, k := range keys {
				if seen[id(k)] >= limit {
					return false
				}
			}
			if !h.chance(10, what) {
				return false
			}
			for _, k := range keys {
				seen[id(k)]++
			}
			return true
		}
	}
	flakes := h.rules.Retries
	if h.hosts.broken != "" && h.hosts.how != breaksTool { // of which one host's word does not count
		flakes = 0 // one more failure on a sound host would be the second one on two hosts
	}
	h.flake = bounded(h.flaked, flakes, "flake")
	if h.hosts.stale { // a failure by a cache and one by chance cannot be told from two of the change
		h.flake = nil
	}
	h.timeout = bounded(h.timed, 1, "timeout")
	if h.hosts.stale {
		h.timeout = nil
	}
	h.infra = func(*queue.Build) (bool, bool) {
		if !h.chance(6, "infra") {
			return false, false
		}
		return true, h.chance(20, "no-runner")
	}
	h.forgets = func(*queue.Build) bool { return h.chance(5, "forgets") }
	// By the build's name and no further draw: the histories of a seed stay what they were.
	h.divides = func(b *queue.Build, keys int) int {
		sum := crc32.ChecksumIEEE([]byte(b.ID))
		n := 1 + int(sum>>8)%(keys-1)
		return []int{0, 0, n, -n}[sum%4]
	}
	h.fails = func(*queue.Action) (bool, bool) {
		if !h.chance(6, "action-fails") {
			return false, false
		}
		return true, h.chance(80, "transient")
	}
	h.loses = func(*queue.Action) bool { return h.chance(4, "answer-lost") }
}

// calm ends the faults, makes main whole and lets time pass.
func (h *history) calm() {
	h.Helper()
	h.faults = faults{footless: h.footless}
	h.refuses, h.hosts.broken = false, ""
	if h.branches != nil {
		h.branches.refuses, h.branches.notes = nil, nil
		h.noteAll()
	}
	h.logf("##### calm")
	h.quiesce()
	if len(h.drifts) > 0 {
		h.drift()
		h.waitOut()
	}
	h.mend()
	h.tell(queue.MainMoved{Branch: "main"}, queue.Capacity{Slots: 4})
	h.quiesce()
	p := h.open(h.main, edit{"a/code": "resume"})
	for range 3 { // a pause that was said before may be followed late
		h.step(h.say(p, "boss", "/queue resume"))
		h.waitOut()
	}
}

// mend makes main whole: by a change, if the queue lands it, or from outside.
func (h *history) mend() {
	h.Helper()
	if h.wholly(h.commits[h.main].tree) {
		return
	}
	if h.core.State().Main.Paused == nil && h.chance(50, "by a change") {
		h.tell(queue.MainMoved{Branch: "main"}, queue.Capacity{Slots: 4})
		h.quiesce()
		p := &pull{number: len(h.pulls) + 1, open: true, base: "main"}
		p.head = h.put(commit{parent: h.main, tree: h.good}).id
		h.pulls[p.number] = p
		h.logf("## pull %d mends main", p.number)
		h.step(h.say(p, "boss", "/land"))
		h.waitOut()
	}
	if !h.wholly(h.commits[h.main].tree) {
		h.commitOutside(h.good)
	}
}

// happen is one thing that happens.
func (h *history) happen() {
	h.Helper()
	if h.flake == nil {
		h.faulty()
	}
	h.now = h.now.Add(time.Second)
	switch n := h.pick(100, "what"); {
	case n < 40:
		h.act()
	case n < 60:
		h.build()
	case n < 66:
		h.deliver()
	case n < 71:
		h.pass()
	case n < 76:
		h.mustRestart()
	case n < 78:
		h.mustLose(1 + h.pick(keptTurns, "turns lost"))
	case n < 82:
		h.outside()
	case n < 84:
		h.quiesce()
	case n < 91 && h.drifting:
		h.drift()
	case n < 87 && h.everything:
		h.redden()
	default:
		h.person()
	}
}

// act carries out some of the outstanding actions, in any order; what comes of
// them may fail, get lost, be late or come twice.
func (h *history) act() {
	h.Helper()
	for range 1 + h.pick(6, "actions") {
		if len(h.waits) == 0 {
			return
		}
		i := h.pick(len(h.waits), "action")
		a := h.waits[i]
		h.waits = slices.Delete(slices.Clone(h.waits), i, i+1)
		if bad, transient := h.fails(&a); bad {
			h.tell(queue.Failed{Action: a.Key, Error: "the forge is away", Transient: transient})
			continue
		}
		if h.chance(3, "out of reach") {
			h.tell(queue.Failed{Action: a.Key, Error: "suspended", Away: true})
			continue
		}
		out := h.carryOut(a)
		if h.loses(&a) {
			h.logf("## the answer to %s is lost", a.Key)
			continue
		}
		h.send(out)
	}
}

func (h *history) build() {
	h.Helper()
	for range 1 + h.pick(4, "jobs") {
		if going := h.going(); len(going) > 0 {
			h.send(h.advance(going[h.pick(len(going), "build")]))
		}
	}
}

// send hands results on, at once or later.
func (h *history) send(out []queue.Body) {
	h.Helper()
	if len(out) == 0 {
		return
	}
	if h.chance(15, "late") {
		for _, b := range out {
			h.mail = append(h.mail, h.event(b))
		}
		return
	}
	h.tell(out...)
}

// deliver delivers some mail, in any order, and sometimes twice; or all of it in
// one turn.
func (h *history) deliver() {
	h.Helper()
	if len(h.mail) == 0 {
		return
	}
	if h.chance(40, "all") {
		all := h.mail
		h.mail = nil
		h.step(all...)
		return
	}
	i := h.pick(len(h.mail), "mail")
	e := h.mail[i]
	h.mail = slices.Delete(slices.Clone(h.mail), i, i+1)
	h.step(e)
	if _, main := e.Body.(queue.Observed); !main && h.chance(30, "twice") {
		h.step(e)
	}
}

func (h *history) pass() {
	h.Helper()
	d := []time.Duration{time.Second, time.Minute, 10 * time.Minute, 61 * time.Minute, 0}[h.pick(5, "time")]
	if d == 0 && h.wake > h.now {
		if h.wake.Sub(h.now) > time.Hour {
			h.store.before = nil // what was stored so long ago is not lost
		}
		h.now = h.wake
	} else {
		h.now = h.now.Add(d)
	}
	h.tell(queue.Tick{})
}

func (h *history) String() string { return fmt.Sprintf("history of %d pulls", len(h.pulls)) }
