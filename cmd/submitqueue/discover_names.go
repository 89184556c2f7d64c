package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// queueNames remembers under which name each repository has its queue, by its id. The
// queue keeps it, and with it all that is stored under it, when the repository is
// given another name, and when another repository takes the one it had:
//
//	77 → acme/shop       called acme/store by now
//	91 → acme/shop~91    called acme/shop
//
// They are stored like the state of a queue, which has no inbox and no turns.
type queueNames struct {
	store queue.Store
	owner string // this server

	mu sync.Mutex
}

const (
	namesKept  = "repositories" // names of queues have an @
	namesLease = 10 * time.Second
)

// of returns the name of a repository's queue: the one it has, or else its
// present one if no other repository has a queue of that name.
func (n *queueNames) of(ctx context.Context, id int64, now, branch string) (_ string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if kept, _, err := n.kept(ctx); err != nil || kept[id] != "" {
		return kept[id], err
	}
	token, err := n.store.Acquire(ctx, namesKept, n.owner, namesLease)
	if err != nil {
		return "", fmt.Errorf("the names of queues: %w", err)
	}
	defer func() { _ = n.store.Release(context.WithoutCancel(ctx), namesKept, token) }() // it ends by itself
	kept, version, err := n.kept(ctx)
	if err != nil || kept[id] != "" { // another server was first
		return kept[id], err
	}
	taken, err := n.taken(ctx, id, now+"@"+branch)
	if err != nil {
		return "", err
	}
	for _, name := range kept {
		taken = taken || strings.EqualFold(name, now)
	}
	if taken {
		now = fmt.Sprintf("%s~%d", now, id)
	}
	data, err := json.Marshal(now)
	if err != nil {
		return "", err
	}
	put := queue.Record{Ref: queue.Ref{Kind: queue.KindMeta, ID: strconv.FormatInt(id, 10)}, Data: data}
	return now, n.store.Commit(ctx, queue.Turn{Queue: namesKept, Token: token, Version: version, Put: []queue.Record{put}})
}

func (n *queueNames) kept(ctx context.Context) (map[int64]string, int64, error) {
	records, version, err := n.store.Load(ctx, namesKept)
	if err != nil {
		return nil, 0, fmt.Errorf("the names of queues: %w", err)
	}
	kept := map[int64]string{}
	for _, r := range records {
		id, err := strconv.ParseInt(r.ID, 10, 64)
		if err != nil {
			continue // of a newer version
		}
		var name string
		if err := json.Unmarshal(r.Data, &name); err != nil {
			return nil, 0, fmt.Errorf("the names of queues: %w", err)
		}
		kept[id] = name
	}
	return kept, version, nil
}

// taken says whether what is stored under a queue's name is of another repository.
func (n *queueNames) taken(ctx context.Context, id int64, name string) (bool, error) {
	records, _, err := n.store.Load(ctx, name)
	if err != nil {
		return false, err
	}
	s := queue.NewState("")
	for _, r := range records {
		if r.Ref == (queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain}) {
			if err := s.Load(r); err != nil {
				return false, err
			}
		}
	}
	return s.Main.Repository != 0 && s.Main.Repository != id, nil
}
