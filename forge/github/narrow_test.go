package github_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
)

func allNeeds() map[string]string {
	all := map[string]string{"secrets": "write"} // granted, and never asked for
	for _, n := range github.Needs() {
		all[n.Name] = n.Access
	}
	return all
}

// grantsOf describes tokens as "repositories: permissions".
func grantsOf(s *forgetest.Server) map[string]int {
	seen := map[string]int{}
	for _, g := range s.App.Grants() {
		seen[fmt.Sprint(g.Repositories, " ", g.Permissions)]++
	}
	return seen
}

func TestTokensAreNarrow(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: allNeeds()})
	if _, err := w.server.AddRepository("o", "other", "main"); err != nil {
		t.Fatal(err)
	}
	n := w.pull("topic")
	for range 2 {
		if _, err := w.forge.PullRequest(w.ctx, n); err != nil {
			t.Fatal(err)
		}
		if _, err := w.forge.Remote(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
	rest, git := allNeeds(), map[string]string{"contents": "write", "workflows": "write", "metadata": "read"}
	delete(rest, "workflows")
	delete(rest, "secrets")
	rest["contents"] = "read"
	want := map[string]int{fmt.Sprint([]string{"o/r"}, " ", rest): 1, fmt.Sprint([]string{"o/r"}, " ", git): 1}
	if got := grantsOf(w.server); !maps.Equal(got, want) {
		t.Errorf("tokens\n%v, want\n%v", got, want)
	}
}

// A permission that is taken away costs what needed it, and nothing else; one
// that is given back is used again.
func TestTokensFollowWhatIsGranted(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: allNeeds()})
	n := w.pull("topic")
	_, err := w.forge.PullRequest(w.ctx, n)
	w.must(err)
	less := allNeeds()
	delete(less, "checks")
	less["issues"] = "read"
	w.server.SetPermissions(less)
	w.server.ExpireTokens()
	_, err = w.forge.PullRequest(w.ctx, n)
	w.must(err)
	check := forge.Check{Name: "submitqueue", Head: "x", State: forge.CheckQueued}
	if err := w.forge.Check(w.ctx, check); !errors.Is(err, forge.ErrForbidden) || !strings.Contains(err.Error(), "checks") {
		t.Errorf("%v", err)
	}
	w.server.SetPermissions(allNeeds())
	w.forge.Refresh()
	if err := w.forge.Check(w.ctx, check); errors.Is(err, forge.ErrForbidden) {
		t.Errorf("%v", err)
	}
}

func TestAppListsWhatItReaches(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: allNeeds()})
	for _, name := range []string{"idle", "out"} {
		if _, err := w.server.AddRepository("acme", name, "main"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.repo.Commit("o", forgetest.Commit{Branch: "main", Files: map[string]string{".submitqueue.yml": "version: 1\n"}}); err != nil {
		t.Fatal(err)
	}
	one, two := w.server.App.Install("o"), w.server.App.Install("acme", "idle")
	app, err := github.NewApp(github.AppOptions{BaseURL: w.server.APIURL(), AppID: w.server.AppID(), PrivateKey: w.server.AppKey()})
	w.must(err)
	list, err := app.Installations(w.ctx)
	w.must(err)
	if len(list) != 2 || list[0].ID != one || list[1].ID != two || list[0].Account.Login != "o" {
		t.Fatalf("%+v", list)
	}
	for i, want := range []string{"o/r true", "acme/idle false"} {
		repos, err := app.Repositories(w.ctx, list[i])
		w.must(err)
		if len(repos) != 1 {
			t.Fatalf("%+v", repos)
		}
		has, err := app.Configured(w.ctx, list[i], repos[0], repos[0].DefaultBranch)
		w.must(err)
		if got := fmt.Sprint(repos[0].FullName, " ", has); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	w.server.App.Suspend("acme", true)
	w.server.ExpireTokens()
	if _, err := app.Repositories(w.ctx, list[1]); !errors.Is(err, forge.ErrForbidden) {
		t.Errorf("a suspended installation: %v", err)
	}
}

func TestSite(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "https://github.com https://api.github.com/",
		"github.com":                  "https://github.com https://api.github.com/",
		"https://GitHub.com/":         "https://github.com https://api.github.com/",
		"git.example.com":             "https://git.example.com https://git.example.com/api/v3/",
		"https://git.example.com":     "https://git.example.com https://git.example.com/api/v3/",
		"http://localhost:3000":       "http://localhost:3000 http://localhost:3000/api/v3/",
		"https://git.x.org/api/v3/":   "https://git.x.org https://git.x.org/api/v3/",
		"acme.ghe.com":                "https://acme.ghe.com https://api.acme.ghe.com/",
		"https://api.acme.ghe.com":    "https://acme.ghe.com https://api.acme.ghe.com/",
		"https://x.org/somewhere":     "",
		"ftp://x.org":                 "",
		"https://me:pw@x.org":         "",
		"https://x.org; script-src *": "",
	} {
		site, api, err := github.Site(text)
		if got := strings.TrimSpace(site + " " + api); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestRegisterRefusesOtherCodes(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	for _, code := range []string{"", "nothing", "../../user", "a/b", "a?b"} {
		if _, err := github.Register(w.ctx, w.server.APIURL(), code, nil); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%q: %v", filepath.Base(code), err)
		}
	}
}

// The documentation lists what the App asks for, as it is asked for.
func TestReadmeListsNeeds(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "app", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range github.Needs() {
		last := "needed"
		if n.Without != "" {
			last = "without it, " + n.Without
		}
		if row := fmt.Sprintf("| %s: %s | %s | %s |", n.Name, n.Access, n.Why, last); !strings.Contains(string(raw), row) {
			t.Errorf("install.md lacks the line\n%s", row)
		}
	}
	var events []string
	for _, n := range github.EventNeeds() {
		events = append(events, "`"+n.Name+"`")
	}
	if row := "| events | " + strings.Join(events, ", ") + " |"; !strings.Contains(string(raw), row) {
		t.Errorf("install.md lacks the line\n%s", row)
	}
}
