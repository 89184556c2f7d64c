package forgetest_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

func TestCreation(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, c := range map[string]struct {
		every time.Duration // a request, whether it is taken or not
		taken int           // in a row, before one is refused
		wait  time.Duration // that the refusal says
	}{
		"all at once":     {0, 80, time.Minute},
		"two a second":    {time.Second / 2, 80, 20 * time.Second},
		"one a second":    {time.Second, 500, time.Hour - 500*time.Second},
		"one in 7.2 s":    {7200 * time.Millisecond, 1000, 0},
		"one in 7 s":      {7 * time.Second, 500, 100 * time.Second},
		"81 a minute":     {time.Minute / 81, 80, time.Minute - 80*(time.Minute/81)},
		"80 a minute":     {time.Minute / 80, 500, time.Hour - 500*time.Minute/80},
		"sixteen an hour": {225 * time.Second, 1000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var meter forgetest.Creation
			for i := range 1000 {
				if wait := meter.Take(start.Add(time.Duration(i) * c.every)); wait != 0 {
					if i != c.taken || wait != c.wait {
						t.Errorf("refused after %d for %v, want %d, %v", i, wait, c.taken, c.wait)
					}
					if again := meter.Take(start.Add(time.Duration(i)*c.every + wait)); again != 0 {
						t.Errorf("refused again, for %v", again)
					}
					return
				}
			}
			if c.taken != 1000 {
				t.Errorf("none of 1000 was refused, want %d taken", c.taken)
			}
		})
	}
}

func TestCreationIsRefused(t *testing.T) {
	s := mustServer(t, forgetest.Options{Secondary: true})
	r := mustRepository(t, s)
	path := fmt.Sprintf("/repos/o/r/issues/%d/comments", r.OpenIssue("o", "talk"))
	c := installed(t, s, "null")
	var id float64
	for range 80 {
		id = c.want(201, "POST", path, `{"body":"x"}`)["id"].(float64)
	}
	status, head, body := c.do("POST", path, `{"body":"x"}`)
	after, err := strconv.Atoi(head.Get("Retry-After"))
	if status != 403 || err != nil || after < 1 || after > 60 || !strings.Contains(fmt.Sprint(body["message"]), "secondary rate limit") {
		t.Errorf("%d %v %v", status, head, body)
	}
	if n := len(r.Comments(1)); n != 80 {
		t.Errorf("%d comments", n)
	}
	c.want(200, "PATCH", fmt.Sprintf("/repos/o/r/issues/comments/%.0f", id), `{"body":"y"}`) // creates nothing
	c.want(200, "GET", path, "")
	(rest{t, s, s.UserToken("o")}).want(201, "POST", path, `{"body":"somebody else's"}`)
}

func TestPoints(t *testing.T) {
	s := mustServer(t, forgetest.Options{Points: 2})
	mustRepository(t, s)
	c := installed(t, s, "null")
	ask := func() (http.Header, string) {
		resp, body := c.post("/api/graphql", `{"query":"query Unmet(","variables":{"owner":"o","name":"none","number":1}}`)
		if resp.StatusCode != 200 || resp.Header.Get("X-RateLimit-Resource") != "graphql" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
		return resp.Header, body
	}
	for left := 1; left >= 0; left-- {
		if head, body := ask(); !strings.Contains(body, "NOT_FOUND") || head.Get("X-RateLimit-Remaining") != fmt.Sprint(left) {
			t.Errorf("%v %s", head, body)
		}
	}
	if _, body := ask(); !strings.Contains(body, "RATE_LIMITED") {
		t.Error(body)
	}
	for range 2 { // which costs nothing
		stand := c.want(200, "GET", "/rate_limit", "")["resources"].(map[string]any)
		graphQL, core := stand["graphql"].(map[string]any), stand["core"].(map[string]any)
		if graphQL["remaining"] != 0.0 || core["used"] != 0.0 {
			t.Errorf("%v", stand)
		}
	}
}
