package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/submitqueue/submitqueue/queue"
)

var _ queue.Archive = (*Store)(nil)

// The archive's index. A pass is one string under the id of its key, and expires
// on its own. Beside it, commitScript and Renew keep two sorted sets:
//
//	index  all of score 0, so that Redis orders them by name: for each pass
//	       "i", the key's id, when it passed; and "t", the target, a zero byte,
//	       when it passed, the key's id. Times run backwards: the latest is first.
//	kept   the second of these names, by when the pass was put or renewed (ms)
//
// A turn removes some expired passes from both, at least as many as it adds; a search leaves
// out names of expired passes. Passes that a server without the index has written are found by
// their whole id, and by other properties once they were renewed.

const (
	idLength   = 64 // of a key's id in hexadecimal
	timeLength = 16 // of a moment in the index
)

// indexed returns the names of a pass of one key in the index.
func indexed(e queue.Entry) (byID, byTarget string) {
	id, at := string(e.Keys[0].ID()), fmt.Sprintf("%016x", math.MaxInt64-int64(e.Passed))
	return "i" + id + at, "t" + e.Keys[0].Target + "\x00" + at + id
}

// Find implements queue.Archive. An entry that cannot be read is left out.
func (s *Store) Find(ctx context.Context, name string, x queue.Search) ([]queue.Entry, bool, error) {
	k, most := keysOf(name), min(max(x.Max, 1), queue.SearchMost)
	ids, err := s.named(ctx, k, x)
	if err != nil {
		return nil, false, fmt.Errorf("redisstore: searching the archive of %s: %w", name, err)
	}
	more := len(ids) > queue.SearchMost
	var found []queue.Entry
	for chunk := range slices.Chunk(ids[:min(len(ids), queue.SearchMost)], knownChunk) {
		names := make([]string, len(chunk))
		for i, id := range chunk {
			names[i] = k.known(queue.KeyID(id))
		}
		values, err := s.client.MGet(ctx, names...).Result()
		if err != nil {
			return nil, false, fmt.Errorf("redisstore: searching the archive of %s: %w", name, err)
		}
		for i, v := range values {
			text, ok := v.(string)
			if !ok {
				continue
			}
			var e queue.Entry
			if err := json.Unmarshal([]byte(text), &e); err != nil || e.Passed == 0 || len(e.Keys) != 1 || string(e.Keys[0].ID()) != chunk[i] ||
				x.Target != "" && e.Keys[0].Target != x.Target {
				s.log.WarnContext(ctx, "an archived entry cannot be used", "queue", name, "key", names[i], "err", err)
				continue
			}
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b queue.Entry) int {
		return cmp.Or(cmp.Compare(b.Passed, a.Passed), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(most, len(found))], more || len(found) > most, nil
}

// named returns the ids that the index has for a search, at most one more than an
// answer may hold.
func (s *Store) named(ctx context.Context, k keys, x queue.Search) ([]string, error) {
	if len(x.Prefix) == idLength {
		return []string{x.Prefix}, nil
	}
	between := &redis.ZRangeBy{Min: "[i" + x.Prefix, Max: "(i" + x.Prefix + "g", Count: queue.SearchMost + 1}
	if x.Target != "" {
		between.Min, between.Max = "[t"+x.Target+"\x00", "(t"+x.Target+"\x01"
	}
	names, err := s.client.ZRangeByLex(ctx, k.index(), between).Result()
	if err != nil {
		return nil, err
	}
	ids, seen := make([]string, 0, len(names)), map[string]bool{}
	for _, n := range names {
		id := n[max(len(n)-idLength, 0):]
		if n[0] == 'i' {
			id = strings.TrimPrefix(n[:max(len(n)-timeLength, 1)], "i")
		}
		if !seen[id] { // a key that passed again after it was forgotten is named twice
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Renew implements queue.Archive.
func (s *Store) Renew(ctx context.Context, name string, passes []queue.Entry) error {
	k := keysOf(name)
	for chunk := range slices.Chunk(passesOf(passes), knownChunk) {
		left := make([]*redis.DurationCmd, len(chunk))
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, e := range chunk {
				left[i] = p.PTTL(ctx, k.known(e.Keys[0].ID()))
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("redisstore: renewing passes of %s: %w", name, err)
		}
		names, args := []string{k.index(), k.kept()}, []any{queue.ArchiveTTL.Milliseconds()}
		for i, e := range chunk {
			if ttl := left[i].Val(); ttl <= 0 || ttl > queue.ArchiveTTL-queue.RenewAfter {
				continue
			}
			byID, byTarget := indexed(e)
			names, args = append(names, k.known(e.Keys[0].ID())), append(args, byID, byTarget)
		}
		if len(args) == 1 {
			continue
		}
		if err := renewScript.Run(ctx, s.client, names, args...).Err(); err != nil {
			return fmt.Errorf("redisstore: renewing passes of %s: %w", name, err)
		}
	}
	return nil
}

// expiredSome is how many expired passes a turn takes out of the index beside one
// for each that it adds.
const expiredSome = 10
