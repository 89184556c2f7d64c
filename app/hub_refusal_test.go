package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// refusals are what GitHub answers instead of what was asked for. One of the first
// is tried at each call always, and all of them where SUBMITQUEUE_REQUIRE names "matrix".
var refusals = []struct {
	name  string
	fault forgetest.Fault
	git   bool // git can be answered so, too
}{
	{"403", forgetest.Fault{Status: 403, Message: "Resource not accessible by integration"}, true},
	{"404", forgetest.Fault{Status: 404, Message: "Not Found"}, true},
	{"429", forgetest.Fault{Status: 429, Message: "Too many requests", Header: http.Header{"Retry-After": {"1"}}}, true},
	{"truncated", forgetest.Fault{Truncate: true}, true},
	{"401", forgetest.Fault{Status: 401, Message: "Bad credentials", Times: 2}, true}, // the first is answered with a new token
	{"403 hourly limit", forgetest.Fault{Status: 403, Message: "API rate limit exceeded for installation ID 2002.", Header: http.Header{
		"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Resource": {"core"}}}, false},
	{"403 secondary limit", forgetest.Fault{Status: 403, Message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
		Header: http.Header{"Retry-After": {"1"}}}, false},
	{"409", forgetest.Fault{Status: 409, Message: "Conflict"}, false},
	{"422", forgetest.Fault{Status: 422, Message: "Validation Failed"}, false},
	{"500", forgetest.Fault{Status: 500, Message: "Server Error"}, true},
	{"502", forgetest.Fault{Status: 502, Message: "Bad Gateway"}, true},
	{"time-out", forgetest.Fault{Hang: true}, false}, // of git, only the action's deadline ends it, minutes later
	{"cut off", forgetest.Fault{Times: 2}, true},     // net/http repeats a GET once by itself
	{"done, but the answer is lost", forgetest.Fault{After: true}, true},
}

const always = 4 // of refusals

// refusable are the calls that the app makes. In path, N is the pull request,
// U who asks, C their comment, H the head.
var refusable = []struct {
	name, method, path string
	git                bool
	stacked            bool       // of a pull request on top of one that has landed
	open               bool       // it may stay open when it has landed: the push does not wait for what is for people only
	before             func(*hub) // brings it about that the call is made
}{
	{name: "installation", method: "GET", path: "/repositories/*/installation", before: anew},
	{name: "token", method: "POST", path: "/app/installations/*/access_tokens", before: expire},
	{name: "app", method: "GET", path: "/app", before: restart},
	{name: "branch", method: "GET", path: "/repos/acme/shop/branches/main", before: restart},
	{name: "protection", method: "GET", path: "/repos/acme/shop/branches/main/protection", before: restart},
	{name: "rules", method: "GET", path: "/repos/acme/shop/rules/branches/main", before: restart},
	{name: "pull request", method: "GET", path: "/repos/acme/shop/pulls/N"},
	{name: "reviews", method: "GET", path: "/repos/acme/shop/pulls/N/reviews"},
	{name: "permission", method: "GET", path: "/repos/acme/shop/collaborators/U/permission"},
	{name: "find the comment", method: "GET", path: "/repos/acme/shop/issues/N/comments"},
	{name: "comment", method: "POST", path: "/repos/acme/shop/issues/N/comments"},
	{name: "edit the comment", method: "PATCH", path: "/repos/acme/shop/issues/comments/*"},
	{name: "react", method: "POST", path: "/repos/acme/shop/issues/comments/C/reactions"},
	{name: "find the check", method: "GET", path: "/repos/acme/shop/commits/H/check-runs", before: lostCheck},
	{name: "check", method: "POST", path: "/repos/acme/shop/check-runs"},
	{name: "update the check", method: "PATCH", path: "/repos/acme/shop/check-runs/*"},
	{name: "pull requests on it", method: "GET", path: "/repos/acme/shop/pulls", stacked: true},
	{name: "change the base", method: "PATCH", path: "/repos/acme/shop/pulls/N", stacked: true, open: true},
	{name: "missed comments", method: "GET", path: "/repos/acme/shop/issues/comments", before: restart},
	{name: "failed deliveries", method: "GET", path: "/app/hook/deliveries", before: restart},
	{name: "fetch", method: "POST", path: "/acme/shop.git/git-upload-pack", git: true},
	{name: "before a fetch or push", method: "GET", path: "/acme/shop.git/info/refs", git: true},
	{name: "push", method: "POST", path: "/acme/shop.git/git-receive-pack", git: true},
}

// lostCheck has the queue not know whether it has made a check, so that it looks.
func lostCheck(h *hub) {
	h.github.Fail(forgetest.Fault{Method: "POST", Path: "/repos/acme/shop/check-runs", Status: 502, Message: "Bad Gateway"})
}

func expire(h *hub) { h.github.ExpireTokens() }

func restart(h *hub) {
	h.stop()
	h.options.workers = workers.NewInstant(4)
	h.start(h.options)
}

func anew(h *hub) { restart(h); expire(h) }

// TestRefusals has GitHub refuse each kind of call in each way, once, while a
// change is to land. Whatever happens to the call: the change lands once, or it
// says why not and lands when it is asked for again; the comment and the check
// are right in the end, and somebody who looks finds the reason in between.
func TestRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	all := storetest.Required("matrix")
	t.Parallel()
	var wg sync.WaitGroup
	places := make(chan struct{}, 8) // most of the time they wait for the next try
	for at, call := range refusable {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(call.name, func(t *testing.T) {
				storetest.OneOf(t, 3)
				h := newHub(t, hubOptions{workers: workers.NewInstant(4), crowd: true, timeout: 2 * time.Second, talkative: true, http: call.git})
				h.proven()
				for i, refusal := range refusals {
					if call.git && !refusal.git || !all && i != at%always {
						continue
					}
					began := time.Now()
					n, user := h.toRefuse(i, call.stacked)
					h.refuse(n, user, refusal.name, call.method, call.path, refusal.fault, call.before, call.open)
					t.Logf("%s: %v", refusal.name, time.Since(began).Round(100*time.Millisecond))
				}
			})
		})
	}
	wg.Wait()
}

// toRefuse opens the pull request of one refusal.
func (h *hub) toRefuse(i int, stacked bool) (n int, user string) {
	h.Helper()
	user = fmt.Sprint("user-", i)
	h.SetPermission(user, "write")
	branch := fmt.Sprint("topic-", i)
	if !stacked {
		return h.pull(branch, map[string]string{branch: "a\n"}), user
	}
	low := fmt.Sprint("low-", i)
	h.landed(h.land(low, map[string]string{low: "a\n"}))
	return h.pullOn(branch, low, map[string]string{branch: "a\n"}), user
}

// refuse lands a pull request while one call is refused.
func (h *hub) refuse(n int, user, name, method, path string, f forgetest.Fault, before func(*hub), open bool) {
	h.Helper()
	if before != nil {
		before(h)
		h.proven()
	}
	h.github.HoldWebhooks()
	id := h.Comment(user, n, "/land")
	f.Method = method
	f.Path = strings.NewReplacer("/N", fmt.Sprint("/", n), "/U", "/"+user, "/C", fmt.Sprint("/", id), "/H", "/"+h.Pull(n).Head).Replace(path)
	if f.Header.Get("X-RateLimit-Remaining") == "0" {
		f.Header = f.Header.Clone()
		f.Header.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(2*time.Second).Unix(), 10))
	}
	h.github.Fail(f)
	if before != nil {
		before(h)
	}
	h.github.ReleaseWebhooks()

	said := ""
	h.until(fmt.Sprintf("%s: #%d has landed or says why not", name, n), func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		h.Look(func(v forgetest.View) { said, _ = bot(v.Comments(n)) })
		return v.Change.Phase.Final() || said != "" && v.Change.ID == ""
	})
	if h.change(n).Phase != queue.Landed {
		h.Logf("%s: first it said: %s", name, said)
		if !strings.Contains(said, "could not be asked") && !strings.Contains(said, "needs the permission") {
			h.Errorf("%s: #%d has not landed, and does not say why:\n%s", name, n, said)
		}
		h.github.Heal()
		h.Comment(user, n, "/land")
		h.settled(n)
	}
	if lasts := f.Status == 403 && f.Header == nil || slices.Contains([]int{401, 404, 409, 422}, f.Status); open && lasts {
		h.says(n, "✅ Landed")
	} else {
		h.landed(n)
	}
	if f.Times < 2 { // main is read after all else
		h.until(name+": the call is made", func(*speculation.Core) bool { return h.github.Faults() == 0 })
	}
	h.github.Heal()
	if got := strings.Count(git(h.T, h.Dir(), "log", "--first-parent", "--format=%s", "main"), fmt.Sprintf("Merge #%d:", n)); got != 1 {
		h.Errorf("%s: #%d is %d times on main", name, n, got)
	}
	if got := h.CI.Checks(h.Pull(n).Head); len(got) != 1 {
		h.Errorf("%s: #%d has %d check runs", name, n, len(got))
	}
}

// TestRefusedForGood has GitHub refuse each kind of call until somebody helps:
// whoever looks finds out, and all is well when it is mended. Every third call is tried
// always, and all of them where SUBMITQUEUE_REQUIRE names "matrix".
func TestRefusedForGood(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	var wg sync.WaitGroup
	places := make(chan struct{}, 8)
	for at, call := range refusable {
		if at%3 > 0 && !storetest.Required("matrix") {
			continue
		}
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(call.name, func(t *testing.T) {
				h := newHub(t, hubOptions{workers: workers.NewInstant(4), crowd: true, talkative: true, http: call.git})
				h.proven()
				n, user := h.toRefuse(0, call.stacked)
				h.proven()
				path := strings.NewReplacer("/N", fmt.Sprint("/", n), "/U", "/"+user, "/C", "/*", "/H", "/"+h.Pull(n).Head).Replace(call.path)
				h.github.Fail(forgetest.Fault{Method: call.method, Path: path, Status: 403, Message: "Not for you", Times: 1_000_000})
				if call.before != nil {
					call.before(h)
				}
				h.Comment(user, n, "/land")
				h.noticed(n)
				h.github.Heal()
				if h.change(n).Phase != queue.Landed {
					h.Comment(user, n, "/land")
				}
				if h.settled(n); call.open {
					h.says(n, "✅ Landed")
				} else {
					h.landed(n)
				}
			})
		})
	}
	wg.Wait()
}

// noticed waits until all is well with a pull request, or until people are told
// that it is not: by its comment, or by the page and the status.
func (h *hub) noticed(n int) {
	h.Helper()
	for limit := time.After(patience); ; {
		changed, said, right := h.owner.Changed(), "", false
		h.Look(func(v forgetest.View) {
			said, _ = bot(v.Comments(n))
			for _, check := range v.Checks(v.Pull(n).Head) {
				right = check.Conclusion == "success"
			}
		})
		_, page := h.page("/")
		switch {
		case right && strings.Contains(said, "✅ Landed"):
			h.Log("it has landed")
			return
		case h.change(n).ID == "" && strings.Contains(said, "could not be asked") && strings.Contains(said, "Not for you"):
			h.Log("the comment says why")
			return
		case strings.Contains(page, "Not for you") || strings.Contains(page, "403"):
			h.Log("the page says why")
			return
		}
		select {
		case <-changed:
		case <-limit:
			h.Fatalf("#%d has not landed, and nobody can see why:\n%s\n%s", n, said, h.describe())
		}
	}
}
