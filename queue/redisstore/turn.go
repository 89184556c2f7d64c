package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// historyMax is about how many notes of a queue are kept.
const historyMax = 10_000

// Commit implements queue.Store. The number of bytes that it sends depends only
// on the size of the turn.
//
// When the connection breaks while Redis answers, the client may send the turn
// again; where the first one was written, the answer is ErrStale.
func (s *Store) Commit(ctx context.Context, t queue.Turn) error {
	names, args, err := encodeTurn(t, s.past)
	if err != nil {
		return err
	}
	n, err := commitScript.Run(ctx, s.client, names, args...).Int64()
	if err != nil {
		return fmt.Errorf("redisstore: committing turn %d of %s: %w", t.Version+1, t.Queue, err)
	}
	return said(n)
}

// encodeTurn returns the arguments of commitScript. It refuses a turn that
// would make the script fail half-way.
func encodeTurn(t queue.Turn, past queue.PastBounds) (names []string, args []any, err error) {
	k := keysOf(t.Queue)
	names = []string{k.fence(), k.version(), k.inbox(), k.history(), k.index(), k.kept(), k.past(), k.pastBytes()}
	place := map[queue.Kind]int{}
	for _, kind := range queue.Kinds() {
		names = append(names, k.kind(kind))
		place[kind] = len(names)
	}
	archive := passesOf(t.Archive)
	args = make([]any, 0, 15+3*len(t.Put)+2*len(t.Delete)+len(t.Eaten)+len(t.Notes)+2*len(t.Rows)+3*len(archive))
	args = append(args, t.Token, t.Version, t.Version+1, historyMax, queue.ArchiveTTL.Milliseconds(), expiredSome,
		len(t.Put), len(t.Delete), len(t.Eaten), len(t.Notes), len(archive), len(t.Rows))
	args = append(args, boundsOf(past)...)
	for _, r := range t.Put {
		if place[r.Kind] == 0 {
			return nil, nil, fmt.Errorf("redisstore: %q is no kind of record", r.Kind)
		}
		args = append(args, place[r.Kind], r.ID, r.Data)
	}
	for _, r := range t.Delete {
		if place[r.Kind] == 0 {
			return nil, nil, fmt.Errorf("redisstore: %q is no kind of record", r.Kind)
		}
		args = append(args, place[r.Kind], r.ID)
	}
	for _, cursor := range t.Eaten {
		if err := checkCursor(cursor); err != nil {
			return nil, nil, err
		}
		args = append(args, cursor)
	}
	for _, n := range t.Notes {
		data, err := json.Marshal(n)
		if err != nil {
			return nil, nil, fmt.Errorf("redisstore: note: %w", err)
		}
		args = append(args, data)
	}
	rows, err := encodeRows(t.Rows)
	if err != nil {
		return nil, nil, err
	}
	args = append(args, rows...)
	for _, e := range archive {
		data := []byte(nil)
		if e.Passed != 0 {
			if data, err = json.Marshal(e); err != nil {
				return nil, nil, fmt.Errorf("redisstore: entry %s: %w", e.ID, err)
			}
		}
		byID, byTarget := indexed(e)
		names, args = append(names, k.known(e.Keys[0].ID())), append(args, byID, byTarget, data)
	}
	return names, args, nil
}

// passesOf leaves out sets, and entries that have not passed, except revoked passes:
// the archive is for passes of keys.
func passesOf(entries []queue.Entry) []queue.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e queue.Entry) bool { return e.Passed == 0 && e.Lost == 0 || len(e.Keys) != 1 })
}
