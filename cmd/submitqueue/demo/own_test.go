package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImport(t *testing.T) {
	repo := mustOwn(t, nil)
	p, err := Import(t.Context(), Own{Repo: repo, Branches: "feature/**"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Changes) != 2 || p.Changes[1].Branch != "feature/one" || p.Changes[1].Title != "one" || p.Changes[1].Author != "test" {
		t.Errorf("changes = %+v", p.Changes)
	}
	if p.Branch != "main" || p.From != mustGit(t, repo, "rev-parse", "main") || p.Check.Command != "(\ntest ! -e broken\n)" {
		t.Errorf("plan = %+v", p)
	}
	if links, _ := filepath.Glob(filepath.Join(p.Bare, "objects", "info", "alternates")); links != nil {
		t.Error("the clone borrows objects")
	}
}

func TestImportPrefersTheRemotesDefaultBranch(t *testing.T) {
	repo := mustOwn(t, nil)
	mustGit(t, repo, "checkout", "--quiet", "wip")
	mustGit(t, repo, "update-ref", "refs/remotes/origin/main", "main")
	mustGit(t, repo, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	p, err := Import(t.Context(), Own{Repo: repo, Branches: "w*"}, t.TempDir())
	if err != nil || p.Branch != "main" || len(p.Changes) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestImportChoosesACheck(t *testing.T) {
	for config, want := range map[string]string{
		"version: 1\nsteps:\n  - name: a\n    run: make\n  - name: b\n    run: make lint\n":        "(\nmake\n) && (\nmake lint\n)",
		"version: 1\nanalysis:\n  analyzer: go\nsteps:\n  - name: a\n    run: go test {targets}\n": "",
		"version: 1\nsteps:\n  - name: a\n    run: ./t $SUBMITQUEUE_TARGETS\n":                     "",
	} {
		p, err := Import(t.Context(), Own{Repo: mustOwn(t, Files{".submitqueue.yml": config}), Branches: "wip"}, t.TempDir())
		if err != nil || p.Check.Command != want || p.Check.Note == "" {
			t.Errorf("%s: %+v, %v", config, p, err)
		}
	}
	p, err := Import(t.Context(), Own{Repo: mustOwn(t, Files{"go.mod": "module x\n"}), Branches: "wip"}, t.TempDir())
	if err != nil || p.Check.Command != GoCheck().Command {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestImportRefuses(t *testing.T) {
	plain := mustRepository(t, Files{"a": "1"})
	mustBranch(t, plain, "b", "b", Files{"b": "1"})
	broken := mustOwn(t, Files{".submitqueue.yml": "version: 1\nsteppes: []\n"})
	detached := mustOwn(t, nil)
	mustGit(t, detached, "checkout", "--quiet", "--detach")
	for _, test := range []struct{ repo, branches, want string }{
		{t.TempDir(), "*", "not a git repository"},
		{plain, "*", "commit one that says how to test"},
		{broken, "*", ".submitqueue.yml:2"},
		{detached, "*", "no branch is checked out"},
		{mustOwn(t, nil), "nothing/*", "there are: feature/deep/two, feature/one, wip"},
		{mustOwn(t, nil), "[", "is not a glob"},
	} {
		_, err := Import(t.Context(), Own{Repo: test.repo, Branches: test.branches}, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.want, err)
		}
	}
	if _, err := os.Stat(filepath.Join(plain, ".submitqueue.yml")); err == nil {
		t.Error("the user's repository was written to")
	}
}

func TestLogin(t *testing.T) {
	for name, want := range map[string]string{"Ada Lovelace": "ada-lovelace", "../../x": "x", "日本": "somebody", "": "somebody", strings.Repeat("a", 60): strings.Repeat("a", 39)} {
		if got := login(name); got != want {
			t.Errorf("login(%q) = %q", name, got)
		}
	}
}
