package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// A damaged mirror is nobody's fault and loses nothing: it is a copy, and the commits
// that were made in it follow from the state. So an action that meets damage waits
// until the mirror was made again, and begins again. No attempt is counted, no change
// is parked, and the builds that run are not touched.

const (
	healTries   = 3                // of one action, on mirrors that were made again for it
	healPause   = time.Second      // before the next healing; doubled each time
	healPauses  = 10 * time.Minute // at most
	healForgets = time.Hour        // without damage, until pauses are short again
	healSound   = 5 * time.Second  // how long a mirror that was found sound counts as sound
)

// health is what an owner knows of its mirror.
type health struct {
	mu      sync.Mutex
	now     *healing // under way
	count   int      // healings begun since it was well for long
	ended   time.Time
	failed  string    // why the last healing came to nothing
	sound   time.Time // when suspicion was last found to be groundless
	soundAt int64     // generation of the mirror then
}

// healing is one making of the mirror that several wait for.
type healing struct {
	why   string
	since time.Time
	done  chan struct{}
	ok    bool // known once done is closed
}

// healer makes the mirror again.
type healer struct {
	*commits
	ownership
	health *health // of the owner: it outlasts an ownership
}

// mended reports whether work that began on the mirror of a generation, and ended with
// err, is worth doing again. It is where the mirror was damaged and has been made
// again, or where wrong knowledge of it has been forgotten.
func (p *healer) mended(ctx context.Context, generation int64, err error) bool {
	if err == nil || ctx.Err() != nil || !p.Mirror.Suspect(err) {
		return false
	}
	h := p.health
	h.mu.Lock()
	if p.Mirror.Generation() != generation {
		h.mu.Unlock()
		return true
	}
	now := h.now
	if now == nil {
		if h.soundAt == generation && p.Now().Sub(h.sound) < healSound {
			h.mu.Unlock()
			return false
		}
		now = &healing{since: p.Now(), done: make(chan struct{})}
		h.now = now
		h.mu.Unlock()
		p.heal(ctx, now, generation, err) // the action that met the damage first heals; all others wait for it
		return now.ok
	}
	h.mu.Unlock()
	select {
	case <-now.done:
		return now.ok
	case <-ctx.Done():
		return false
	}
}

// heal makes the mirror again, where it is damaged. It goes on when ctx ends, because
// other actions wait for it, and ends with the ownership.
func (p *healer) heal(ctx context.Context, now *healing, generation int64, cause error) {
	ctx, stop := p.within(context.WithoutCancel(ctx))
	defer stop()
	h := p.health
	why, err := p.examine(ctx, cause)
	if err == nil && why != "" {
		err = p.healOnce(ctx, now, why, cause)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now, h.ended, h.failed = nil, p.Now(), ""
	now.ok = p.Mirror.Generation() != generation
	if err != nil {
		h.failed = err.Error()
	}
	close(now.done)
}

// examine says what is wrong with the mirror; "": nothing.
func (p *healer) examine(ctx context.Context, cause error) (why string, err error) {
	var made []queue.CommitID
	if err := p.facts(func(c *speculation.Core) {
		for _, l := range c.State().Links {
			if l.Commit != "" {
				made = append(made, l.Commit)
			}
		}
	}); err != nil {
		return "", err
	}
	why = p.Mirror.Examine(ctx, cause, made...)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if why == "" {
		p.health.mu.Lock()
		p.health.sound, p.health.soundAt = p.Now(), p.Mirror.Generation()
		p.health.mu.Unlock()
		p.Metrics.RecordHealing(p.Called(), "sound")
	}
	return why, nil
}

// healOnce makes the mirror again once, after a pause where it was made not long ago.
func (p *healer) healOnce(ctx context.Context, now *healing, why string, cause error) error {
	h := p.health
	h.mu.Lock()
	now.why = why
	wait := time.Duration(0)
	if p.Now().Sub(h.ended) > healForgets {
		h.count = 0
	}
	if h.count > 0 {
		wait = min(healPause<<min(h.count-1, 20), healPauses) - p.Now().Sub(h.ended)
	}
	h.count++
	h.mu.Unlock()
	p.Log.Warn("the mirror is damaged; it is made again beside the old one, and what needs it waits",
		"queue", p.Called(), "damage", texts.ClipLine(why, 300), "met", texts.ClipLine(cause.Error(), 300), "in", max(wait, 0))
	if wait > 0 && !pause(ctx, wait) {
		return ctx.Err()
	}
	began := time.Now()
	err := p.remakeMirror(ctx)
	if err != nil {
		p.Metrics.RecordHealing(p.Called(), "failed")
		p.Log.Warn("the mirror could not be made again; the old one stays, and it is tried again when it is needed", "queue", p.Called(), "error", err)
		return err
	}
	p.Metrics.RecordHealing(p.Called(), "healed")
	p.Log.Warn("the mirror was made again", "queue", p.Called(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// remakeMirror fetches the target branch and the heads of the changes that have no
// verdict into a new mirror. Trial merges are made again when they are asked for.
func (p *healer) remakeMirror(ctx context.Context) error {
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return err
	}
	var heads []mirror.HeadRef
	if err := p.facts(func(c *speculation.Core) {
		for _, ch := range c.State().Changes {
			if !ch.Phase.Final() && ch.Revert == "" && ch.HeadRef != "" {
				heads = append(heads, mirror.HeadRef{Ref: ch.HeadRef, Want: ch.Head})
			}
		}
	}); err != nil {
		return err
	}
	return p.Mirror.Heal(ctx, remote, []string{p.branch()}, heads)
}

// mendFor brings commits into the mirror for a build that could not get them.
func (p *healer) mendFor(ctx context.Context, generation int64, err error, commits []queue.CommitID) bool {
	if errors.Is(err, forge.ErrNotFound) && p.hold(ctx, commits...) == nil {
		return true
	}
	return p.mended(ctx, generation, err) && p.hold(ctx, commits...) == nil
}

// mending says for people that the mirror is being made again, or "".
func (h *health) mending() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.now != nil && h.now.why != "":
		return fmt.Sprintf("this server's copy of the repository is damaged and has been made again since %s; all that needs it waits",
			h.now.since.UTC().Format("15:04:05 MST"))
	case h.failed != "":
		return "this server's copy of the repository is damaged and could not be made again: " + texts.ClipLine(h.failed, 300)
	}
	return ""
}
