package forgetest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
)

// three opens pull requests on top of each other, the bottom first, each with a file of its
// own, and makes a stack of them.
func three(t *testing.T, r *forgetest.Repository) (stack int, pulls []int) {
	t.Helper()
	on := "main"
	for _, name := range []string{"one", "two", "three"} {
		c := forgetest.Commit{Branch: name, Files: map[string]string{name: name}}
		if on != "main" {
			c.From = r.Head(on)
		}
		mustCommit(t, r, "o", c)
		n, err := r.OpenPull("o", name, on, name)
		if err != nil {
			t.Fatal(err)
		}
		pulls, on = append(pulls, n), name
	}
	stack, err := r.Stack("o", pulls...)
	if err != nil {
		t.Fatal(err)
	}
	return stack, pulls
}

// The base of a member stays what it is, and unstacking gives it free: at once where none
// is merged, and else all that are not.
func TestStackOfGitHub(t *testing.T) {
	s := mustServer(t, forgetest.Options{Judge: contract.Wrong(t)})
	r := mustRepository(t, s)
	stack, pulls := three(t, r)
	c := rest{t, s, s.UserToken("o")}
	path := fmt.Sprintf("/repos/o/r/pulls/%d", pulls[1])
	refusal := c.want(422, "PATCH", path, `{"base":"main"}`)
	if why := fmt.Sprint(refusal["errors"]); !strings.Contains(why, "Cannot change the base branch because the pull request is part of a stack.") {
		t.Errorf("the base of a member: %v", refusal)
	}
	if got, ok := c.want(200, "GET", path, "")["stack"].(map[string]any); !ok || fmt.Sprint(got["number"], got["size"], got["position"]) != fmt.Sprint(stack, 3, 2) || got["base"].(map[string]any)["ref"] != "main" {
		t.Errorf("stack of the second: %v", got)
	}
	for _, x := range []struct {
		code               int
		method, path, body string
	}{
		{200, "GET", "/repos/o/r/stacks", ""},
		{200, "GET", "/repos/o/r/stacks/1", ""},
		{404, "GET", "/repos/o/r/stacks/2", ""},
		{422, "POST", "/repos/o/r/stacks", `{"pull_requests":[1,2]}`},
		{422, "POST", "/repos/o/r/stacks/1/add", `{"pull_requests":[1]}`},
		{204, "POST", "/repos/o/r/stacks/1/unstack", ""},
		{404, "GET", "/repos/o/r/stacks/1", ""},
		{200, "PATCH", path, `{"base":"main"}`},
		{200, "PATCH", path, `{"base":"one"}`},
		{201, "POST", "/repos/o/r/stacks", `{"pull_requests":[1,2]}`},
		{200, "POST", "/repos/o/r/stacks/2/add", `{"pull_requests":[3]}`},
	} {
		c.want(x.code, x.method, x.path, x.body)
	}
	// One that is merged stays, and keeps the stack.
	mustCommit(t, r, "o", forgetest.Commit{Branch: "main", Merge: "one"})
	if left := c.want(200, "POST", "/repos/o/r/stacks/2/unstack", ""); left["open"] != false {
		t.Errorf("unstack with a merged member: %v", left)
	}
	c.want(422, "POST", "/repos/o/r/stacks/2/unstack", "")
}

// A member above a merged one is rebased and asks for the stack's base, with the author
// kept; where nobody restacks, it stays.
func TestRestackOfGitHub(t *testing.T) {
	for name, restacks := range map[string]bool{"restacked": true, "left": false} {
		t.Run(name, func(t *testing.T) {
			s := mustServer(t, forgetest.Options{Judge: contract.For(t)})
			r := mustRepository(t, s)
			_, pulls := three(t, r)
			if restacks {
				r.RestackOnPush()
			}
			before := r.Pull(pulls[1])
			dir := filepath.Join(t.TempDir(), "clone")
			mustCommit(t, r, "o", forgetest.Commit{Branch: "main", Merge: "one"})
			if p := r.Pull(pulls[0]); !p.Merged {
				t.Fatalf("the bottom: %+v", p)
			}
			p := r.Pull(pulls[1])
			if moved := p.Head != before.Head; moved != restacks || (p.Base == "main") != restacks {
				t.Fatalf("the second is at base %s, moved: %v", p.Base, moved)
			}
			if !restacks {
				return
			}
			mustGit(t, ".", "", "clone", "-q", r.CloneURL(), dir)
			if got := strings.TrimSpace(mustGit(t, dir, "", "log", "--format=%s", "origin/main..origin/three")); got != "Change three\nChange two" {
				t.Errorf("commits of the third: %q", got)
			}
			if q := r.Pull(pulls[2]); q.Base != "two" || q.Head != r.Head("three") {
				t.Errorf("the third: %+v", q)
			}
		})
	}
}
