package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// HeadRef is a pull request's head to fetch.
type HeadRef struct {
	Ref  string // full name at the remote, e.g. refs/pull/7/head
	Want queue.CommitID
}

// FetchHead brings a pull request's head into the mirror, unless it is there
// already, and keeps it. ErrHeadMoved: the ref does not lead to want any more;
// ErrNotFound: there is no such ref.
func (m *Remotes) FetchHead(ctx context.Context, r forge.Remote, ref string, want queue.CommitID) error {
	results, err := m.FetchHeads(ctx, r, []HeadRef{{ref, want}})
	if err != nil {
		return err
	}
	return results[0]
}

// FetchHeads is FetchHead for many heads in one exchange with the remote. It
// returns one result for each: nil, ErrHeadMoved or ErrNotFound. The error beside
// them is the error of the whole exchange.
func (m *Remotes) FetchHeads(ctx context.Context, r forge.Remote, heads []HeadRef) ([]error, error) {
	generation := m.repo.generation.Load()
	wants := make([]queue.CommitID, len(heads))
	for i, h := range heads {
		if err := checkRef(h.Ref); err != nil {
			return nil, err
		}
		wants[i] = h.Want
	}
	if m.holds(wants) {
		return make([]error, len(heads)), nil
	}
	found, err := m.objects.has(ctx, wants)
	if err != nil {
		return nil, err
	}
	var missing []HeadRef
	for i, h := range heads {
		if !found[i] {
			missing = append(missing, h)
		}
	}
	if len(missing) > 0 && m.copyHeads(ctx, r, missing) {
		if found, err = m.objects.has(ctx, wants); err != nil {
			return nil, err
		}
	}
	results := make([]error, len(heads))
	var refs []string
	for i, h := range heads {
		if !found[i] {
			refs = append(refs, h.Ref)
		}
	}
	var gone map[string]bool
	if len(refs) > 0 {
		if gone, err = m.fetchTogether(ctx, r, refs); err != nil {
			return nil, fmt.Errorf("fetching %d heads: %w", len(refs), err)
		}
		if found, err = m.objects.has(ctx, wants); err != nil {
			return nil, err
		}
	}
	var keep []queue.CommitID
	for i, h := range heads {
		switch {
		case found[i]:
			keep = append(keep, h.Want)
		case gone[h.Ref]:
			results[i] = fmt.Errorf("%w: %s at the remote", forge.ErrNotFound, h.Ref)
		default:
			results[i] = fmt.Errorf("%w: %s does not lead to %s", ErrHeadMoved, h.Ref, h.Want)
		}
	}
	if err := m.objects.Flush(ctx); err != nil {
		return nil, err
	}
	m.names.keeping.Lock()
	defer m.names.keeping.Unlock()
	if m.repo.generation.Load() != generation {
		return nil, &forge.Transient{Err: errReplaced}
	}
	for _, id := range keep {
		m.names.kept.put(id, inMirror, 1)
	}
	return results, nil
}

// holds reports whether all of these heads were fetched before and are kept.
func (m *Remotes) holds(heads []queue.CommitID) bool {
	for _, id := range heads {
		if there, _ := m.names.kept.get(id); there != inMirror {
			return false
		}
	}
	return true
}

// exchange is one fetch that several callers wait for. While one is under way,
// new callers join the next: a fetch of one head costs nearly as much as a
// fetch of many.
type exchange struct {
	refs []string
	done chan struct{} // closed when gone and err are there
	gone map[string]bool
	err  error
}

// fetchTogether fetches refs and returns those that the remote does not have.
func (m *Remotes) fetchTogether(ctx context.Context, r forge.Remote, refs []string) (gone map[string]bool, err error) {
	key := strings.Join(append([]string{r.URL}, r.Header...), "\x00")
	for {
		m.mu.Lock()
		e := m.exchanges[key]
		leads := e == nil
		if leads {
			e = &exchange{done: make(chan struct{})}
			m.exchanges[key] = e
		}
		e.refs = append(e.refs, refs...)
		m.mu.Unlock()
		if leads {
			m.lead(ctx, r, key, e)
			return e.gone, e.err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(e.err, context.Canceled) && !errors.Is(e.err, context.DeadlineExceeded) {
			return e.gone, e.err
		}
		// The caller that led the exchange has given up; this one has not.
	}
}

// lead carries out an exchange once it is the mirror's turn to fetch.
func (m *Remotes) lead(ctx context.Context, r forge.Remote, key string, e *exchange) {
	defer close(e.done)
	select {
	case m.fetches <- struct{}{}:
		defer func() { <-m.fetches }()
	case <-ctx.Done():
		e.err = ctx.Err()
	}
	m.mu.Lock()
	delete(m.exchanges, key) // from here on nobody joins
	m.mu.Unlock()
	if e.err != nil {
		return
	}
	slices.Sort(e.refs)
	refs := slices.Compact(e.refs)
	e.gone = map[string]bool{}
	for len(refs) > 0 {
		err := m.fetchNow(ctx, r, refs)
		var missing *missingRef
		if !errors.As(err, &missing) || !slices.Contains(refs, missing.ref) {
			e.err = err
			return
		}
		e.gone[missing.ref] = true
		refs = slices.DeleteFunc(refs, func(ref string) bool { return ref == missing.ref })
	}
}
