package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/submitqueue/submitqueue/queue"
)

const (
	// appendChunk is how many events one script adds.
	appendChunk = 200
	// blockMax is how long one command blocks, so that a connection that died
	// without a word is found.
	blockMax = 10 * time.Second
)

// Append implements queue.Store. Many events are added in several steps: after
// an error the first of them may have been added; appending all again mends
// that. Events without an id are never dropped.
func (s *Store) Append(ctx context.Context, name string, events ...queue.Event) error {
	k := keysOf(name)
	datas := make([][]byte, len(events))
	for i, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("redisstore: event %q: %w", e.ID, err)
		}
		datas[i] = data
	}
	for first := 0; first < len(events); first += appendChunk {
		names, args := []string{k.inbox()}, []any{queue.SeenFor.Milliseconds()}
		for i := first; i < min(first+appendChunk, len(events)); i++ {
			seen := k.inbox() // says: without an id
			if id := events[i].ID; id != "" {
				seen = k.seen(id)
			}
			names, args = append(names, seen), append(args, datas[i])
		}
		if err := appendScript.Run(ctx, s.client, names, args...).Err(); err != nil {
			return fmt.Errorf("redisstore: appending to %s: %w", name, err)
		}
	}
	return nil
}

// Inbox implements queue.Store. A wait holds a separate connection. An event
// that this version cannot read comes as a Tick at the time it was stored, so
// that it is eaten and blocks nothing; its text is kept under "unread".
func (s *Store) Inbox(ctx context.Context, name, after string, max int, wait time.Duration) ([]queue.Arrived, error) {
	if after == "" {
		after = "0-0"
	}
	if err := checkCursor(after); err != nil {
		return nil, err
	}
	if max <= 0 {
		return nil, ctx.Err()
	}
	args := &redis.XReadArgs{Streams: []string{keysOf(name).inbox(), after}, Count: int64(max), Block: -1}
	if wait <= 0 {
		return s.read(ctx, s.client, name, args)
	}
	w, err := s.waiters.get()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, w.interrupt)
	found, err := s.block(ctx, w.client, name, args, wait)
	if !stop() || err != nil {
		s.waiters.drop(w)
		if ctx.Err() != nil && len(found) == 0 {
			return nil, ctx.Err()
		}
		return found, err
	}
	s.waiters.put(w)
	return found, nil
}

// block reads until there is an event or wait has passed.
func (s *Store) block(ctx context.Context, c redis.UniversalClient, name string, args *redis.XReadArgs, wait time.Duration) ([]queue.Arrived, error) {
	for end := time.Now().Add(wait); ctx.Err() == nil; {
		left := time.Until(end)
		if left <= 0 {
			return nil, nil
		}
		args.Block = time.Duration(milliseconds(min(left, blockMax))) * time.Millisecond
		if found, err := s.read(ctx, c, name, args); err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, ctx.Err()
}

func (s *Store) read(ctx context.Context, c redis.UniversalClient, name string, args *redis.XReadArgs) ([]queue.Arrived, error) {
	streams, err := c.XRead(ctx, args).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("redisstore: reading the inbox of %s: %w", name, err)
	}
	var found []queue.Arrived
	for _, stream := range streams {
		for _, m := range stream.Messages {
			data, _ := m.Values["e"].(string)
			var e queue.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				if e, err = s.setAside(ctx, name, m.ID, data, err); err != nil {
					return nil, err
				}
			}
			found = append(found, queue.Arrived{Cursor: m.ID, Event: e})
		}
	}
	return found, nil
}

// setAside keeps the text of an event that cannot be read and returns the event
// that stands for it.
func (s *Store) setAside(ctx context.Context, name, cursor, data string, why error) (queue.Event, error) {
	if err := s.client.HSet(ctx, keysOf(name).unread(), cursor, data).Err(); err != nil {
		return queue.Event{}, fmt.Errorf("redisstore: setting aside an event of %s: %w", name, err)
	}
	s.log.ErrorContext(ctx, "an event cannot be read and is set aside", "queue", name, "cursor", cursor, "err", why)
	stored, _, _ := strings.Cut(cursor, "-")
	ms, err := strconv.ParseInt(stored, 10, 64)
	if err != nil {
		return queue.Event{}, fmt.Errorf("redisstore: cursor %q: %w", cursor, err)
	}
	return queue.Event{ID: "unread:" + cursor, At: queue.Instant(ms), Body: queue.Tick{}}, nil
}

// checkCursor refuses a cursor that is no id of a stream: Redis would fail on
// it in the middle of a script.
func checkCursor(cursor string) error {
	parts := strings.Split(cursor, "-")
	bad := slices.ContainsFunc(parts, func(p string) bool {
		_, err := strconv.ParseUint(p, 10, 64)
		return err != nil
	})
	if len(parts) != 2 || bad {
		return fmt.Errorf("redisstore: cursor %q: %w", cursor, queue.ErrPlace)
	}
	return nil
}
