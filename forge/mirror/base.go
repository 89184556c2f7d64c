package mirror

import (
	"context"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// baseVisits bounds the search for a merge base; git is asked for a base that is
// farther away.
const baseVisits = 2000

// Marks of a commit: where it is reached from, and its state in the search.
const (
	fromOurs = 1 << iota
	fromTheirs
	stale // an ancestor of a common ancestor
	listed
)

// mergeBase returns the one best common ancestor of two commits. Not ok: there is
// none, or there are several, or they are far away; git must be asked. If ours does
// not stand on a branch with a known ancestry, it searches as git does: by date,
// from both sides, until only ancestors of the found commits are left.
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
		q.left = append(q.left, visit{id, info.date})
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
		at := q.next()
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

// walk holds the commits that a search by date has seen, and those that it must
// still look at.
type walk struct {
	left  []visit
	flags map[queue.CommitID]int
	seen  int
}

// visit is a commit that is to be looked at.
type visit struct {
	id   queue.CommitID
	date int64
}

// live reports whether any commit is left that may lead to another common ancestor.
func (w *walk) live() bool {
	return slices.ContainsFunc(w.left, func(v visit) bool { return w.flags[v.id]&stale == 0 })
}

// next takes the youngest commit, of several the one that was seen first.
func (w *walk) next() queue.CommitID {
	at := 0
	for i, v := range w.left {
		if v.date > w.left[at].date {
			at = i
		}
	}
	id := w.left[at].id
	w.left = slices.Delete(w.left, at, at+1)
	return id
}
