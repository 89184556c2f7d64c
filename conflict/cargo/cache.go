package cargo

import (
	"container/list"
	"sync"
)

// cache remembers what was read of the blobs that were used last.
type cache[V any] struct {
	mu    sync.Mutex
	limit int
	items map[string]*list.Element
	order *list.List // most recently used first
}

type cached[V any] struct {
	oid   string
	value V
}

func newCache[V any](limit int) *cache[V] {
	return &cache[V]{limit: limit, items: map[string]*list.Element{}, order: list.New()}
}

func (c *cache[V]) get(oid string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[oid]
	if !ok {
		var zero V
		return zero, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached[V]).value, true
}

func (c *cache[V]) put(oid string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[oid]; ok {
		return
	}
	c.items[oid] = c.order.PushFront(cached[V]{oid, v})
	if c.order.Len() > c.limit {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.items, last.Value.(cached[V]).oid)
	}
}
