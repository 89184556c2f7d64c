package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// site holds the place of the repository at its forge, and its settings there.
type site struct {
	*ground

	mu      sync.Mutex
	place   forge.Place // without an id: not asked for yet
	house   forge.House
	houseAt time.Time // as the settings were then

	unseen map[queue.CommitID]bool // heads were moved to them in this ownership, and nobody has asked what was reported on them
}

// mostUnseen bounds site.unseen; a forgotten one costs a search.
const mostUnseen = 1000

// nowUnseen notes that nobody can have reported anything on a commit.
func (p *site) nowUnseen(commit queue.CommitID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unseen == nil || len(p.unseen) >= mostUnseen {
		p.unseen = map[queue.CommitID]bool{}
	}
	p.unseen[commit] = true
}

// isUnseen reports whether nobody can have reported anything on a commit until now.
func (p *site) isUnseen(commit queue.CommitID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.unseen[commit]
	delete(p.unseen, commit)
	return was
}

// locate finds where the repository is by now, once in an ownership and again when we
// hear that it has moved. The state knows the repository by its id. So a queue keeps
// all that it has when its repository is renamed, and never goes on with another
// repository that has taken the old name.
func (p *site) locate(ctx context.Context) (forge.Place, error) {
	f := p.Forge.Capabilities().Locator
	p.mu.Lock()
	place := p.place
	p.mu.Unlock()
	if f == nil || place.ID != 0 {
		return place, nil
	}
	place, err := p.askPlace(ctx, f)
	if err != nil {
		return place, err
	}
	p.mu.Lock()
	p.place = place
	p.mu.Unlock()
	p.owner.Renamed(place.Name)
	if p.Moved != nil {
		p.Moved(place)
	}
	return place, nil
}

func (p *site) askPlace(ctx context.Context, f forge.Locator) (forge.Place, error) {
	var id int64
	if err := p.facts(func(c *speculation.Core) { id = c.State().Main.Repository }); err != nil {
		return forge.Place{}, err
	}
	place, err := f.Locate(ctx, id)
	if errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrForbidden) && !errors.Is(err, forge.ErrAway) {
		err = fmt.Errorf("%w: it was deleted, or the App was not given it; restore it, or add it to the App's installation: %w", forge.ErrAway, err)
	}
	return place, err
}

// orAway distinguishes "there is no such thing" from "we may not see it": a forge gives
// the same answer in both cases.
func (p *site) orAway(ctx context.Context, err error) error {
	f := p.Forge.Capabilities().Locator
	if f == nil || !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrForbidden) || errors.Is(err, forge.ErrAway) {
		return err
	}
	if _, away := p.askPlace(ctx, f); errors.Is(away, forge.ErrAway) {
		return away
	}
	return err
}

// gone treats a pull request that has been deleted as shown: nobody can read it.
func gone(done queue.Done, err error) (queue.Body, error) {
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return nil, err
	}
	return done, nil
}

// reached has the repository located again when an event is about our access to it, and
// has the forge asked for the events that were missed meanwhile.
func (p *site) reached(events []queue.Event) {
	for _, e := range events {
		if _, ok := e.Body.(queue.Renamed); ok {
			p.mu.Lock()
			p.place, p.houseAt = forge.Place{}, time.Time{} // both hold the default branch
			p.mu.Unlock()
			continue
		}
		a, ok := e.Body.(queue.Access)
		if !ok {
			continue
		}
		p.mu.Lock()
		p.place, p.houseAt = forge.Place{}, time.Time{}
		p.mu.Unlock()
		if access := p.Forge.Capabilities().Access; access != nil {
			access.Reset()
		}
		if a.Lost == "" {
			select {
			case p.owner.again <- struct{}{}:
			default:
			}
		}
	}
}

// houseFor is how long the repository's settings count as current after they were read.
const houseFor = 10 * time.Minute

func (p *site) houseOf(ctx context.Context, f forge.Closer) (forge.House, error) {
	p.mu.Lock()
	known, at := p.house, p.houseAt
	p.mu.Unlock()
	if !at.IsZero() && p.Now().Sub(at) < houseFor {
		return known, nil
	}
	known, err := f.House(ctx)
	if err != nil {
		return known, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.house, p.houseAt = known, p.Now()
	return known, nil
}

// elseDefault returns the repository's default branch where a landed change is on
// another one; "" where it is on the default branch, or that is not known.
func (p *site) elseDefault(ctx context.Context, ch queue.Change) (string, error) {
	f := p.Forge.Capabilities().Closer
	if f == nil || ch.Phase != queue.Landed {
		return "", nil
	}
	house, err := p.houseOf(ctx, f)
	if err != nil && (isTransient(err) || ctx.Err() != nil) {
		return "", err
	}
	if err != nil || house.Default == p.branch() {
		return "", nil
	}
	return house.Default, nil
}
