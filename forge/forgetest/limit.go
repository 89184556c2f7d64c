package forgetest

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Creation is GitHub's secondary limit on creating content: "no more than 80
// content-generating requests per minute and no more than 500 content-generating
// requests per hour" ("Rate limits for the REST API"). It has no clock; the zero
// value is ready.
type Creation struct {
	at []time.Time // in the last hour, oldest first
}

const (
	createdPerMinute = 80
	createdPerHour   = 500
)

// Take counts a request that creates content, or says how long none may.
func (c *Creation) Take(now time.Time) (wait time.Duration) {
	c.at = slices.DeleteFunc(c.at, func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	for most, period := range map[int]time.Duration{createdPerMinute: time.Minute, createdPerHour: time.Hour} {
		if len(c.at) >= most {
			wait = max(wait, c.at[len(c.at)-most].Add(period).Sub(now))
		}
	}
	if wait <= 0 {
		c.at = append(c.at, now)
	}
	return max(wait, 0)
}

// Creates says whether a route, such as one of Routes, creates content. GitHub's
// description marks those: "This endpoint triggers notifications. Creating content
// too quickly using this endpoint may result in secondary rate limiting."
func Creates(route string) bool {
	return route == "POST /repos/{owner}/{repo}/issues/{number}/comments" || route == "POST /repos/{owner}/{repo}/pulls" ||
		route == "PUT /repos/{owner}/{repo}/pulls/{number}/merge"
}

// asker names the owner of the limits that a request counts against. All clients of
// an installation share its limits.
func (w identity) asker() string {
	switch {
	case w.installation():
		return fmt.Sprint("installation ID ", w.token.install)
	case w.app:
		return "the App"
	case w.user != nil:
		return "user " + w.user.login
	}
	return "anonymous"
}

// limit counts a request, unless it is free, and tells the client its limits of
// this hour. GraphQL is counted in points, REST in requests.
func (s *web) limit(h http.Header, who identity, resource string, most int, free bool) error {
	hour := time.Now().Truncate(time.Hour)
	if s.usage == nil || !s.hour.Equal(hour) {
		s.usage, s.hour = map[string]int{}, hour
	}
	key := resource + " " + who.asker()
	if !free {
		s.usage[key]++
	}
	used := min(s.usage[key], most)
	h.Set("X-RateLimit-Limit", strconv.Itoa(most))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(most-used))
	h.Set("X-RateLimit-Used", strconv.Itoa(used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(hour.Add(time.Hour).Unix(), 10))
	h.Set("X-RateLimit-Resource", resource)
	if s.usage[key] > most {
		return refused("API rate limit exceeded for " + who.asker() + ".")
	}
	return nil
}

// unspend takes back a request that was free after all.
func (s *web) unspend(who identity, resource string) { s.usage[resource+" "+who.asker()]-- }

// create refuses to create more than GitHub does, if that is switched on.
func (s *web) create(c *call, rt route) error {
	if !s.server.opts.Secondary || !Creates(rt.pattern) {
		return nil
	}
	if s.created == nil {
		s.created = map[string]*Creation{}
	}
	key := c.who.asker()
	if s.created[key] == nil {
		s.created[key] = &Creation{}
	}
	wait := s.created[key].Take(time.Now())
	if wait == 0 {
		return nil
	}
	c.next.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return refused("You have exceeded a secondary rate limit and have been temporarily blocked from content creation. " +
		"Please retry your request again later.")
}

// rateLimit answers GET /rate_limit, which is free.
func rateLimit(c *call) (any, error) {
	stand := func(resource string, most int) obj {
		h := http.Header{}
		_ = c.s.web.limit(h, c.who, resource, most, true) // a used-up limit is no error here
		o := obj{}
		for member, header := range map[string]string{"limit": "Limit", "used": "Used", "remaining": "Remaining", "reset": "Reset"} {
			n, _ := strconv.ParseInt(h.Get("X-RateLimit-"+header), 10, 64) // set above
			o[member] = n
		}
		return o
	}
	core := stand("core", c.s.opts.RateLimit)
	return obj{"resources": obj{"core": core, "graphql": stand("graphql", c.s.opts.Points), "search": stand("search", 30)}, "rate": core}, nil
}
