package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// longestPause is the longest time that one answer can keep us from sending
// requests.
const longestPause = time.Hour

// unsaid is how long to wait after a refusal for too many requests that names no time.
const unsaid = time.Minute

// pace counts requests, and keeps them back while GitLab asks to wait.
type pace struct {
	next http.RoundTripper
	host string

	mu     sync.Mutex
	limits forge.Limits
	ahead  time.Duration // of GitLab's clock
	noted  []time.Time   // when notes were written in the last minute
	quiet  time.Time     // no note is written before, since GitLab has had too many
}

// Wait refuses a request while GitLab asks to wait, and does not hold it.
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
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		p.ahead = time.Until(at)
	}
	if n, err := strconv.Atoi(resp.Header.Get("RateLimit-Limit")); err == nil {
		p.limits.Limit = n
		p.limits.Remaining, _ = strconv.Atoi(resp.Header.Get("RateLimit-Remaining"))
		if at, err := strconv.ParseInt(resp.Header.Get("RateLimit-Reset"), 10, 64); err == nil {
			p.limits.Reset = time.Unix(at, 0)
		}
	}
	if resp.StatusCode == http.StatusTooManyRequests && writesNote(r) && resp.Header.Get("RateLimit-Remaining") != "0" {
		p.limits.Refused++
		p.quiet = time.Now().Add(after(resp.Header, unsaid))
	} else if resp.StatusCode == http.StatusTooManyRequests {
		p.limits.Refused++
		p.limits.Until, p.limits.Why = time.Now().Add(after(resp.Header, unsaid)), "GitLab has had too many requests of ours"
	}
	return resp, nil
}

// notesAt returns how many notes an account may write in a minute: at gitlab.com, or at
// another instance, unless its administrator has chosen another number.
func (p *pace) notesAt() int {
	if p.host == "gitlab.com" {
		return 60
	}
	return 300
}

// note counts a note that is about to be written, or refuses it: notes have a separate
// limit, and no other request waits for it.
func (p *pace) note(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.quiet.Sub(now)
	p.noted = slices.DeleteFunc(p.noted, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(p.noted) >= p.notesAt() {
		left = max(left, time.Minute-now.Sub(p.noted[0]))
	}
	if left > 0 {
		return &forge.Transient{Err: fmt.Errorf("no note is written for another %s: GitLab takes %d in a minute", left.Round(time.Second), p.notesAt()), After: left}
	}
	p.noted = append(p.noted, now)
	return nil
}

// writesNote reports whether a request writes a new note.
func writesNote(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/notes")
}

// now returns the time by GitLab's clock, as GitLab last told it, to the second.
func (p *pace) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.ahead)
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
