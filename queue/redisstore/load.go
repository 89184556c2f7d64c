package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/submitqueue/submitqueue/queue"
)

// Load implements queue.Store. It reads one moment's state. Records come
// ordered by kind, then by id.
func (s *Store) Load(ctx context.Context, name string) ([]queue.Record, int64, error) {
	k := keysOf(name)
	kinds := queue.Kinds()
	hashes := make([]*redis.MapStringStringCmd, len(kinds))
	var stored *redis.StringCmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		stored = p.Get(ctx, k.version())
		for i, kind := range kinds {
			hashes[i] = p.HGetAll(ctx, k.kind(kind))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, 0, fmt.Errorf("redisstore: loading %s: %w", name, err)
	}
	version, err := versionOf(stored)
	if err != nil {
		return nil, 0, fmt.Errorf("redisstore: loading %s: version: %w", name, err)
	}
	var records []queue.Record
	for i, kind := range kinds {
		fields, err := hashes[i].Result()
		if err != nil {
			return nil, 0, fmt.Errorf("redisstore: loading %s: %s: %w", name, kind, err)
		}
		first := len(records)
		for id, data := range fields {
			records = append(records, queue.Record{Ref: queue.Ref{Kind: kind, ID: id}, Data: []byte(data)})
		}
		slices.SortFunc(records[first:], func(a, b queue.Record) int { return cmp.Compare(a.ID, b.ID) })
	}
	return records, version, nil
}

func versionOf(stored *redis.StringCmd) (int64, error) {
	text, err := stored.Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// History implements queue.Store. A note that this version cannot read is left
// out.
func (s *Store) History(ctx context.Context, name string, max int) ([]queue.Note, error) {
	if max <= 0 {
		return nil, ctx.Err()
	}
	messages, err := s.client.XRevRangeN(ctx, keysOf(name).history(), "+", "-", int64(max)).Result()
	if err != nil {
		return nil, fmt.Errorf("redisstore: history of %s: %w", name, err)
	}
	var notes []queue.Note
	for _, m := range messages {
		if n, ok := s.noteOf(ctx, name, m); ok {
			notes = append(notes, n)
		}
	}
	return notes, nil
}

// noteOf reads a note of the history, where this version can.
func (s *Store) noteOf(ctx context.Context, name string, m redis.XMessage) (n queue.Note, ok bool) {
	data, _ := m.Values["n"].(string)
	if err := json.Unmarshal([]byte(data), &n); err != nil {
		s.log.WarnContext(ctx, "a note of the history cannot be read", "queue", name, "note", m.ID, "err", err)
		return queue.Note{}, false
	}
	return n, true
}

// knownChunk is how many keys one command asks the archive for.
const knownChunk = 500

// Known implements queue.Store. An archived entry that cannot be read, or that
// is not about the key it is stored under, is left out.
func (s *Store) Known(ctx context.Context, name string, asked []queue.Key) ([]queue.Entry, error) {
	k := keysOf(name)
	var entries []queue.Entry
	for chunk := range slices.Chunk(asked, knownChunk) {
		names := make([]string, len(chunk))
		for i, key := range chunk {
			names[i] = k.known(key.ID())
		}
		values, err := s.client.MGet(ctx, names...).Result()
		if err != nil {
			return nil, fmt.Errorf("redisstore: archive of %s: %w", name, err)
		}
		for i, v := range values {
			text, ok := v.(string)
			if !ok {
				continue
			}
			var e queue.Entry
			if err := json.Unmarshal([]byte(text), &e); err != nil || e.Passed == 0 || !slices.Equal(e.Keys, chunk[i:i+1]) {
				s.log.WarnContext(ctx, "an archived entry cannot be used", "queue", name, "key", names[i], "err", err)
				continue
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}
