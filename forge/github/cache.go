package github

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
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
	size  int // of the bodies
	known *simplelru.LRU[string, *kept]
}

type kept struct {
	etag string
	head http.Header
	body []byte
}

func newCache(next http.RoundTripper, limit int) *cache {
	c := &cache{next: next, limit: limit}
	// The limit is on bytes, so that the list never drops one for their number.
	c.known, _ = simplelru.NewLRU(math.MaxInt, func(_ string, k *kept) { c.size -= len(k.body) })
	return c
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
	c.put(key, &kept{etag: etag, head: resp.Header.Clone(), body: body})
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
	k, _ := c.known.Get(key)
	return k
}

func (c *cache) put(key string, k *kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(key)
	c.known.Add(key, k)
	for c.size += len(k.body); c.size > c.limit; {
		c.known.RemoveOldest()
	}
}
