package app

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// Comments and checks of a pull request cost calls to the forge, which has a limit for
// them. News (a phase, a reason, an answer, a pause) is told at once, or soon after
// what was told before it. Mere progress (a place, a build, a forecast) is told at
// growing intervals, and by the check; the comment follows now and then.
const (
	// publishPace is the least time between two publications of a pull request that has
	// no verdict yet. In a burst, most states of a change are over before anybody has
	// read of them.
	publishPace = 2 * time.Second
	// progressPace is the least time before the first publication that only tells of
	// progress, where OwnerOptions set none. Each following one waits progressGrowth
	// times as long, up to progressMost paces.
	progressPace   = 30 * time.Second
	progressGrowth = 3
	progressMost   = 20
	// commentPaces is the least time between two edits of a comment for progress.
	commentPaces = 20
)

// telling is what was last told of a pull request.
type telling struct {
	gist      string
	at        time.Time
	commented time.Time
	progress  time.Duration // how long the next publication without news is to wait
}

// lull is a publication without news that waits.
type lull struct {
	gist string
	over chan struct{} // closed when there is news
}

// pacer says when a pull request is told of something.
type pacer struct {
	*ground

	mu     sync.Mutex
	due    map[int]time.Time       // when it may be published next, by pull request
	pacing map[int]chan struct{}   // closed when it is not to wait for due
	lulls  map[int]lull            // publications that wait because they have no news, by pull request
	told   map[int]telling         // what was last told, by pull request
	fresh  map[queue.ChangeID]bool // entered in this ownership, and nothing was said of them yet
}

func newPacer(g *ground) *pacer {
	return &pacer{ground: g, due: map[int]time.Time{}, pacing: map[int]chan struct{}{}, lulls: map[int]lull{},
		told: map[int]telling{}, fresh: map[queue.ChangeID]bool{}}
}

// forget drops the pull requests and changes that the state has dropped.
func (p *pacer) forget(s *queue.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.told, func(n int, _ telling) bool { return s.Pulls[n] == nil })
	maps.DeleteFunc(p.due, func(n int, _ time.Time) bool { return s.Pulls[n] == nil })
	maps.DeleteFunc(p.fresh, func(id queue.ChangeID, _ bool) bool { return s.Changes[id] == nil })
}

// gist is the part of a pull request's state that is news when it changes; begins is true while
// the pull request's change is being analyzed and there is no notice.
func (p *pacer) gist(number int) (gist string, begins bool) {
	_ = p.facts(func(c *speculation.Core) { gist, begins = gistOf(c, number) }) // not owning: the next owner tells
	return gist, begins
}

func gistOf(c *speculation.Core, number int) (gist string, begins bool) {
	s := c.State()
	pull := s.Pulls[number]
	if pull == nil {
		return "", false
	}
	ch := c.Shown(number)
	red := s.Main.Root != ""
	if ch == nil {
		return fmt.Sprint(pull.Notice, pull.NoticeTo, pull.Edited), false
	}
	begins = ch.Phase == queue.Analyzing
	phase := ch.Phase
	if phase == queue.Landing {
		phase = queue.Pending // it is over in a moment, and then there is more to say
	}
	why := ch.Reason
	if phase == queue.Pending {
		why = queue.Reason{} // its waits are progress, not news
	}
	ends := "" // how the pull request ends, which may be known only after the landing was told
	if v := ch.Verdict; v != nil && phase == queue.Landed {
		ends = fmt.Sprint(v.Along, v.Closed, v.ByForge)
	}
	return fmt.Sprint(ch.ID, phase, ends, why, ch.Lane, ch.Parent, pull.Notice, pull.NoticeTo, pull.Answered, pull.Edited, s.Main.Paused != nil, s.Main.Renamed, red, s.Main.Broken),
		begins && pull.Notice.Code == ""
}

// wait waits until it is time for the next publication of a pull request, or
// until it has its verdict.
func (p *pacer) wait(ctx context.Context, t queue.Publish) {
	number := t.Number
	over := make(chan struct{})
	p.mu.Lock()
	p.pacing[number] = over
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.pacing[number] == over {
			delete(p.pacing, number)
		}
		delete(p.lulls, number)
	}()
	if p.over(number) {
		return
	}
	p.mu.Lock()
	wait := max(p.due[number].Sub(p.Now()), 0)
	p.due[number] = p.Now().Add(wait + publishPace)
	p.mu.Unlock()
	if wait > 0 && !p.idle(ctx, wait, over, nil) {
		return
	}
	gist, begins := p.gist(number)
	p.mu.Lock()
	last, known := p.told[number]
	switch {
	case begins && !known:
		wait = publishPace // the command was acknowledged: the first word may say more
	case known && last.gist == gist:
		wait = last.at.Add(last.progress).Sub(p.Now())
	default:
		wait = 0
	}
	news := make(chan struct{})
	if wait > 0 {
		p.lulls[number] = lull{gist, news}
	}
	p.mu.Unlock()
	if wait > 0 {
		p.idle(ctx, wait, over, news)
	}
}

// idle waits and reports whether the whole time has passed, with nothing that ended it.
func (p *pacer) idle(ctx context.Context, wait time.Duration, over, news <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
	case <-news:
	case <-ctx.Done():
	}
	return false
}

// over reports whether there is nothing new to come for a pull request.
func (p *pacer) over(number int) bool {
	over := true
	_ = p.facts(func(c *speculation.Core) {
		pull := c.State().Pulls[number]
		over = pull == nil || pull.Active == "" && pull.Try == ""
	}) // not owning: the next owner carries it out
	return over
}

// hurry ends the pace of a pull request that has its verdict.
func (p *pacer) hurry(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.due, number)
	if over := p.pacing[number]; over != nil {
		delete(p.pacing, number)
		close(over)
	}
}

// stir ends the wait of publications that have news by now.
func (p *pacer) stir(c *speculation.Core) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, l := range p.lulls {
		if gist, _ := gistOf(c, number); gist != l.gist {
			close(l.over)
			delete(p.lulls, number)
		}
	}
}

// worthTelling reports whether the comment is to be written again.
func (p *pacer) worthTelling(number int, gist string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.told[number]
	return !known || last.gist != gist || p.Now().Sub(last.commented) >= commentPaces*p.Progress
}

// urgently says how soon something is to be told: a verdict comes first, and a
// publication without news last.
func (p *pacer) urgently(ctx context.Context, say forge.Publication, gist string) context.Context {
	if say.Ended {
		return forge.WithUrgency(ctx, forge.Urgently)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, known := p.told[say.Number]; known && last.gist == gist {
		return forge.WithUrgency(ctx, forge.Patiently)
	}
	return ctx
}

// retell remembers what was told of a pull request, and when.
func (p *pacer) retell(number int, gist string, commented bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.told[number]
	now := telling{gist: gist, at: p.Now(), commented: was.commented, progress: p.Progress}
	if commented {
		now.commented = now.at
	}
	if was.gist == gist && was.progress > 0 {
		now.progress = min(was.progress*progressGrowth, progressMost*p.Progress)
	}
	p.told[number] = now
}

// enter takes in that a change has entered the queue in this ownership: nobody
// can have made its check yet.
func (p *pacer) enter(id queue.ChangeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh[id] = true
}

func (p *pacer) isFresh(id queue.ChangeID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh[id]
}

func (p *pacer) notFresh(id queue.ChangeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.fresh, id)
}
