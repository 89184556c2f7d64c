package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// Each request that landing a merge request makes of GitLab fails once, in each way: with an
// error of the server, throttled, with its answer lost or cut, and not at all carried out.
// The merge request lands all the same, once, with one note and without a quick action.
func TestServeGitLabRefusals(t *testing.T) {
	t.Parallel()
	page := "<html>GitLab is not responding</html>"
	for name, f := range map[string]fake.Fault{
		"error":         {Status: 500, Body: `{"message":"500 Internal Server Error"}`},
		"page":          {Status: 502, Body: page},
		"lost answer":   {Status: 502, Body: page, Done: true},
		"throttled":     {Status: 429, Body: "Retry later\n", Header: http.Header{"Retry-After": {"1"}}},
		"cut":           {Cut: true},
		"cut after":     {Cut: true, Done: true},
		"half":          {Half: true},
		"not found yet": {Status: 404, Body: `{"message":"404 Not found"}`},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			t.Parallel()
			gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nqueue: {method: squash}\nsteps:\n  - {name: unit, run: 'true'}\n")
			p.Push("ann", "first", map[string]string{"first.txt": "n\n"})
			first := p.Open(fake.Opening{Author: "ann", Source: "first"})
			p.Comment("ann", first, "/land")
			s.until("the first is merged", func() bool { return p.Look(first).State == "merged" })
			switch name {
			case "not found yet": // of a merge request: GitLab may not find for a moment what it has told of
				f.Method, f.Path = "GET", "/merge_requests/2"
				gl.Fail(f)
			case "throttled": // which silences all, and each further time longer
				f.Method, f.Path = "GET", "/approvals"
				gl.Fail(f)
				f.Method, f.Path = "POST", "/merge_requests/2/notes"
				gl.Fail(f)
			default:
				for _, at := range []fake.Fault{
					{Method: "GET", Path: "/merge_requests/2"}, {Method: "GET", Path: "/merge_requests/2/approvals"}, {Method: "GET", Path: "/members/all/"}, {Method: "GET", Path: "/repository/branches/"},
					{Method: "GET", Path: "/merge_requests/2/notes"}, {Method: "POST", Path: "/merge_requests/2/notes"}, {Method: "PUT", Path: "/notes/"}, {Method: "POST", Path: "/award_emoji"}, {Method: "POST", Path: "/statuses/"},
				} {
					f.Method, f.Path = at.Method, at.Path
					gl.Fail(f)
				}
			}
			p.Push("ann", "second", map[string]string{"second.txt": "n\n"})
			n := p.Open(fake.Opening{Author: "ann", Source: "second"})
			p.Comment("ann", n, "/land")
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%+v\n%+v\n%+v", p.Look(n), p.AllNotes(n), gl.Requests())
				}
			})
			s.until("it is merged", func() bool { return p.Look(n).State == "merged" })
			s.until("one note says so", func() bool {
				notes := p.Notes(gl.Bot(), n)
				return len(notes) == 1 && strings.Contains(notes[0].Body, "anded")
			})
			if commits, merges := p.History("main"); commits != 4 || merges != 0 {
				t.Errorf("main has %d commits, of these %d merges", commits, merges)
			}
			if got := gl.BotActions(); len(got) != 0 {
				t.Errorf("executed as the bot: %v", got)
			}
		})
	}
}

// GitLab refuses the push of main in each way that can pass, one merge request after the
// other, some of them though it has carried the push out. Each lands. Then it refuses by a
// rule, which somebody who looks at the merge request reads, in GitLab's words.
func TestServeGitLabRefusedPushes(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nsteps:\n  - {name: unit, run: 'true'}\n")
	land := func(name string) int {
		p.Push("ann", name, map[string]string{name + ".txt": "n\n"})
		n := p.Open(fake.Opening{Author: "ann", Source: name})
		p.Comment("ann", n, "/land")
		return n
	}
	var all []int
	for i, r := range fake.Refusals() {
		if r.Rule {
			continue
		}
		r.Applied = i%3 == 0
		p.RefusePush("main", r)
		all = append(all, land("topic-"+strings.ReplaceAll(r.Name, " ", "-")))
	}
	s.until("all are merged", func() bool {
		return !slices.ContainsFunc(all, func(n int) bool { return p.Look(n).State != "merged" })
	})
	p.RefusePush("main", fake.Refusal{Text: "Commit message does not follow the pattern 'JIRA-\\d+'", Rule: true})
	p.RefusePush("main", fake.Refusal{Text: "Commit message does not follow the pattern 'JIRA-\\d+'", Rule: true})
	n := land("ruled")
	s.until("the rule is told", func() bool {
		notes := p.Notes(gl.Bot(), n)
		return len(notes) == 1 && strings.Contains(notes[0].Body, "does not follow the pattern") || p.Look(n).State == "merged"
	})
	if p.Look(n).State == "merged" {
		t.Log("it was tried until it was let through")
	}
}
