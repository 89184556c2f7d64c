package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// locate finds where the repository is by now, once in an ownership and again
// when we hear that it has moved. The state knows it by its id: a queue keeps all
// that it has when its repository is given another name, and never goes on with
// another repository that has taken the old one.
func (p *performer) locate(ctx context.Context) (forge.Place, error) {
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
	p.Renamed(place.Name)
	if p.Moved != nil {
		p.Moved(place)
	}
	return place, nil
}

func (p *performer) askPlace(ctx context.Context, f forge.Locator) (forge.Place, error) {
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

// orAway tells "there is no such thing" from "we may not see it": a forge gives
// the same answer to both.
func (p *performer) orAway(ctx context.Context, err error) error {
	f := p.Forge.Capabilities().Locator
	if f == nil || !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrForbidden) || errors.Is(err, forge.ErrAway) {
		return err
	}
	if _, away := p.askPlace(ctx, f); errors.Is(away, forge.ErrAway) {
		return away
	}
	return err
}

// reached has the repository looked for again when something is said of our
// access to it, and what was missed meanwhile asked for.
func (p *performer) reached(events []queue.Event) {
	for _, e := range events {
		if _, ok := e.Body.(queue.Renamed); ok {
			p.mu.Lock()
			p.place, p.houseAt = forge.Place{}, time.Time{} // what is the default branch is part of both
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
			case p.again <- struct{}{}:
			default:
			}
		}
	}
}

// waitMissed waits until the forge is to be asked again for what was missed.
func (o *Owner) waitMissed(ctx context.Context, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-o.again:
	case <-ctx.Done():
	}
}
