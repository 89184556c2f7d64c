package golang

import (
	"container/list"
	"sync"
)

// cache remembers the scans of the blobs that were used last.
type cache struct {
	mu    sync.Mutex
	limit int
	items map[string]*list.Element
	order *list.List // most recently used first
}

type cached struct {
	oid  string
	scan scan
}

func newCache(limit int) *cache {
	return &cache{limit: limit, items: map[string]*list.Element{}, order: list.New()}
}

func (c *cache) get(oid string) (scan, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[oid]
	if !ok {
		return scan{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached).scan, true
}

func (c *cache) put(oid string, s scan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[oid]; ok {
		return
	}
	c.items[oid] = c.order.PushFront(cached{oid, s})
	if c.order.Len() > c.limit {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.items, last.Value.(cached).oid)
	}
}
