package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// queueNames remembers under which name each repository has its queues, by its id. It
// keeps them, and with them all that is stored there, when it is given another name,
// and when another repository takes the one it had:
//
//	77 → acme/shop, main      called acme/store by now
//	91 → acme/shop~91, main   called acme/shop
//
// main is with which branch the queue began whose branch nobody has chosen: that stays
// its name, too, whatever becomes of the branch, and of what is the default one.
//
// They are stored like the state of a queue, which has no inbox and no turns. Where a
// branch is kept whose name somebody says (--branch) is not for them to know, but for
// app.Under: between the queues of one repository.
type queueNames struct {
	store queue.Store
	owner string // this server

	mu sync.Mutex
}

// keptName is what is remembered of a repository.
type keptName struct {
	Name   string `json:"name"`             // its queues are NAME@BRANCH
	Branch string `json:"branch,omitempty"` // of the one whose branch nobody has chosen; "": there is none yet
}

const (
	namesKept  = "repositories" // names of queues have an @
	namesLease = 10 * time.Second
)

// of returns what is kept of a repository that was seen. What was not, is kept from
// now on: its present name, if no other repository has queues of that name; and own,
// with which the queue begins whose branch nobody has chosen, unless that is "".
func (n *queueNames) of(ctx context.Context, seen forge.Place, own string) (_ keptName, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	enough := func(k keptName) bool { return k.Name != "" && (k.Branch != "" || own == "") }
	if all, _, err := n.kept(ctx); err != nil || enough(all[seen.ID]) {
		return all[seen.ID], err
	}
	token, err := n.store.Acquire(ctx, namesKept, n.owner, namesLease)
	if err != nil {
		return keptName{}, fmt.Errorf("the names of queues: %w", err)
	}
	defer func() { _ = n.store.Release(context.WithoutCancel(ctx), namesKept, token) }() // it ends by itself
	all, version, err := n.kept(ctx)
	if err != nil || enough(all[seen.ID]) { // another server was first
		return all[seen.ID], err
	}
	k := all[seen.ID]
	if k.Branch == "" {
		k.Branch = own
	}
	if k.Name == "" {
		taken, err := n.taken(ctx, seen.ID, seen.Name+"@"+k.Branch)
		if err != nil {
			return keptName{}, err
		}
		for _, other := range all {
			taken = taken || strings.EqualFold(other.Name, seen.Name)
		}
		if k.Name = seen.Name; taken {
			k.Name = fmt.Sprintf("%s~%d", seen.Name, seen.ID)
		}
	}
	data, err := json.Marshal(k)
	if err != nil {
		return keptName{}, err
	}
	put := queue.Record{Ref: queue.Ref{Kind: queue.KindMeta, ID: strconv.FormatInt(seen.ID, 10)}, Data: data}
	return k, n.store.Commit(ctx, queue.Turn{Queue: namesKept, Token: token, Version: version, Put: []queue.Record{put}})
}

// find returns what is kept of a repository; nothing where it is new.
func (n *queueNames) find(ctx context.Context, id int64) (keptName, error) {
	all, _, err := n.kept(ctx)
	return all[id], err
}

// named returns the repository whose queues have a name; 0 where there is none.
func (n *queueNames) named(ctx context.Context, name string) (int64, keptName, error) {
	all, _, err := n.kept(ctx)
	for id, k := range all {
		if strings.EqualFold(k.Name, name) {
			return id, k, err
		}
	}
	return 0, keptName{}, err
}

func (n *queueNames) kept(ctx context.Context) (map[int64]keptName, int64, error) {
	records, version, err := n.store.Load(ctx, namesKept)
	if err != nil {
		return nil, 0, fmt.Errorf("the names of queues: %w", err)
	}
	kept := map[int64]keptName{}
	for _, r := range records {
		id, err := strconv.ParseInt(r.ID, 10, 64)
		if err != nil {
			continue // of a newer version
		}
		var k keptName
		if err := json.Unmarshal(r.Data, &k); err != nil {
			return nil, 0, fmt.Errorf("the names of queues: %w", err)
		}
		kept[id] = k
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
