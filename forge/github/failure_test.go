package github_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
)

func TestWhatMayGoAwayIsTransient(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		fault    forgetest.Fault
		min, max time.Duration
	}{
		"500":              {forgetest.Fault{Status: 500}, 0, 0},
		"503 with time":    {forgetest.Fault{Status: 503, Header: header("Retry-After", "7")}, 7 * time.Second, 7 * time.Second},
		"429 with time":    {forgetest.Fault{Status: 429, Header: header("Retry-After", "30")}, 30 * time.Second, 30 * time.Second},
		"429":              {forgetest.Fault{Status: 429}, time.Minute, time.Minute},
		"429 with a date":  {forgetest.Fault{Status: 429, Header: header("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))}, 50 * time.Minute, time.Hour},
		"secondary":        {forgetest.Fault{Status: 403, Message: "You have exceeded a secondary rate limit"}, time.Minute, time.Minute},
		"secondary, timed": {forgetest.Fault{Status: 403, Header: header("Retry-After", "5")}, 5 * time.Second, 5 * time.Second},
		"no answer":        {forgetest.Fault{}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, forgetest.Options{})
			n := w.pull("topic")
			c.fault.Path = "/repos/o/r/pulls/*"
			c.fault.Times = 2 // net/http itself repeats a GET on a connection that was cut
			w.server.Fail(c.fault)
			_, err := w.forge.PullRequest(w.ctx, n)
			var transient *forge.Transient
			if !errors.As(err, &transient) || transient.After < c.min || transient.After > c.max {
				t.Errorf("%T %v %+v", err, err, transient)
			}
		})
	}
}

func TestHourlyLimit(t *testing.T) {
	w := newWorld(t, forgetest.Options{RateLimit: 3})
	n := w.pull("topic")
	for range 6 {
		_, err := w.forge.PullRequest(w.ctx, n)
		if err == nil {
			continue
		}
		var transient *forge.Transient
		if !errors.As(err, &transient) || transient.After <= 0 || transient.After > time.Hour {
			t.Errorf("%v", err)
		}
		return
	}
	t.Error("the limit was not met")
}

func TestLimitOnContent(t *testing.T) {
	w := newWorld(t, forgetest.Options{Secondary: true})
	for range 80 {
		w.must(w.forge.Comment(w.ctx, w.repo.OpenIssue("ann", "talk"), marker, "hello"))
	}
	n := w.repo.OpenIssue("ann", "talk")
	err := w.forge.Comment(w.ctx, n, marker, "hello")
	var transient *forge.Transient
	if !errors.As(err, &transient) || transient.After <= 0 || transient.After > time.Minute {
		t.Errorf("%v", err)
	}
	if l := w.forge.Limits(); l.Refused != 1 || !strings.Contains(l.Why, "secondary") {
		t.Errorf("%+v", l)
	}
	if list := w.repo.Comments(n); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestLimitOnPoints(t *testing.T) {
	w := newWorld(t, forgetest.Options{Points: 1})
	n := w.pull("topic")
	ask := func() error {
		_, err := w.forge.Unmet(w.ctx, forge.Requirements{Number: n, Head: queue.CommitID(w.repo.Pull(n).Head), Base: "main", Branch: "main"})
		return err
	}
	w.must(ask())
	err := ask()
	var transient *forge.Transient
	if !errors.As(err, &transient) || transient.After <= 0 || transient.After > time.Hour {
		t.Errorf("%v", err)
	}
	_, err = w.forge.PullRequest(w.ctx, n) // what is asked over REST has a limit of its own
	w.must(err)
}

func TestTokenThatIsNoLongerTakenIsReplaced(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	w.must(w.forge.Comment(w.ctx, n, marker, "one"))
	w.server.ExpireTokens()
	w.must(w.forge.Comment(w.ctx, n, marker, "two")) // a request with a body is sent again whole
	if list := w.repo.Comments(n); len(list) != 1 || !strings.HasPrefix(list[0].Body, "two") {
		t.Errorf("%+v", list)
	}
	if got := len(w.server.Requests("POST", "/app/installations/*/access_tokens")); got != 2 {
		t.Errorf("%d tokens", got)
	}
}

func TestShortLivedTokensAreRenewed(t *testing.T) {
	w := newWorld(t, forgetest.Options{TokenLife: 30 * time.Second}) // less than the minute kept in hand
	for range 2 {
		_, err := w.forge.Remote(w.ctx)
		w.must(err)
	}
	if got := len(w.server.Requests("POST", "/app/installations/*/access_tokens")); got != 2 {
		t.Errorf("%d tokens", got)
	}
}

func TestMissingPermissionSaysWhichOne(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: map[string]string{"metadata": "read", "pull_requests": "read", "contents": "read"}})
	n := w.pull("topic")
	p, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	err = w.forge.Check(w.ctx, forge.Check{Name: "x", Head: p.Head, State: forge.CheckQueued})
	if !isErr(err, forge.ErrForbidden) || !strings.Contains(err.Error(), "checks=") {
		t.Errorf("%v", err)
	}
	remote, err := w.forge.Remote(w.ctx)
	w.must(err)
	if out, err := w.git(w.repo.Dir(), remote, "push", remote.URL, "main:other"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("a push without contents: write: %s", out)
	}
}

func TestAppThatIsNotInstalledIsNotAMissingPullRequest(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	for name, o := range map[string]github.Options{
		"not installed": {AppID: w.server.AppID(), Owner: "o", Name: "other"},
		"wrong app":     {AppID: 7, Owner: "o", Name: "r"},
	} {
		o.BaseURL, o.PrivateKey = w.server.APIURL(), w.server.AppKey()
		f, err := github.New(o)
		w.must(err)
		_, err = f.PullRequest(w.ctx, 1)
		if !isErr(err, forge.ErrForbidden) || isErr(err, forge.ErrNotFound) || strings.Contains(err.Error(), "PRIVATE KEY") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := f.Permission(w.ctx, "ann"); !isErr(err, forge.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerThatIsGone(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	f, err := github.New(github.Options{
		BaseURL: "http://127.0.0.1:1/api/v3", AppID: 1, PrivateKey: w.server.AppKey(), Owner: "o", Name: "r",
	})
	w.must(err)
	var transient *forge.Transient
	if _, err := f.PullRequest(w.ctx, 1); !errors.As(err, &transient) {
		t.Errorf("%v", err)
	}
}

func TestCancelledIsNotTransient(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	_, err := w.forge.PullRequest(ctx, 1)
	var transient *forge.Transient
	if !errors.Is(err, context.Canceled) || errors.As(err, &transient) {
		t.Errorf("%v", err)
	}
}

func TestNoCredentialsInErrorsAndLogs(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	var all strings.Builder
	for _, status := range []int{401, 401, 403, 404, 422, 500, 0} {
		w.server.Fail(forgetest.Fault{Path: "/repos/o/r/pulls/*", Status: status, Times: 2})
		_, err := w.forge.PullRequest(w.ctx, n)
		all.WriteString(err.Error())
	}
	remote, err := w.forge.Remote(w.ctx)
	w.must(err)
	all.WriteString(w.log.String())
	_, secret, _ := strings.Cut(remote.Header[0], "Basic ")
	for _, bad := range []string{"ghs_", secret, "Bearer", "eyJ"} {
		if strings.Contains(all.String(), bad) {
			t.Errorf("%q got out:\n%s", bad, all.String())
		}
	}
}

func TestRepositoriesOfAnInstallationShareItsLimit(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	other, err := w.server.AddRepository("o", "other", "main")
	w.must(err)
	_, err = other.Commit("o", forgetest.Commit{Branch: "main", Files: map[string]string{"a": "a"}})
	w.must(err)
	shared := github.NewShared(nil, 0)
	forges := map[string]*github.Forge{}
	for _, name := range []string{"r", "other"} {
		forges[name], err = github.New(github.Options{BaseURL: w.server.APIURL(), AppID: w.server.AppID(), PrivateKey: w.server.AppKey(),
			Owner: "o", Name: name, Shared: shared})
		w.must(err)
		_, err = forges[name].Permission(w.ctx, "o")
		w.must(err)
	}
	w.server.Fail(forgetest.Fault{Path: "/repos/o/r/collaborators/o/permission", Status: 429, Header: http.Header{"Retry-After": {"30"}}})
	_, err = forges["r"].Permission(w.ctx, "o")
	var transient *forge.Transient
	if !errors.As(err, &transient) || transient.After != 30*time.Second {
		t.Errorf("%v", err)
	}
	asked := len(w.server.Requests("", "/repos/o/other/**"))
	_, err = forges["other"].Permission(w.ctx, "o")
	if !errors.As(err, &transient) || transient.After < 25*time.Second || len(w.server.Requests("", "/repos/o/other/**")) != asked {
		t.Errorf("the other repository: %v, %d requests", err, len(w.server.Requests("", "/repos/o/other/**"))-asked)
	}
	if l := forges["other"].Limits(); l.Account != "installation 2002" || l.Refused != 1 || l.Why == "" || l.Limit == 0 {
		t.Errorf("%+v", l)
	}
	if _, err := forges["r"].Remote(w.ctx); err != nil {
		t.Errorf("git waits, too: %v", err)
	}
}

// An address that no request can be sent to is refused at the start, and not tried for ever.
func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ghe.example.com", "ftp://ghe.example.com/api/v3/", "https:///api/v3/"} {
		_, err := github.New(github.Options{BaseURL: address, AppID: 1, PrivateKey: []byte("key"), Owner: "o", Name: "r"})
		if err == nil || !strings.Contains(err.Error(), "write https://HOST/api/v3/") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
