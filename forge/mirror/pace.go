package mirror

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/submitqueue/submitqueue/forge"
)

// pace counts how often the remote is used, and compares that with forge.Pace. Pushes to
// target branches never wait for it; pushes of our own refs wait (OwnRefs.Wait), and are
// combined into one meanwhile.
type pace struct {
	mu     sync.Mutex
	recent []time.Time // pushes of the last minute, oldest first
	last   time.Time   // push of our own refs
	held   Held
	reads  *rate.Limiter
}

// Held says how long the pace of a remote delays our own refs.
type Held struct {
	Until  time.Time // when our own refs are pushed again; past or zero: they are not delayed
	Pushes int       // the most that its host wants in a minute
}

// pushed counts a push that begins.
func (p *pace) pushed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.recent = append(p.within(now), now)
}

// within drops pushes that are older than a minute; the caller holds mu.
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

// wait returns how long our own refs wait until they are pushed. If the last minute had as
// many pushes as the host wants, they wait until a minute after the first of these. But
// they wait no longer than one push's share of a minute since the last push of our own
// refs. So, however many changes land, builds are pushed at the pace that the host wants
// for all pushes. Refs that nobody waits for (idle) leave half of the pushes to others,
// and go after a minute.
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

// Held returns how the pace of the remote delays our own refs at present. It makes
// no request.
func (m *Remotes) Held() Held {
	m.pace.mu.Lock()
	defer m.pace.mu.Unlock()
	return m.pace.held
}
