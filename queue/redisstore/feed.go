package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/submitqueue/submitqueue/queue"
)

var _ queue.Feed = (*Store)(nil)

// beginning is the place before all notes.
const beginning = "0-0"

// Follow implements queue.Feed. A place is the id of a note in the stream.
func (s *Store) Follow(ctx context.Context, name, reader string) (string, error) {
	k := keysOf(name)
	place, err := s.client.HGet(ctx, k.places(), reader).Result()
	if err == nil {
		return place, nil
	}
	if !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("redisstore: following %s: %w", name, err)
	}
	newest, err := s.client.XRevRangeN(ctx, k.history(), "+", "-", 1).Result()
	if err != nil {
		return "", fmt.Errorf("redisstore: following %s: %w", name, err)
	}
	place = beginning
	if len(newest) > 0 {
		place = newest[0].ID
	}
	if err := s.client.HSetNX(ctx, k.places(), reader, place).Err(); err != nil {
		return "", fmt.Errorf("redisstore: following %s: %w", name, err)
	}
	if place, err = s.client.HGet(ctx, k.places(), reader).Result(); err != nil { // another server may have been first
		return "", fmt.Errorf("redisstore: following %s: %w", name, err)
	}
	return place, nil
}

// NotesAfter implements queue.Feed.
func (s *Store) NotesAfter(ctx context.Context, name, place string, max int) (notes []queue.Noted, next string, err error) {
	if err := checkCursor(place); err != nil {
		return nil, "", err
	}
	if max <= 0 {
		return nil, place, ctx.Err()
	}
	messages, err := s.client.XRangeN(ctx, keysOf(name).history(), "("+place, "+", int64(max)).Result()
	if err != nil {
		return nil, "", fmt.Errorf("redisstore: history of %s: %w", name, err)
	}
	for _, m := range messages {
		place = m.ID
		if n, ok := s.noteOf(ctx, name, m); ok {
			notes = append(notes, queue.Noted{Place: m.ID, Note: n})
		}
	}
	return notes, place, nil
}

// Reached implements queue.Feed.
func (s *Store) Reached(ctx context.Context, name, reader, place string) error {
	if err := checkCursor(place); err != nil {
		return err
	}
	if err := s.client.HSet(ctx, keysOf(name).places(), reader, place).Err(); err != nil {
		return fmt.Errorf("redisstore: place of a reader of %s: %w", name, err)
	}
	return nil
}
