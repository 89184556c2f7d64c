package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// longestPause is how long one answer may silence us at most.
const longestPause = time.Hour

// unsaid is how long to wait after a refusal for too many requests that names no time.
const unsaid = time.Minute

// pace counts requests, and keeps them back while GitLab asks to wait.
type pace struct {
	next http.RoundTripper
	host string

	mu     sync.Mutex
	limits forge.Limits
}

// Wait refuses a request while GitLab asks to wait, instead of holding it.
func (p *pace) Wait(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := time.Until(p.limits.Until); left > 0 {
		return &forge.Transient{Err: fmt.Errorf("nothing is asked for another %s: %s", left.Round(time.Second), p.limits.Why), After: left}
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (p *pace) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.limits.Asked++
	if p.limits.Account == "" {
		p.limits.Account = p.host
	}
	p.mu.Unlock()
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, err := strconv.Atoi(resp.Header.Get("RateLimit-Limit")); err == nil {
		p.limits.Limit = n
		p.limits.Remaining, _ = strconv.Atoi(resp.Header.Get("RateLimit-Remaining"))
		if at, err := strconv.ParseInt(resp.Header.Get("RateLimit-Reset"), 10, 64); err == nil {
			p.limits.Reset = time.Unix(at, 0)
		}
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		p.limits.Refused++
		p.limits.Until, p.limits.Why = time.Now().Add(after(resp.Header, unsaid)), "GitLab has had too many requests of ours"
	}
	return resp, nil
}

func (p *pace) named(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits.Account = account + " at " + p.host
}

// after reads how long to wait from the headers of a refusal.
func after(h http.Header, otherwise time.Duration) time.Duration {
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return time.Duration(min(max(n, 0), int(longestPause/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return min(max(time.Until(at), 0), longestPause)
	}
	if h.Get("RateLimit-Remaining") == "0" {
		if n, err := strconv.ParseInt(h.Get("RateLimit-Reset"), 10, 64); err == nil {
			return min(max(time.Until(time.Unix(n, 0)), 0), longestPause)
		}
	}
	return otherwise
}

// Limits implements forge.Limited.
func (f *Forge) Limits() forge.Limits {
	f.pace.mu.Lock()
	defer f.pace.mu.Unlock()
	return f.pace.limits
}
