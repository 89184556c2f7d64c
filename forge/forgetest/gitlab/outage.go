package gitlab

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// outage makes requests, pushes and webhooks fail by chance.
type outage struct {
	chance *rand.Rand
	share  float64
	hooks  bool // webhooks are lost as well
}

// outageHangs is how long an unanswered request hangs, if the client waits so long.
const outageHangs = 20 * time.Second

// BeginOutage makes GitLab have trouble until EndOutage: a share (0 to 1) of all requests
// fails, by chance. The failures are errors of the server as JSON, as a page or without a
// body, throttling, answers that are lost although the request took effect, connections that
// are cut at once, in the middle or after a long silence, and each refusal of a push that can
// pass (Refusals). With hooks, webhooks are lost as well, which GitLab does not repeat.
func (s *Server) BeginOutage(chance *rand.Rand, share float64, hooks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = &outage{chance, share, hooks}
}

// EndOutage ends it.
func (s *Server) EndOutage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = nil
}

// fails draws whether something fails. The caller holds the server's mu.
func (o *outage) fails() bool { return o != nil && o.chance.Float64() < o.share }

// fault draws how a request fails; nil: it does not. The caller holds the server's mu.
func (o *outage) fault() *Fault {
	if !o.fails() {
		return nil
	}
	const page = "<html><body>GitLab is not responding</body></html>"
	kinds := []Fault{
		{Status: http.StatusInternalServerError, Body: `{"message":"500 Internal Server Error"}`},
		{Status: http.StatusBadGateway, Body: page},
		{Status: http.StatusServiceUnavailable, Body: page},
		{Status: http.StatusGatewayTimeout, Body: "\n"},
		{Status: http.StatusTooManyRequests, Body: "Retry later\n", Header: http.Header{"Content-Type": {"text/plain"}, "Retry-After": {"5"}}},
		{Status: http.StatusBadGateway, Body: page, Done: true},
		{Cut: true},
		{Cut: true, Done: true},
		{Half: true},
		{Cut: true, Hang: outageHangs},
	}
	f := kinds[o.chance.IntN(len(kinds))]
	return &f
}

// refusal draws how a push fails; nil: it does not. The caller holds the server's mu.
func (o *outage) refusal() *pushRefusal {
	if !o.fails() {
		return nil
	}
	kinds := slices.DeleteFunc(Refusals(), func(r Refusal) bool { return r.Rule || r.Race })
	r := kinds[o.chance.IntN(len(kinds))]
	r.Applied = o.chance.IntN(4) == 0
	return &pushRefusal{Refusal: r}
}

// losesHook draws whether a webhook is lost. The caller holds the server's mu.
func (o *outage) losesHook() bool { return o != nil && o.hooks && o.fails() }

// hang waits as a fault says, or until the client has gone.
func (f *Fault) hang(ctx context.Context) {
	if f.Hang <= 0 {
		return
	}
	t := time.NewTimer(f.Hang)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Live runs background jobs and sends webhooks until ctx ends.
func (s *Server) Live(ctx context.Context) {
	const pause = 2 * time.Millisecond
	t := time.NewTicker(pause)
	defer t.Stop()
	for ctx.Err() == nil {
		s.Settle()
		s.Deliver(ctx)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}
