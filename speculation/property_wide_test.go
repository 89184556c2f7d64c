package speculation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var wideHistories = flag.String("wide-histories", "0:40", "seeds FROM:TO of the histories that TestWideHistories makes; TO is not among them")

// TestWideHistories makes histories in which everything that the world has may happen at once: all
// commands, in all ways and by all kinds of people, several of them on one pull request, and while a
// push is under way; on a forge with requirements, stacks of its own or moved branches; under rules
// of auto, freezes, quarantine, other versions of the analyzer, and configurations that change.
// Besides all that TestHistories asks for, what lands was asked for at that head and not taken back,
// what is taken out was so for something that has happened, each command has an answer, nothing
// waits for what has come true, and nothing is asked for again and again.
//
// The night's run: go test ./speculation -run 'TestWideHistories$' -wide-histories 0:50000 -timeout 2h -v
func TestWideHistories(t *testing.T) {
	soakRange(t, "TestWideHistories", "wide-histories", *wideHistories, soakWide)
}

// TestWideHistoriesThatFailed makes those again that have found something: a failure that may have been
// of a target in quarantine alone (5776); paths on top of a change that is forgotten (23840).
func TestWideHistoriesThatFailed(t *testing.T) {
	for _, seed := range []int64{5776, 23840} {
		if _, why := soakWide(seed, nil); why != "" {
			t.Errorf("seed %d: %s", seed, why)
		}
	}
}

func soakWide(seed int64, log *[]string) (turns int, why string) {
	chance := rand.New(rand.NewPCG(uint64(seed), 0x71de))
	var x *wide
	return lived(log, func() *history {
		x = newWide(stopping{}, func(n int, _ string) int { return chance.IntN(n) })
		return x.history
	}, func(h *history) {
		h.audit.brief = seed%10 != 0 // turns are compared with those of a core that is made anew
		if h.chance(20, "crowd") {
			x.crowds()
		} else {
			h.begin(1 + h.pick(6, "slots"))
		}
		for range 10 + h.pick(60, "events") {
			x.happens()
		}
		x.calmDown()
	})
}

// elapse lets a long time pass.
func (x *wide) elapse() {
	x.Helper()
	if len(x.core.State().Requests) > 0 {
		return // what was read again after a loss would be followed when its verdict is forgotten
	}
	x.store.before = nil
	x.now = x.now.Add([]time.Duration{2 * time.Hour, 5 * time.Hour, 25 * time.Hour, 8 * 24 * time.Hour}[x.pick(4, "long")])
	x.tell(queue.Tick{})
}

// happens is one thing that happens.
func (x *wide) happens() {
	x.Helper()
	x.now = x.now.Add(time.Second)
	switch n := x.pick(100, "what"); {
	case n < 50 && x.core.State().Push != nil || n < 30 && x.native:
		if x.native && x.chance(40, "the forge") {
			x.restackSome()
			break
		}
		x.deed() // before the push has its answer
	case n < 33:
		x.act()
	case n < 50:
		x.build()
	case n < 56:
		x.deliver()
	case n < 61:
		x.pass()
	case n < 64:
		x.mustRestart()
	case n < 65:
		x.mustLose(1 + x.pick(keptTurns, "turns lost"))
	case n < 68:
		x.outside()
	case n < 70:
		x.quiesce()
	case n < 72 && x.drifting:
		x.drift()
	case n < 73 && len(x.versions) > 0:
		x.serve(servers[x.pick(len(servers), "server")]...)
	default:
		x.deed()
	}
	switch {
	case x.branches == nil:
	case x.branches.gitlab != nil:
		for g := x.branches.gitlab; len(g.jobs) > 0 && x.chance(40, "a job runs"); {
			x.follow(x.pick(len(g.jobs), "job"))
		}
		for n, p := range x.pulls {
			x.branches.gitlab.ended[n] = x.branches.gitlab.ended[n] || !p.open
		}
	case x.chance(20, "all is noted"):
		x.noteAll()
	}
	if x.headFlake != nil {
		heads := x.openHeads()
		for _, id := range heads {
			x.runHead(id)
		}
		if len(heads) > 0 && x.chance(15, "its CI ends") {
			x.tell(queue.HeadChecked{Head: heads[x.pick(len(heads), "where")]})
		}
	}
	if x.requires {
		x.boarded()
	}
}

// servers are the versions of analyzers that servers know.
var servers = [][]string{{"go/1", "rs/1"}, {"go/2", "go/1", "rs/2", "rs/1"}, {"go/2", "rs/1"}, {"go/3", "go/2", "go/1", "rs/2", "rs/1"}, {"go/3", "go/2", "rs/2"}, {"go/1", "go/2", "rs/1", "rs/2"}}

// newWide draws a world.
func newWide(t tb, pick dice) *wide {
	h := newHistory(t, pick)
	x := &wide{history: h, branch: "main", watched: newWatched(), ended: map[int]map[queue.ReasonCode]bool{}, missing: map[int]bool{},
		moved: map[int]queue.Instant{}, blurred: map[int]bool{}}
	h.wide, h.roles = x, map[string]string{}
	h.permissions.Bots = []string{"good[bot]"}
	h.requires = h.chance(60, "requires")
	switch h.pick(6, "heads") {
	case 0, 1:
		h.branched()
	case 2:
		requires := h.requires
		h.onGitLab()
		h.requires = h.requires || requires
	case 3, 4:
		if h.native = h.chance(50, "native"); h.native {
			h.stacky, h.requires = max(h.stacky, 60), true
		}
	}
	if h.chance(40, "auto") {
		h.rules.Auto = autoRules("").Auto
	}
	if h.chance(20, "freeze") {
		h.rules.Freeze = []config.Freeze{{Cron: "0 * * * *", For: 20 * minute, Reason: "each hour", Except: config.FreezeExcept{Lanes: []string{"lane0"}, Labels: []string{"urgent"}, Paths: []string{"a/**"}}}}
	}
	if h.chance(20, "limit") {
		h.rules.ParkedLimit = time.Hour
	}
	if h.chance(50, "blocking") {
		h.rules.BlockingLabels = []string{"hold"}
	}
	if h.chance(50, "its CI") {
		h.headOpen = func() bool { return h.chance(20, "its CI goes on") }
		h.headFlake = func() bool { return h.chance(10, "its CI flakes") }
	}
	if h.chance(25, "versions") {
		h.versions = servers[h.pick(len(servers), "server")]
		h.sees = map[string]map[string][]string{}
		for _, by := range servers[3] {
			h.sees[by] = map[string][]string{}
			for _, n := range h.targets {
				for _, d := range h.targets {
					if h.chance(15, "sees") {
						h.sees[by][n] = append(h.sees[by][n], d)
					}
				}
			}
		}
	}
	if steps := h.commits[h.main].tree[stepsFile]; h.chance(25, "quarantine") && h.hosts.broken == "" && !h.drifting && !h.hosts.stale && !h.everything && !strings.Contains(steps, ":tree") && !strings.Contains(steps, ":repository:") {
		x.apart()
	}
	if h.chance(40, "learns") {
		h.learns = func(queue.Learn) *queue.Model {
			m := idle()
			m.Good.Used = h.chance(50, "useful") // and cannot be read here
			return m
		}
	}
	h.faulty()
	h.audit.looks, h.saw = x.looks, x.saw
	return x
}

// apart has targets put into quarantine and taken out again.
func (x *wide) apart() {
	x.files("~a", x.chance(50, "a from the beginning"))
	x.files("~b@2026-01-05", x.chance(30, "b for a day"))
	x.shaky = func(queue.Key) bool { return x.chance(30, "shaky") }
	entries := []string{"~a", "-~a", "~b", "-~b", "~b@2026-01-05", "-~b@2026-01-05", "~c", "-~c", "~c@2026-01-06"}
	x.draw = func(t tree) edit {
		switch n := x.pick(100, "quarantine"); {
		case n < 15:
			return edit{stepsFile: entries[x.pick(len(entries), "entry")]}
		case n < 22: // excuses itself, or tries to
			return edit{"a/code": "bad", stepsFile: "~a"}
		case n < 30:
			return edit{"a/code": "bad"}
		}
		return x.smuggle(edits()[x.pick(len(edits()), "edit")])
	}
}

// crowds has many changes of few targets come at once, which are taken to be good.
func (x *wide) crowds() {
	x.Helper()
	x.rules.Batch, x.rules.BatchMax = []config.Batch{config.BatchRollup, config.BatchRollup, config.BatchIndependent}[x.pick(3, "batch")], 2+x.pick(3, "most")
	x.rules.Quotas = nil
	x.core.facts.Beliefs.Ask(trusting{})
	x.relation(0)
	x.begin(1 + x.pick(2, "slots"))
	words := []string{"p", "q", "r", "bad", "heal", "danger", "ugly", "-base", "deleted"}
	for i := range 3 + x.pick(5, "pulls") {
		e := edit{fileOf(x.targets[x.pick(2, "target")]): fmt.Sprint("own", i)}
		if x.chance(25, "a word") {
			e[fileOf(x.targets[x.pick(2, "target")])] += " " + words[x.pick(len(words), "word")]
		}
		x.step(x.say(x.open(x.main, e), "dev", "/land"))
	}
	x.settleDown()
}

// calmDown ends all that keeps changes from landing.
func (x *wide) calmDown() {
	x.Helper()
	x.logf("##### calm of what is asked for")
	x.headOpen, x.headFlake = nil, nil
	for _, p := range x.pulls {
		p.lacks, p.native = nil, 0 // and nobody hears of it
	}
	x.rules.BlockingLabels = nil
	if x.branches != nil && x.branches.gitlab != nil {
		x.branches.gitlab.resets = false
	}
	x.branch = x.core.State().Main.Branch
	x.roles = map[string]string{}
	x.permissions.Queue, x.permissions.Land = "", ""
	if len(x.versions) > 0 {
		x.serve(servers[3]...)
	}
	x.tell(queue.Access{})
	x.calm()
	for n := 0; x.requires && x.outsiders() > 0; n++ {
		if n > 100 || x.wake <= x.now {
			x.Fatalf("%d changes wait for what is met", x.outsiders())
		}
		x.now = x.wake
		x.tell(queue.Tick{})
		x.quiesce()
	}
	x.waitOut()
	if x.branches != nil && x.branches.gitlab != nil {
		x.followAll()
		x.waitOut()
	}
	x.audit.final()
	x.audit.ends()
	x.idles(3 * time.Hour)
	x.rests()
	x.idles(20 * time.Hour)
}
