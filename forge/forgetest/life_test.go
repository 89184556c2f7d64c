package forgetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// A former name leads to the repository's id, where everything is that is at its name.
func TestFormerNamesRedirect(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	n := r.OpenIssue("o", "talk")
	c := rest{t, s, s.UserToken("o")}
	id := int64(c.want(200, "GET", "/repos/o/r", "")["id"].(float64))
	if err := r.Rename("o", "p/s"); err != nil {
		t.Fatal(err)
	}
	if got := c.want(200, "GET", "/repos/o/r", ""); got["full_name"] != "p/s" {
		t.Errorf("%v", got["full_name"])
	}
	if got := c.want(200, "GET", "/repos/o/r/pulls?state=all", ""); len(got["list"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
	c.want(201, "POST", fmt.Sprintf("/repositories/%d/issues/%d/comments", id, n), `{"body":"x"}`)
	if got := len(r.Comments(n)); got != 1 {
		t.Errorf("%d comments", got)
	}
	c.want(404, "GET", "/repositories/7", "")
	if _, err := s.AddRepository("o", "r", "main"); err != nil {
		t.Fatal(err)
	}
	if got := c.want(200, "GET", "/repos/o/r", ""); got["id"] == float64(id) {
		t.Error("the name is still the former repository's")
	}
}

func TestSuspendedInstallation(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	h := newHook(t)
	r := mustRepository(t, s)
	s.SetWebhook(h.URL, "key")
	c := installed(t, s, "null")
	tokens := fmt.Sprintf("/app/installations/%d/access_tokens", s.InstallationID())
	app := rest{t, s, appToken(t, s, time.Minute)}
	pull := func() bool {
		_, ok := git(t, ".", "Authorization: Bearer "+c.token, "ls-remote", r.CloneURL())
		return ok
	}
	s.App.Suspend("o", true)
	r.OpenIssue("o", "talk")
	r.Comment("o", 1, "unheard")
	c.want(403, "GET", "/repos/o/r", "")
	app.want(403, "POST", tokens, "null")
	if got := app.want(200, "GET", "/repos/o/r/installation", ""); got["suspended_at"] == nil {
		t.Error("it does not say that it is suspended")
	}
	if pull() {
		t.Error("git takes its token")
	}
	s.App.Suspend("o", false)
	c.want(200, "GET", "/repos/o/r", "")
	if !pull() {
		t.Error("git does not take its token")
	}
	r.Comment("o", 1, "heard")
	if kinds, _ := h.take(t, s); fmt.Sprint(kinds) != "[installation installation issue_comment]" {
		t.Error(kinds)
	}
}

// Taken off an installation on all repositories, it is on the others; what was
// chosen stays chosen when it is renamed.
func TestInstallationOnSelectedRepositories(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	if _, err := s.AddRepository("o", "other", "main"); err != nil {
		t.Fatal(err)
	}
	c := installed(t, s, "null")
	s.App.RemoveFromInstallation("o", "other")
	if err := r.Rename("o", "s"); err != nil {
		t.Fatal(err)
	}
	list := c.want(200, "GET", "/installation/repositories", "")
	if list["total_count"] != 1.0 || list["repository_selection"] != "selected" {
		t.Errorf("%v %v", list["total_count"], list["repository_selection"])
	}
	s.App.AddToInstallation("o", "other")
	if list := c.want(200, "GET", "/installation/repositories", ""); list["total_count"] != 2.0 {
		t.Errorf("%v", list["total_count"])
	}
}
