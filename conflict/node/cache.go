package node

import (
	"container/list"
	"sync"
)

// cache remembers what was made of the blobs that were used last.
type cache struct {
	mu    sync.Mutex
	limit int
	items map[string]*list.Element
	order *list.List // most recently used first
}

type cached struct {
	key   string
	value any
}

func newCache(limit int) *cache {
	return &cache{limit: limit, items: map[string]*list.Element{}, order: list.New()}
}

func (c *cache) get(key string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached).value, true
}

func (c *cache) put(key string, v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[key]; ok {
		return
	}
	c.items[key] = c.order.PushFront(cached{key, v})
	if c.order.Len() > c.limit {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.items, last.Value.(cached).key)
	}
}
