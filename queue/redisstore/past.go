package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

var _ queue.Past = (*Store)(nil)

// keptAtOnce bounds the rows that one script adds.
const keptAtOnce = 500

// boundsOf returns the three arguments of a script that say how much is kept.
func boundsOf(b queue.PastBounds) []any { return []any{b.Age.Milliseconds(), b.Rows, b.Bytes} }

// encodeRows returns two arguments of a script for each row.
func encodeRows(rows []queue.Row) ([]any, error) {
	var args []any
	for _, r := range rows {
		data, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("redisstore: row: %w", err)
		}
		args = append(args, data, int64(r.At))
	}
	return args, nil
}

// Keep implements queue.Past.
func (s *Store) Keep(ctx context.Context, name string, rows []queue.Row) error {
	k := keysOf(name)
	for chunk := range slices.Chunk(rows, keptAtOnce) {
		args, err := encodeRows(chunk)
		if err != nil {
			return err
		}
		if err := keepScript.Run(ctx, s.client, []string{k.past(), k.pastBytes()}, append(boundsOf(s.past), args...)...).Err(); err != nil {
			return fmt.Errorf("redisstore: keeping rows of %s: %w", name, err)
		}
	}
	return nil
}

// Rows implements queue.Past. A place is the id of a row in the stream.
func (s *Store) Rows(ctx context.Context, name, place string, max int) (rows []queue.Row, next string, err error) {
	from := "-"
	if place != "" {
		if err := checkCursor(place); err != nil {
			return nil, "", err
		}
		from = "(" + place
	}
	if max <= 0 {
		return nil, place, ctx.Err()
	}
	messages, err := s.client.XRangeN(ctx, keysOf(name).past(), from, "+", int64(max)).Result()
	if err != nil {
		return nil, "", fmt.Errorf("redisstore: event archive of %s: %w", name, err)
	}
	for _, m := range messages {
		place = m.ID
		var r queue.Row
		data, _ := m.Values["r"].(string)
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			s.log.WarnContext(ctx, "a row of the event archive cannot be read", "queue", name, "row", m.ID, "err", err)
			continue
		}
		rows = append(rows, r)
	}
	return rows, place, nil
}
