package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// Shared is the state that the repositories of one server share: GitHub counts
// requests by installation, for all its repositories together. Give the same one to
// each Forge; it is safe for concurrent use.
type Shared struct {
	http   http.RoundTripper
	writes int

	mu  sync.Mutex
	all map[int64]*budget // by installation; 0: the App itself
}

// NewShared returns the state that Forges share. A nil transport stands for a new
// one. writes is how many requests that change something may start per minute,
// after a burst of as many as in 20 s; 0: neither they nor git are paced. GitHub
// allows about 80 that create content.
func NewShared(t http.RoundTripper, writes int) *Shared {
	if t == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 16
		t = own
	}
	return &Shared{http: t, writes: writes, all: map[int64]*budget{}}
}

// Transport returns the transport for requests that belong to no installation and
// no App: they are not counted here.
func (s *Shared) Transport() http.RoundTripper { return s.http }

// of returns the budget of an installation.
func (s *Shared) of(installation int64) *budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.all[installation]
	if b == nil {
		b = &budget{next: newCache(s.http, cacheBytes), account: fmt.Sprint("installation ", installation), free: make(chan struct{})}
		if installation == 0 {
			b.account = "the App"
		} else if s.writes > 0 {
			b.rate = float64(s.writes) / 60
			b.burst = max(1, float64(s.writes)/3)
			b.tokens = b.burst
		}
		s.all[installation] = b
	}
	return b
}

const (
	// atOnce bounds the requests under way. GitHub's own bound is 100.
	atOnce = 32
	// backgroundAtOnce of these may be requests that nobody waits for.
	backgroundAtOnce = 4
	// keptBack is the part of the hourly limit that is kept for requests that somebody
	// waits for: one in so many.
	keptBack = 5
	// patience is how long a request waits here for the end of a pause. With a
	// longer one it fails, so that it holds no place meanwhile.
	patience = 5 * time.Second
	// contentPerHour is how much may be created in an hour, which lasts a little
	// longer here: GitHub counts what we send when it gets there.
	contentPerHour = 500
	contentHour    = time.Hour + time.Minute
	// longestStrike ends the doubling of pauses for which GitHub names no time.
	longestStrike = 16 * unsaid
	// longestPause is the period of GitHub's longest limit.
	longestPause = time.Hour
)

// budget is what one installation may still ask of GitHub, as a transport: it
// sends nothing while GitHub asks us to wait, it paces requests that change
// something, and it keeps a part of the hourly limit for requests that people wait
// for. https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
type budget struct {
	next        http.RoundTripper
	account     string
	rate, burst float64 // of requests that change something, per second; 0: not paced

	mu               sync.Mutex
	limit, remaining int // of the period that ends at reset; limit 0: not known
	reset            time.Time
	until            time.Time // GitHub asked to wait
	why              string
	strikes          int     // refusals in a row that gave no time
	tokens           float64 // requests that may change something now
	filled           time.Time
	writers          []*writer     // that wait to change something, the next one first
	moved            chan struct{} // closed when one of them gives up
	created          []time.Time   // when content was created in the last hour
	flying, behind   int           // requests under way; of these, in the background
	waiting          int           // requests for a place that somebody waits for
	free             chan struct{} // closed and replaced when a place becomes free
	asked, refused   int64
}

// RoundTrip sends the request when it may be sent.
func (b *budget) RoundTrip(req *http.Request) (*http.Response, error) {
	leave, err := b.enter(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	defer leave()
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return resp, b.learn(resp)
}

// enter waits until a request may be sent.
func (b *budget) enter(req *http.Request) (leave func(), err error) {
	ctx := req.Context()
	behind := isBackground(ctx)
	for {
		wait, why := b.pause(behind)
		if wait <= 0 {
			break
		}
		if wait > patience || behind {
			return nil, &forge.Transient{Err: fmt.Errorf("%s is not to be asked for another %v: %s", b.account, wait.Round(time.Second), why), After: wait}
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
	if req.Method != http.MethodGet && !strings.HasSuffix(req.URL.Path, "/graphql") { // our GraphQL requests change nothing
		if err := b.turn(ctx, creates(req)); err != nil {
			return nil, err
		}
	}
	return b.place(ctx, behind)
}

// pause says how long nothing may be sent, and why.
func (b *budget) pause(behind bool) (time.Duration, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if wait := b.until.Sub(now); wait > 0 {
		return wait, b.why
	}
	if behind && b.limit > 0 && b.remaining < b.limit/keptBack && now.Before(b.reset) {
		return b.reset.Sub(now), "the rest of the hourly limit is kept for commands"
	}
	return 0, ""
}

// place waits for a place among the requests that are under way. A request that nobody
// waits for comes last.
func (b *budget) place(ctx context.Context, behind bool) (leave func(), err error) {
	queued := false
	for {
		b.mu.Lock()
		if queued {
			b.waiting--
			queued = false
		}
		if b.flying < atOnce && (!behind || b.behind < backgroundAtOnce && b.waiting == 0) {
			b.flying++
			b.asked++
			if behind {
				b.behind++
			}
			b.mu.Unlock()
			return func() { b.leave(behind) }, nil
		}
		if !behind {
			b.waiting++
			queued = true
		}
		free := b.free
		b.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			b.mu.Lock()
			if queued {
				b.waiting--
				b.wake() // a free place may have been left to this one
			}
			b.mu.Unlock()
			return nil, ctx.Err()
		}
	}
}

func (b *budget) leave(behind bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying--
	if behind {
		b.behind--
	}
	b.wake()
}

// wake has the requests that wait for a place look again; the caller holds mu.
func (b *budget) wake() {
	close(b.free)
	b.free = make(chan struct{})
}

// learn reads from an answer how many requests may still be made.
func (b *budget) learn(resp *http.Response) error {
	why, err := refusalFor(resp)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	h := resp.Header
	if resource := h.Get("X-RateLimit-Resource"); (resource == "" || resource == "core") && !asksForToken(resp.Request) {
		limit, e1 := strconv.Atoi(h.Get("X-RateLimit-Limit"))
		remaining, e2 := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
		seconds, e3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
		if reset := time.Unix(seconds, 0); errors.Join(e1, e2, e3) == nil && !reset.Before(b.reset) {
			if reset.Equal(b.reset) && limit == b.limit {
				remaining = min(remaining, b.remaining) // answers overtake one another
			}
			b.limit, b.remaining, b.reset = limit, remaining, reset
		}
	}
	if why == "" {
		if resp.StatusCode < 400 && !now.Before(b.until) {
			b.strikes = 0
		}
		return err
	}
	b.refused++
	wait := after(h, -1)
	switch {
	case wait >= 0:
		wait = max(wait, time.Second) // the moment named may be past by our clock
	case now.Before(b.until):
		return err // it was under way when the pause began
	default:
		wait = min(unsaid<<min(b.strikes, 10), longestStrike)
		b.strikes++
	}
	if until := now.Add(wait); until.After(b.until) {
		b.until, b.why = until, why
	}
	return err
}

// asksForToken reports whether a request was made as the App itself, which has
// separate limits, although it goes with an installation's.
func asksForToken(req *http.Request) bool {
	return req != nil && strings.HasSuffix(req.URL.Path, "/access_tokens")
}

// refusalFor says why GitHub takes no more requests; "" if the answer is no such
// refusal. The answer's body can still be read.
func refusalFor(resp *http.Response) (string, error) {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return "too many requests", nil
	case resp.StatusCode != http.StatusForbidden:
		return "", nil
	case resp.Header.Get("X-RateLimit-Remaining") == "0":
		return "the hourly limit is reached", nil
	case resp.Header.Get("Retry-After") != "":
		return "a secondary rate limit", nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	if strings.Contains(string(head), "secondary rate limit") || strings.Contains(string(head), "abuse detection") {
		return "a secondary rate limit", nil
	}
	return "", err
}

// Limits tells where the installation stands.
func (f *Forge) Limits() forge.Limits {
	f.session.mu.Lock()
	b := f.session.budget
	f.session.mu.Unlock()
	if b == nil {
		return forge.Limits{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return forge.Limits{Account: b.account, Limit: b.limit, Remaining: b.remaining, Reset: b.reset,
		Until: b.until, Why: b.why, Asked: b.asked, Refused: b.refused}
}

type backgroundKey struct{}

// background marks requests that nobody waits for.
func background(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

func isBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
