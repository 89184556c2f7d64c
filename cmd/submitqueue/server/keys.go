package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// queueKeys finds the key of a repository's queues in the store by the id that its
// forge gives the repository. The key is made of that id and of the branch that the
// queue began with, so that no rename touches it. The repository's names are kept
// beside it, for --repo and for older links:
//
//	77: github:77, main     acme/shop, then acme/store    its queue is github:77@main
//	91: github:91, main     acme/shop                     which took the former name of 77
//	12: acme/till, trunk    acme/till                     its queue is acme/till@trunk
//
// Earlier versions made keys of names, as of 12. Such keys stay: a queue is never
// moved. Earlier versions read the new records as well, so servers of both versions use
// the same key, whichever of them sees a repository first.
//
// It is stored like the state of a queue, without an inbox and turns. app.Under, not
// this type, finds a queue by the new name of a renamed branch.
type queueKeys struct {
	store queue.Store
	owner string // this server
	host  string // the forge: the beginning of keys

	mu   sync.Mutex
	last map[int64]string // the stored names that this server has seen
}

func newQueueKeys(store queue.Store, owner, api string) *queueKeys {
	return &queueKeys{store: store, owner: owner, host: hostOf(api), last: map[int64]string{}}
}

// repositoryKey is the record of a repository.
type repositoryKey struct {
	Key    string   `json:"name"`             // its queues' keys are KEY@BRANCH
	Branch string   `json:"branch,omitempty"` // the first branch of the queue with a branch that nobody has chosen; "": there is no such queue yet
	Called []string `json:"called,omitempty"` // its names, the present one last
}

const (
	keysKept   = "repositories" // keys of queues have an @
	keysBefore = "github"       // the forge of records that name none
	keysLease  = 10 * time.Second
	namesMost  = 20 // of one repository
)

// hostOf returns the beginning of the keys of a GitHub's queues: two instances may give the
// same id.
func hostOf(api string) string {
	u, err := url.Parse(api)
	if err != nil || u.Host == "" || strings.EqualFold(u.Host, "api.github.com") {
		return keysBefore
	}
	return strings.ToLower(u.Host)
}

// names returns the names that the repository has had, the present one last. Earlier
// versions kept no names; their key has the name, as in "acme/shop~91" where acme/shop
// was taken.
func (k repositoryKey) names() []string {
	if name, _, _ := strings.Cut(k.Key, "~"); len(k.Called) == 0 && strings.Contains(name, "/") {
		return []string{name}
	}
	return k.Called
}

// had reports whether the repository has, or had, a name.
func (k repositoryKey) had(name string) bool {
	return strings.EqualFold(k.Key, name) || slices.ContainsFunc(k.names(), func(n string) bool { return strings.EqualFold(n, name) })
}

// name returns the present name, as far as it is known; "": it is not.
func (k repositoryKey) name() string {
	if names := k.names(); len(names) > 0 {
		return names[len(names)-1]
	}
	return ""
}

// of returns the record of a repository that was seen. It stores new facts: the
// repository, its name, and own (unless that is ""), which is the first branch of its
// queue if nobody has chosen a branch.
func (n *queueKeys) of(ctx context.Context, seen forge.Place, own string) (_ repositoryKey, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	enough := func(k repositoryKey) bool {
		return k.Key != "" && (k.Branch != "" || own == "") && len(k.Called) > 0 && k.Called[len(k.Called)-1] == seen.Name
	}
	all, _, err := n.kept(ctx)
	if err != nil {
		return repositoryKey{}, err
	}
	if k := all[seen.ID]; enough(k) {
		n.last[seen.ID] = seen.Name
		return k, nil
	}
	token, err := n.store.Acquire(ctx, keysKept, n.owner, keysLease)
	if err != nil {
		return repositoryKey{}, fmt.Errorf("the keys of queues: %w", err)
	}
	defer func() { _ = n.store.Release(context.WithoutCancel(ctx), keysKept, token) }() // else the lease runs out
	all, version, err := n.kept(ctx)
	if err != nil {
		return repositoryKey{}, err
	}
	k := all[seen.ID] // as it is now that nobody else writes it
	k.Branch = cmp.Or(k.Branch, own)
	if k.Key == "" {
		k.Key = n.host + ":" + strconv.FormatInt(seen.ID, 10)
		before, err := n.before(ctx, all, seen, k.Branch)
		if err != nil {
			return repositoryKey{}, err
		}
		if before {
			k.Key = seen.Name
		}
	}
	k.Called = append(slices.DeleteFunc(slices.Clone(k.names()), func(name string) bool { return name == seen.Name }), seen.Name)
	k.Called = k.Called[max(0, len(k.Called)-namesMost):]
	data, err := json.Marshal(k)
	if err != nil {
		return repositoryKey{}, err
	}
	id := strconv.FormatInt(seen.ID, 10)
	if n.host != keysBefore {
		id = n.host + ":" + id
	}
	put := queue.Record{Ref: queue.Ref{Kind: queue.KindMeta, ID: id}, Data: data}
	if err := n.store.Commit(ctx, queue.Turn{Queue: keysKept, Token: token, Version: version, Put: []queue.Record{put}}); err != nil {
		return repositoryKey{}, fmt.Errorf("the keys of queues: %w", err)
	}
	n.last[seen.ID] = seen.Name
	return k, nil
}

// renamed keeps the present name of a repository. It asks the store only where the name
// is new to this server.
func (n *queueKeys) renamed(ctx context.Context, now forge.Place) error {
	n.mu.Lock()
	known := n.last[now.ID] == now.Name
	n.mu.Unlock()
	if known || now.Name == "" {
		return nil
	}
	_, err := n.of(ctx, now, "")
	return err
}

// find returns the record of a repository; the zero record where it is new.
func (n *queueKeys) find(ctx context.Context, id int64) (repositoryKey, error) {
	all, _, err := n.kept(ctx)
	return all[id], err
}

// named returns the repository that a name means: the only one of ours that has the
// name now, else the one with the lowest id that had it, even if another repository has
// it now. So a repository does not get its code run by taking over a name. named
// returns 0 if the forge has to be asked.
func (n *queueKeys) named(ctx context.Context, name string) (int64, repositoryKey, error) {
	all, _, err := n.kept(ctx)
	var has, had []int64
	for id, k := range all {
		if strings.EqualFold(k.name(), name) {
			has = append(has, id)
		} else if k.had(name) {
			had = append(had, id)
		}
	}
	switch {
	case len(has) == 1:
		return has[0], all[has[0]], err
	case len(has) == 0 && len(had) > 0:
		id := slices.Min(had)
		return id, all[id], err
	}
	return 0, repositoryKey{}, err // no record has the name; or one of several was renamed since
}

// kept returns the records of the forge's repositories by their ids, and the version of the
// stored state.
func (n *queueKeys) kept(ctx context.Context) (map[int64]repositoryKey, int64, error) {
	records, version, err := n.store.Load(ctx, keysKept)
	if err != nil {
		return nil, 0, fmt.Errorf("the keys of queues: %w", err)
	}
	kept, others := map[int64]repositoryKey{}, map[int64]repositoryKey{}
	for _, r := range records {
		at := strings.LastIndexByte(r.ID, ':')
		host := keysBefore
		if at >= 0 {
			host = r.ID[:at]
		}
		id, err := strconv.ParseInt(r.ID[at+1:], 10, 64)
		if err != nil {
			continue // of a newer version
		}
		var k repositoryKey
		if err := json.Unmarshal(r.Data, &k); err != nil {
			return nil, 0, fmt.Errorf("the keys of queues: %w", err)
		}
		switch {
		case host == n.host:
			kept[id] = k
		case at < 0 && len(k.Called) == 0: // an earlier version kept no forge for a repository
			others[id] = k
		}
	}
	for id, k := range others {
		if _, known := kept[id]; !known {
			kept[id] = k
		}
	}
	return kept, version, nil
}

// before reports whether an earlier version, which kept no keys, has stored a queue of
// a new repository under its name.
func (n *queueKeys) before(ctx context.Context, all map[int64]repositoryKey, seen forge.Place, branch string) (bool, error) {
	for _, k := range all {
		if strings.EqualFold(k.Key, seen.Name) {
			return false, nil
		}
	}
	repository, begun, err := repositoryUnder(ctx, n.store, seen.Name+"@"+branch)
	return begun && (repository == 0 || repository == seen.ID), err
}

// repositoryUnder returns the id of the repository of the queue that is stored under a key, 0
// where that was not read yet, and whether there is such a queue.
func repositoryUnder(ctx context.Context, store queue.Store, key string) (id int64, begun bool, err error) {
	records, version, err := store.Load(ctx, key)
	if err != nil {
		return 0, false, fmt.Errorf("looking for the queue %s: %w", key, err)
	}
	s := queue.NewState("")
	for _, r := range records {
		if r.Ref == (queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain}) {
			if err := s.Load(r); err != nil {
				return 0, false, fmt.Errorf("reading the queue %s: %w", key, err)
			}
		}
	}
	return s.Main.Repository, version > 0, nil
}
