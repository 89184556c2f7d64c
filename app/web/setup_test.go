package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/web"
)

// setupPages are the pages of the set-up.
func setupPages() map[string]func(*web.Pages, io.Writer) error {
	first := web.SetupForm{Form: "once", Site: "https://github.com", Server: "https://queue.example.com", File: "/var/lib/submitqueue/github-app.json",
		Permissions: []web.SetupPermission{
			{"contents", "write", "reads the code and its configuration, pushes builds and what has landed"},
			{"metadata", "read", "sees the repositories and what people may do with them"},
		},
		Events: []web.SetupPermission{{"issue_comment", "", "commands in comments"}, {"push", "", "commits on the target branch"}}}
	again := first
	again.Problem, again.Organization, again.Server, again.Show, again.Loopback = hostile, "acme", "http://localhost:8080", true, true
	lab := web.SetupLab{Form: "once", Site: "https://gitlab.com", Link: "https://gitlab.com/-/user_settings/personal_access_tokens?name=SubmitQueue&scopes=api", Server: "https://queue.example.com", File: "/var/lib/submitqueue/gitlab-token",
		Events: []web.SetupPermission{{"Comments", "", "commands"}, {"Push events", "", "the target branch has moved"}}}
	labAgain := lab
	labAgain.Problem, labAgain.Target, labAgain.Server, labAgain.Loopback, labAgain.Kept, labAgain.Link, labAgain.Report = hostile, "group/shop", "http://localhost:8080", true, true, "", "FAIL  branch  "+hostile+"\n      fix: x\n"
	return map[string]func(*web.Pages, io.Writer) error{
		"setup-lab":       func(p *web.Pages, w io.Writer) error { return p.SetupLab(w, lab) },
		"setup-lab-again": func(p *web.Pages, w io.Writer) error { return p.SetupLab(w, labAgain) },
		"setup-lab-made": func(p *web.Pages, w io.Writer) error {
			return p.SetupLabMade(w, web.SetupLabMade{Projects: []string{"group/shop", "group/sub/other"}, Report: "made      the webhook\n" + hostile, File: "/var/lib/submitqueue/gitlab-token", Problem: "the disk is full"})
		},
		"setup":       func(p *web.Pages, w io.Writer) error { return p.SetupForm(w, first) },
		"setup-again": func(p *web.Pages, w io.Writer) error { return p.SetupForm(w, again) },
		"setup-go": func(p *web.Pages, w io.Writer) error {
			return p.SetupGo(w, web.SetupGo{Action: "/nowhere?state=x", Site: "https://github.com", Manifest: `{"name":"a\"b<script>"}`})
		},
		"setup-made": func(p *web.Pages, w io.Writer) error {
			return p.SetupMade(w, web.SetupMade{Name: "acme-queue" + hostile, Install: "https://github.com/apps/acme-queue/installations/new", File: "/var/lib/submitqueue/github-app.json"})
		},
		"setup-idle": func(p *web.Pages, w io.Writer) error {
			return p.SetupMade(w, web.SetupMade{Name: "acme-queue", Install: "https://github.com/apps/acme-queue/installations/new", File: "/var/lib/submitqueue/github-app.json", Idle: "its key is none" + hostile})
		},
		"setup-shown": func(p *web.Pages, w io.Writer) error {
			return p.SetupMade(w, web.SetupMade{Name: "acme-queue", Install: "https://github.com/apps/acme-queue/installations/new",
				Credentials: "{\n  \"id\": 7\n}\n</textarea><script>alert(1)</script>", Problem: "the disk is full"})
		},
	}
}

// The form works in a browser, by keyboard alone: the first field has the
// focus, every field has a label, and the manifest goes on by itself.
func TestSetupInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	server := pagesOverHTTP(t)
	dom := mustChromium(t, "--dump-dom", server.URL+"/setup-shown")
	if !strings.Contains(dom, `&lt;/textarea&gt;&lt;script&gt;alert(1)`) {
		t.Errorf("the page in a browser:\n%s", dom)
	}
	dom = mustChromium(t, "--dump-dom", server.URL+"/setup")
	for _, id := range []string{"organization", "server", "site"} {
		if !strings.Contains(dom, `label for="`+id+`"`) || !strings.Contains(dom, `id="`+id+`-help"`) {
			t.Errorf("the field %s has no label or help", id)
		}
	}
	if strings.Contains(dom, "<script") {
		t.Error("the form needs a script")
	}
}

// The manifest goes on to GitHub by itself, under the policy that the page has.
func TestSetupGoesOnInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/static/", http.StripPrefix("/static/", web.Static()))
	mux.HandleFunc("/setup-go", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		if err := setupPages()["setup-go"](web.New(web.Options{Words: words{}}), w); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("POST /nowhere", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "state %s, manifest %s", r.URL.Query().Get("state"), r.PostFormValue("manifest"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	if dom := mustChromium(t, "--dump-dom", "--virtual-time-budget=5000", server.URL+"/setup-go"); !strings.Contains(dom, `state x, manifest {"name":"a\"b&lt;script&gt;"}`) {
		t.Errorf("GitHub was given:\n%s", dom)
	}
}
