package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Commit implements queue.Store. All steps that could fail are done before the
// first write.
func (s *Store) Commit(ctx context.Context, t queue.Turn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	eaten := map[int64]bool{}
	for _, cursor := range t.Eaten {
		c, err := parseCursor(cursor)
		if err != nil {
			return err
		}
		eaten[c] = true
	}
	if err := checkKinds(t); err != nil {
		return err
	}
	passed := map[queue.KeyID][]byte{}
	for _, e := range t.Archive {
		if e.Passed == 0 && e.Lost == 0 || len(e.Keys) != 1 {
			continue
		}
		if e.Passed == 0 {
			passed[e.Keys[0].ID()] = nil
			continue
		}
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("memstore: entry %s: %w", e.ID, err)
		}
		passed[e.Keys[0].ID()] = data
	}

	rows, err := encodeRows(t.Rows)
	if err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.shelf(t.Queue)
	if t.Token == 0 || q.lease.token != t.Token {
		return queue.ErrNotOwner
	}
	if q.version != t.Version {
		return queue.ErrStale
	}
	q.version++
	for _, r := range t.Put {
		q.records[r.Ref] = bytes.Clone(r.Data)
	}
	for _, r := range t.Delete {
		delete(q.records, r)
	}
	q.inbox = slices.DeleteFunc(q.inbox, func(a arrived) bool { return eaten[a.cursor] })
	q.archive(passed, s.now().Add(queue.ArchiveTTL), s.now())
	for _, n := range t.Notes {
		n.Reason.Names = slices.Clone(n.Reason.Names)
		q.notes = append(q.notes, n)
	}
	q.noted += int64(len(t.Notes))
	q.past.keep(rows, s.bounds, s.now())
	if extra := len(q.notes) - historyMax; extra > 0 {
		q.notes = slices.Delete(q.notes, 0, extra)
	}
	return nil
}

// checkKinds refuses records of kinds that Load would not find again.
func checkKinds(t queue.Turn) error {
	refs := slices.Clone(t.Delete)
	for _, r := range t.Put {
		refs = append(refs, r.Ref)
	}
	for _, r := range refs {
		if !slices.Contains(queue.Kinds(), r.Kind) {
			return fmt.Errorf("memstore: %q is no kind of record", r.Kind)
		}
	}
	return nil
}

// archive keeps entries; now and then it drops the expired ones, so that the
// cost of each is constant. An entry without data is taken out.
func (q *shelf) archive(passed map[queue.KeyID][]byte, until, now time.Time) {
	for id, data := range passed {
		if data == nil {
			delete(q.known, id)
			continue
		}
		q.known[id] = archived{data: data, until: until}
	}
	if len(q.known) <= q.sweepAt {
		return
	}
	for id, a := range q.known {
		if !now.Before(a.until) {
			delete(q.known, id)
		}
	}
	q.sweepAt = 2*len(q.known) + 100
}

func decodeEntry(data []byte) (e queue.Entry, err error) {
	err = json.Unmarshal(data, &e)
	return e, err
}
