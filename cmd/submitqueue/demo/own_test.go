package demo

import (
	"maps"
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
	if p.Branch != "main" || p.From != mustGit(t, repo, "rev-parse", "main") || p.Check.Command != "test ! -e broken" || p.Name != filepath.Base(repo) {
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
	const goTest = "version: 1\nanalysis:\n  analyzer: go\nsteps:\n  - name: a\n    run: go vet {targets} && go test -json {targets}\n    report: go-test-json\n"
	module := Files{"go.mod": "module x\n"}
	for _, test := range []struct {
		config string
		files  Files
		want   string
	}{
		{"version: 1\nsteps:\n  - name: a\n    run: make\n  - name: b\n    run: make lint\n", nil, "(\nmake\n) && (\nmake lint\n)"},
		{"version: 1\nsteps:\n  - name: a\n    run: make\n    env: {B: \"it's\", A: x}\n", nil, "export A='x'\nexport B='it'\\''s'\nmake"},
		{goTest, nil, ""},
		{goTest, module, "go vet ./... && go test ./..."},
		{"version: 1\nanalysis:\n  analyzer: go\nsteps:\n  - name: a\n    run: ./t $SUBMITQUEUE_TARGETS\n", module, ""},
		{"version: 1\nsteps:\n  - name: a\n    run: ./t $SUBMITQUEUE_TARGETS\n", module, ""},
	} {
		files := Files{".submitqueue.yml": test.config}
		maps.Copy(files, test.files)
		p, err := Import(t.Context(), Own{Repo: mustOwn(t, files), Branches: "wip"}, t.TempDir())
		if err != nil || p.Check.Command != test.want || p.Check.Note == "" {
			t.Errorf("%s: %+v, %v", test.config, p, err)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	plain := mustRepository(t, Files{"a": "1"})
	mustBranch(t, plain, "b", "b", Files{"b": "1"})
	uncommitted := mustRepository(t, Files{"a": "1"})
	mustWrite(t, uncommitted, Files{".submitqueue.yml": ownSteps})
	empty := t.TempDir()
	mustGit(t, empty, "init", "--quiet")
	alone := mustRepository(t, Files{".submitqueue.yml": ownSteps})
	shallow := filepath.Join(t.TempDir(), "shallow")
	deep := mustOwn(t, nil)
	mustCommit(t, deep, "more", Files{"b": "1"})
	mustGit(t, deep, "clone", "--quiet", "--depth", "1", "file://"+deep, shallow)
	detached := mustOwn(t, nil)
	mustGit(t, detached, "branch", "--move", "main", "trunk")
	mustGit(t, detached, "checkout", "--quiet", "--detach")
	feature := mustOwn(t, nil)
	mustGit(t, feature, "branch", "--move", "main", "trunk")
	mustGit(t, feature, "checkout", "--quiet", "feature/one")
	many := mustOwn(t, nil)
	for _, name := range strings.Fields("a b c d e f g h") {
		mustGit(t, many, "branch", name)
	}
	for _, test := range []struct{ repo, branches, want string }{
		{filepath.Join(plain, "none"), "*", "none does not exist: give the folder of a clone"},
		{filepath.Join(plain, "a"), "*", "a is a file: give the folder"},
		{t.TempDir(), "*", "is not a git repository: give the folder"},
		{empty, "*", "has no commit yet: commit your files with a .submitqueue.yml"},
		{plain, "*", "branch main has no .submitqueue.yml: commit one that says how to test, such as"},
		{uncommitted, "*", "but it is not committed on main; commit it there"},
		{alone, "*", "there is no local branch beside main: make one"},
		{shallow, "*", "git fetch --unshallow"},
		{mustOwn(t, Files{".submitqueue.yml": "version: 1\nsteppes: []\n"}), "*", "on branch main: .submitqueue.yml:1:1"},
		{detached, "*", "it is not clear what to land on"},
		{feature, "feature/**", "matches feature/one, which is checked out"},
		{mustOwn(t, nil), "nothing/*", `matches --branches "nothing/*"; there are: feature/deep/two, feature/one, wip`},
		{many, "nothing/*", "h and 1 more"},
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

func TestImportTakesAFolderWithin(t *testing.T) {
	repo := mustOwn(t, Files{"deep/er/file": "1"})
	for _, path := range []string{repo, filepath.Join(repo, "deep", "er"), filepath.Join(repo, ".git")} {
		p, err := Import(t.Context(), Own{Repo: path, Branches: "wip"}, t.TempDir())
		if err != nil || p.Name != filepath.Base(repo) {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
}

func TestOwnName(t *testing.T) {
	for path, want := range map[string]string{
		"/src/shop": "shop", "/src/my shop": "my-shop", "/src/shop.git": "shop", "/src/x/.git": "x", "/": "repository", "/src/日本": "repository", "/src/.dot": "dot",
	} {
		if got := ownName(path); got != want {
			t.Errorf("ownName(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestLogin(t *testing.T) {
	for name, want := range map[string]string{"Ada Lovelace": "ada-lovelace", "../../x": "x", "日本": "somebody", "": "somebody", strings.Repeat("a", 60): strings.Repeat("a", 39)} {
		if got := login(name); got != want {
			t.Errorf("login(%q) = %q", name, got)
		}
	}
}
