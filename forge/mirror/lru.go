package mirror

import (
	"container/list"
	"sync"
)

// lru is a map that forgets the entries that were used longest ago, once the
// weights of its entries exceed a limit. The most recent entry is always kept.
type lru[K comparable, V any] struct {
	mu     sync.Mutex
	limit  int
	weight int
	order  *list.List // of *entry[K, V], most recent first
	byKey  map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, order: list.New(), byKey: map[K]*list.Element{}}
}

func (c *lru[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		var zero V
		return zero, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// newest returns the entry that was used last.
func (c *lru[K, V]) newest() (key K, value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.order.Front()
	if e == nil {
		return key, value, false
	}
	found := e.Value.(*entry[K, V])
	return found.key, found.value, true
}

// keys returns the keys of the map, the most recent first.
func (c *lru[K, V]) keys() []K {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]K, 0, c.order.Len())
	for e := c.order.Front(); e != nil; e = e.Next() {
		keys = append(keys, e.Value.(*entry[K, V]).key)
	}
	return keys
}

func (c *lru[K, V]) put(key K, value V, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, weight})
	c.weight += weight
	for c.weight > c.limit && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *lru[K, V]) remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
}

func (c *lru[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.weight = 0
	c.order.Init()
	clear(c.byKey)
}

func (c *lru[K, V]) drop(e *list.Element) {
	old := c.order.Remove(e).(*entry[K, V])
	delete(c.byKey, old.key)
	c.weight -= old.weight
}
