package github

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// pacer keeps requests that change something apart from one another. What is asked
// over GraphQL changes nothing.
type pacer struct {
	next  http.RoundTripper
	every time.Duration

	mu   sync.Mutex
	free time.Time // when the next one may start
}

// RoundTrip waits for its turn, or for the end of the request's context.
func (p *pacer) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.every > 0 && req.Method != http.MethodGet && !strings.HasSuffix(req.URL.Path, "/graphql") {
		p.mu.Lock()
		now := time.Now()
		start := p.free
		if start.Before(now) {
			start = now
		}
		p.free = start.Add(p.every)
		p.mu.Unlock()
		t := time.NewTimer(start.Sub(now))
		defer t.Stop()
		select {
		case <-t.C:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return p.next.RoundTrip(req)
}
