package github

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// cacheBytes bounds the bodies kept; cacheEntry the size of one that is worth it.
const (
	cacheBytes = 16 << 20
	cacheEntry = 1 << 20
)

// cache makes GETs conditional: an answer is kept with its ETag and asked for
// again with If-None-Match, so it is never stale, and an unchanged one is free.
type cache struct {
	next  http.RoundTripper
	limit int

	mu    sync.Mutex
	size  int
	known map[string]*list.Element // of *kept
	order *list.List               // least recently used first
}

type kept struct {
	key  string
	etag string
	head http.Header
	body []byte
}

func newCache(next http.RoundTripper, limit int) *cache {
	return &cache{next: next, limit: limit, known: map[string]*list.Element{}, order: list.New()}
}

// RoundTrip answers from the cache what GitHub says has not changed.
func (c *cache) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return c.next.RoundTrip(req)
	}
	key := req.URL.String() + "\n" + req.Header.Get("Accept")
	old := c.get(key)
	if old != nil {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", old.etag)
	}
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if old != nil && resp.StatusCode == http.StatusNotModified {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		resp.Body.Close()
		return old.answer(req, resp), nil
	}
	etag := resp.Header.Get("ETag")
	if resp.StatusCode != http.StatusOK || etag == "" {
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, cacheEntry+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(body) > cacheEntry {
		resp.Body = readCloser{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.put(&kept{key: key, etag: etag, head: resp.Header.Clone(), body: body})
	return resp, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// answer makes a 200 of a 304: the kept body and headers, with those of the 304
// (the rate limit) on top.
func (k *kept) answer(req *http.Request, fresh *http.Response) *http.Response {
	head := k.head.Clone()
	for name, values := range fresh.Header {
		head[name] = values
	}
	head.Set("Content-Length", strconv.Itoa(len(k.body)))
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: fresh.Proto,
		ProtoMajor: fresh.ProtoMajor, ProtoMinor: fresh.ProtoMinor, Header: head,
		Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)), Request: req,
	}
}

func (c *cache) get(key string) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.known[key]
	if e == nil {
		return nil
	}
	c.order.MoveToBack(e)
	return e.Value.(*kept)
}

func (c *cache) put(k *kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.known[k.key]; e != nil {
		c.drop(e)
	}
	c.known[k.key] = c.order.PushBack(k)
	c.size += len(k.body)
	for c.size > c.limit {
		c.drop(c.order.Front())
	}
}

func (c *cache) drop(e *list.Element) {
	k := c.order.Remove(e).(*kept)
	delete(c.known, k.key)
	c.size -= len(k.body)
}
