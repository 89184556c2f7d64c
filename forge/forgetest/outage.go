package forgetest

import (
	"math/rand/v2"
	"net/http"
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

// BeginOutage makes GitHub have trouble until EndOutage: a share (0 to 1) of all requests
// fails, by chance, in the ways that are known of its outages (githubstatus.com; for pushes
// Refusals.Trouble). These are errors of the server, answers that are lost although the
// request took effect, and connections that are cut at once, in the middle or after a long
// silence. With hooks, webhooks are lost as well, which GitHub does not repeat on its own.
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
	kinds := []Fault{
		{Status: http.StatusInternalServerError, Message: "Server Error"},
		{Status: http.StatusBadGateway, Message: "Server Error"},
		{Status: http.StatusServiceUnavailable, Message: "No server is currently available to service your request."},
		{Status: http.StatusGatewayTimeout, Message: "We couldn't respond to your request in time."},
		{Status: http.StatusTooManyRequests, Message: "Too many requests", Header: http.Header{"Retry-After": {"5"}}},
		{Status: http.StatusBadGateway, Message: "Server Error", After: true},
		{},
		{After: true},
		{Truncate: true},
		{HangFor: outageHangs},
	}
	f := kinds[o.chance.IntN(len(kinds))]
	return &f
}

// losesHook draws whether a webhook is lost. The caller holds the server's mu.
func (o *outage) losesHook() bool { return o != nil && o.hooks && o.fails() }

// refusal draws how a push fails; nil: it does not. The caller holds the server's mu.
func (o *outage) refusal(early bool) *Refusal {
	if !o.fails() {
		return nil
	}
	var kinds []*Refusal
	for i := range Refusals.Trouble {
		if x := &Refusals.Trouble[i]; early == (x.Status != 0) {
			kinds = append(kinds, x)
		}
	}
	return kinds[o.chance.IntN(len(kinds))]
}
