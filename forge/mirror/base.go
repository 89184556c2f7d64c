package mirror

import (
	"container/heap"
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// baseVisits bounds the search for a merge base; git is asked for what is
// farther away.
const baseVisits = 2000

// What a commit is reached from, or is.
const (
	fromOurs = 1 << iota
	fromTheirs
	stale // an ancestor of a common ancestor
	listed
)

// mergeBase returns the one best common ancestor of two commits. Not ok: there
// is none, or there are several, or they are far away; git is to be asked. Where ours
// does not stand on a branch whose ancestry is known, it goes about it as git does: by
// date, from both sides, until all that is left are ancestors of what was found.
func (m *History) mergeBase(ctx context.Context, ours, theirs queue.CommitID) (base queue.CommitID, ok bool, err error) {
	if ours == theirs {
		return ours, true, nil
	}
	if base, ok, err = m.ancestries.base(ctx, m, ours, theirs); err != nil || ok {
		return base, ok, err
	}
	return m.baseByDate(ctx, ours, theirs)
}

// baseByDate is mergeBase of any two commits.
func (m *History) baseByDate(ctx context.Context, ours, theirs queue.CommitID) (base queue.CommitID, ok bool, err error) {
	flags := map[queue.CommitID]int{}
	q := &walk{flags: flags}
	add := func(id queue.CommitID, flag int) error {
		was := flags[id]
		if was|flag == was {
			return nil
		}
		info, err := m.objects.info(ctx, id)
		if err != nil {
			return err
		}
		flags[id] = was | flag
		q.seen++
		heap.Push(q, visit{id, info.date, q.seen})
		return nil
	}
	if _, err := m.objects.infos(ctx, []queue.CommitID{ours, theirs}); err != nil {
		return "", false, err
	}
	if err := add(ours, fromOurs); err != nil {
		return "", false, err
	}
	if err := add(theirs, fromTheirs); err != nil {
		return "", false, err
	}
	var found []queue.CommitID
	for q.live() {
		if q.seen > baseVisits {
			return "", false, nil
		}
		at := heap.Pop(q).(visit).id
		pass := flags[at] & (fromOurs | fromTheirs | stale)
		if pass == fromOurs|fromTheirs {
			if flags[at]&listed == 0 {
				flags[at] |= listed
				found = append(found, at)
			}
			pass |= stale
		}
		info, err := m.objects.info(ctx, at)
		if err != nil {
			return "", false, err
		}
		for _, p := range info.parents {
			if err := add(p, pass); err != nil {
				return "", false, err
			}
		}
	}
	for _, id := range found {
		if flags[id]&stale != 0 {
			continue
		}
		if ok {
			return "", false, nil
		}
		base, ok = id, true
	}
	return base, ok, nil
}

// visit is a commit that is to be looked at.
type visit struct {
	id   queue.CommitID
	date int64
	n    int
}

// walk has the youngest commit first.
type walk struct {
	visits []visit
	flags  map[queue.CommitID]int
	seen   int
}

func (w *walk) live() bool {
	for _, v := range w.visits {
		if w.flags[v.id]&stale == 0 {
			return true
		}
	}
	return false
}

// Len implements heap.Interface, as do the next four.
func (w *walk) Len() int { return len(w.visits) }

// Less implements heap.Interface.
func (w *walk) Less(i, j int) bool {
	a, b := w.visits[i], w.visits[j]
	return a.date > b.date || a.date == b.date && a.n < b.n
}

// Swap implements heap.Interface.
func (w *walk) Swap(i, j int) { w.visits[i], w.visits[j] = w.visits[j], w.visits[i] }

// Push implements heap.Interface.
func (w *walk) Push(v any) { w.visits = append(w.visits, v.(visit)) }

// Pop implements heap.Interface.
func (w *walk) Pop() any {
	last := w.visits[len(w.visits)-1]
	w.visits = w.visits[:len(w.visits)-1]
	return last
}
