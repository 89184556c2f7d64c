package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// stageBegins is when stages begin: 5 January 2026, 9:00 UTC.
const stageBegins queue.Instant = 1767603600000

// daily is a rule by which landings are held for half an hour each day, first in ten
// minutes; and when that begins.
func daily(now queue.Instant, except config.FreezeExcept) (config.Freeze, queue.Instant) {
	at := now.Add(10 * time.Minute).Time().Truncate(time.Minute)
	return config.Freeze{Cron: fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour()), For: 30 * time.Minute, Reason: "the release", Except: except}, queue.At(at)
}

// frozen is a stage on which a freeze begins in a while; changes 1 and 2 are there, and
// their builds go on.
func frozen(t *testing.T, except config.FreezeExcept) (*stage, queue.Instant) {
	t.Helper()
	rule, start := daily(stageBegins, except)
	s := newStage(t, config.Rules{Lanes: []config.Lane{{Name: "high", Least: "write"}, {Name: "normal"}}, DefaultLane: "normal", Landing: config.Landing{Freeze: []config.Freeze{rule}}}, stated{})
	s.requires, s.textual = true, true
	s.tell(queue.Capacity{Slots: 9})
	s.changes("a", "b")
	s.sleep(start)
	return s, start
}

// rules puts other freezes into the configuration.
func (s *stage) rules(f []config.Freeze) {
	c := *s.core.s.Main.Config
	c.Queue.Freeze = f
	s.core.s.Main.Config = &c
	meta := queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain}
	r, _, err := s.core.State().Encode(meta)
	if err != nil {
		s.t.Fatal(err)
	}
	s.store.records[meta] = r.Data // as if a turn had read it
	s.tell(queue.Tick{})
}

// finishAll ends all builds.
func (s *stage) finishAll() {
	for len(s.going()) > 0 {
		s.finish(s.going()[0])
	}
	s.settleDown()
}

// A freeze of the configuration begins and ends by itself: builds go on, landing waits, and
// all changes that wait show until when and why.
func TestWindowHoldsLandings(t *testing.T) {
	s, start := frozen(t, config.FreezeExcept{})
	s.finishAll()
	s.mustAll(queue.Pending, queue.Pending)
	end := start.Add(30 * time.Minute)
	p := s.core.State().Main.Paused
	if p == nil || p.Until != end || p.Reason != "the release" || p.Window == nil {
		t.Fatalf("%+v; want until %d", p, end)
	}
	v, _ := s.core.PullView(1)
	if len(v.Waits) == 0 || v.Waits[0].Code != queue.ReasonPaused || v.Waits[0].Until != end || v.Waits[0].Detail != "the release" || len(v.Waits[0].Names) > 0 {
		t.Errorf("it waits for %+v", v.Waits)
	}
	s.sleep(end)
	s.settleDown()
	s.mustAll(queue.Landed, queue.Landed)
	s.calm()
}

// Only changes that the configuration excepts land meanwhile, and emergencies.
func TestWindowExcepts(t *testing.T) {
	for name, x := range map[string]struct {
		except config.FreezeExcept
		say    string
		then   func(s *stage)
	}{
		"lane": {except: config.FreezeExcept{Lanes: []string{"high"}}, say: "/land priority=high"},
		"path": {except: config.FreezeExcept{Paths: []string{fileOf("b")}}},
		"label": {except: config.FreezeExcept{Labels: []string{"hotfix"}}, then: func(s *stage) {
			s.pulls[2].spared = []string{"hotfix"}
			s.tell(queue.Labeled{Number: 2, Label: "Hotfix", Actor: "boss", On: true})
			s.settleDown()
		}},
		"emergency": {say: "/land now it burns"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := frozen(t, x.except)
			if x.say != "" {
				s.step(s.say(s.pulls[2], "boss", x.say))
				s.settleDown()
			}
			if x.then != nil {
				x.then(s)
			}
			s.finishAll()
			s.mustAll(queue.Pending, queue.Landed)
			s.calm()
		})
	}
}

// A resume ends the window that is open, and not the next one. A pause by people stays when
// a window ends.
func TestWindowAndPeople(t *testing.T) {
	s, start := frozen(t, config.FreezeExcept{})
	s.finishAll()
	s.step(s.say(s.pulls[1], "boss", "/queue pause something is wrong"))
	s.settleDown()
	s.sleep(start.Add(30 * time.Minute))
	s.settleDown()
	s.mustAll(queue.Pending, queue.Pending)
	if p := s.core.State().Main.Paused; p == nil || p.By != "boss" {
		t.Fatalf("%+v", p)
	}
	s.step(s.say(s.pulls[1], "boss", "/queue resume"))
	s.settleDown()
	s.mustAll(queue.Landed, queue.Landed)

	s.now = start.Add(24*time.Hour + time.Minute) // the server was away when the next one began
	s.tell(queue.Tick{})
	s.settleDown()
	if p := s.core.State().Main.Paused; p == nil || p.Window == nil {
		t.Fatalf("the next window is not open: %+v", p)
	}
	s.changes("c")
	s.finishAll()
	s.mustBe(s.pulls[3], queue.Pending)
	s.step(s.say(s.pulls[3], "boss", "/queue resume"))
	s.settleDown()
	s.mustBe(s.pulls[3], queue.Landed)
	s.tell(queue.Tick{})
	if p := s.core.State().Main.Paused; p != nil {
		t.Errorf("it is paused again: %+v", p)
	}
	s.calm()
}

// A rule that is taken out of the configuration holds nothing any more.
func TestWindowEndsWithItsRule(t *testing.T) {
	s, _ := frozen(t, config.FreezeExcept{})
	s.finishAll()
	s.mustAll(queue.Pending, queue.Pending)
	s.rules(nil)
	s.tell(queue.Tick{})
	s.settleDown()
	s.mustAll(queue.Landed, queue.Landed)
	s.calm()
}

// Windows without a gap between them are shown as one.
func TestWindowsAreJoined(t *testing.T) {
	s, start := frozen(t, config.FreezeExcept{})
	rule, _ := daily(start.Add(15*time.Minute), config.FreezeExcept{})
	s.rules(append(s.core.s.Main.Config.Queue.Freeze, rule)) // 25 minutes later
	if p := s.core.State().Main.Paused; p == nil || p.Until != start.Add(55*time.Minute) {
		t.Errorf("%+v; want until %d", p, start.Add(55*time.Minute))
	}
}

// A branch that takes no pushes is tried from time to time. A window of the configuration
// that opens meanwhile holds these pushes, too: nothing lands in it but what the window
// excepts, and emergencies.
func TestWindowHoldsProbes(t *testing.T) {
	for _, say := range []string{"", "/land now it burns"} {
		rule, start := daily(stageBegins, config.FreezeExcept{})
		s := newStage(t, config.Rules{Landing: config.Landing{Freeze: []config.Freeze{rule}}}, stated{})
		pushes := []queue.Instant{}
		s.refusesIf = func(*queue.Push) string { pushes = append(pushes, s.now); return closedRule }
		s.tell(queue.Capacity{Slots: 9})
		s.changes("a", "b")
		s.finishAll()
		p := s.core.State().Main.Paused
		if p == nil || p.Code != queue.ReasonProtected || p.At >= start {
			t.Fatalf("%+v; want the branch closed", p)
		}
		s.refusesIf = nil // the branch would take a push by now
		if say != "" {
			s.step(s.say(s.pulls[2], "boss", say))
			s.settleDown()
		}
		end := start.Add(30 * time.Minute)
		if p.Probe >= end {
			t.Fatalf("the next try is at %d, after the window", p.Probe)
		}
		s.now = max(p.Probe, start.Add(time.Minute)) // the window is open
		s.tell(queue.Tick{})
		s.settleDown()
		if say == "" {
			s.mustAll(queue.Pending, queue.Pending)
		} else {
			s.mustAll(queue.Pending, queue.Landed)
		}
		s.now = end
		s.tell(queue.Tick{})
		s.settleDown()
		s.mustAll(queue.Landed, queue.Landed)
		s.calm()
	}
}

// Changes that a freeze lets through conflict with one that it holds and that came before: they
// are built and landed without that one, in their order, though nothing is built for free slots. If the
// freeze ends before they could be built, they stay behind.
func TestWindowExceptsOneBehind(t *testing.T) {
	for name, x := range map[string]struct {
		left time.Duration
		want []queue.Phase
	}{
		"in time":  {left: 30 * time.Minute, want: []queue.Phase{queue.Pending, queue.Landed, queue.Pending, queue.Landed}},
		"too late": {left: 3 * time.Second, want: []queue.Phase{queue.Pending, queue.Pending, queue.Pending, queue.Pending}},
	} {
		t.Run(name, func(t *testing.T) {
			rule, start := daily(stageBegins, config.FreezeExcept{Labels: []string{"hotfix"}})
			rule.For = x.left
			s := newStage(t, config.Rules{Spare: config.SpareNever, Landing: config.Landing{Freeze: []config.Freeze{rule}}}, stated{})
			s.requires = true
			s.sleep(start)
			s.changes("a b", "b", "b", "b")
			for _, n := range []int{2, 4} {
				s.pulls[n].spared = []string{"hotfix"}
				s.tell(queue.Labeled{Number: n, Label: "Hotfix", Actor: "boss", On: true})
			}
			s.settleDown()
			first, second := s.change(s.pulls[2]), s.change(s.pulls[4])
			if before := first.Virtual < s.change(s.pulls[1]).Virtual; before != (x.left > time.Minute) {
				t.Errorf("the first hotfix is at %d, the change that is held at %d", first.Virtual, s.change(s.pulls[1]).Virtual)
			}
			v, _ := s.core.View(s.id(1))
			at := slices.IndexFunc(v.Waits, func(r queue.Reason) bool { return r.Code == queue.ReasonWaitsThrough })
			if at >= 0 != (x.left > time.Minute) || at >= 0 && !slices.Equal(v.Waits[at].Names, idStrings([]queue.ChangeID{first.ID, second.ID})) {
				t.Errorf("the change that is held is told %+v", v.Waits)
			}
			if x.left < time.Minute {
				return
			}
			s.tell(queue.Capacity{Slots: 9})
			s.settleDown()
			s.finishAll()
			s.mustAll(x.want...)
			if s.change(s.pulls[4]).Decided < s.change(s.pulls[2]).Decided {
				t.Errorf("the first landed at %d, the second at %d", first.Decided, second.Decided)
			}
			s.calm()
		})
	}
}
