package mirror

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/submitqueue/submitqueue/forge"
)

// pace counts how often the remote is used, against forge.Pace. Pushes to target branches
// never wait for it; those of our own refs wait (OwnRefs.Wait), and meanwhile become one.
type pace struct {
	mu     sync.Mutex
	recent []time.Time // pushes of the last minute, oldest first
	last   time.Time   // push of our own refs
	held   Held
	reads  *rate.Limiter
}

// Held is what the pace of a remote holds up.
type Held struct {
	Until  time.Time // our own refs are pushed again; past or zero: nothing is held up
	Pushes int       // that its host wants at most in a minute
}

// pushed counts a push that begins.
func (p *pace) pushed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.recent = append(p.within(now), now)
}

// within drops what is older than a minute; the caller holds mu.
func (p *pace) within(now time.Time) []time.Time {
	for len(p.recent) > 0 && now.Sub(p.recent[0]) >= time.Minute {
		p.recent = p.recent[1:]
	}
	return p.recent
}

// ours counts a push of our own refs that begins, beside pushed.
func (p *pace) ours() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.held = time.Now(), Held{}
}

// wait returns how long our own refs wait until they are pushed. With as many pushes in
// the last minute as the host wants, that is until a minute after the first of these; but
// no longer than it takes to have one more push since the last of ours: however many
// changes land, builds are pushed at the pace that the host wants of all. Refs that nobody
// waits for (idle) leave half of the pushes to others, and go after a minute.
func (p *pace) wait(want forge.Pace, idle bool) time.Duration {
	if want.Pushes == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	recent := p.within(now)
	most, share := want.Pushes, time.Minute/time.Duration(want.Pushes)
	if idle {
		most, share = (most+1)/2, time.Minute
	}
	wait := time.Duration(0)
	if len(recent) >= most {
		wait = max(0, min(recent[len(recent)-most].Add(time.Minute).Sub(now), p.last.Add(share).Sub(now)))
	}
	if !idle {
		p.held = Held{}
		if wait > 0 {
			p.held = Held{Until: now.Add(wait), Pushes: want.Pushes}
		}
	}
	return wait
}

// read waits until the remote may be read.
func (p *pace) read(ctx context.Context, r forge.Remote) error {
	if r.Pace.Reads == 0 {
		return nil
	}
	p.mu.Lock()
	if p.reads == nil {
		p.reads = rate.NewLimiter(rate.Limit(r.Pace.Reads), r.Pace.Reads)
	}
	reads := p.reads
	p.mu.Unlock()
	return reads.Wait(ctx)
}

// Held tells what the pace of the remote holds up at present. It asks nobody.
func (m *Remotes) Held() Held {
	m.pace.mu.Lock()
	defer m.pace.mu.Unlock()
	return m.pace.held
}
