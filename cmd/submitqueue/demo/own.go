package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Own is a user's own repository.
type Own struct {
	Repo     string // path; only read
	Branches string // glob on the short names of local branches, such as feature/**
}

const exampleConfig = `
    version: 1
    analysis:
      analyzer: go              # or paths, or none
    steps:
      - name: test
        run: go test -json {targets}
        report: go-test-json
`

// Import makes a plan from a repository: a bare clone of it in dir, and a pull request
// for each matching branch. The right outcomes are not known. The errors say what to do
// next.
func Import(ctx context.Context, own Own, dir string) (*Plan, error) {
	if !doublestar.ValidatePattern(own.Branches) {
		return nil, fmt.Errorf("--branches %q is not a glob such as 'feature/**'", own.Branches)
	}
	repo, err := ownRoot(ctx, own.Repo)
	if err != nil {
		return nil, err
	}
	base, err := ownBase(ctx, repo, own.Branches)
	if err != nil {
		return nil, err
	}
	bare := filepath.Join(dir, "own.git")
	if _, err := git(ctx, dir, "clone", "--quiet", "--bare", "--no-local", "--", repo, bare); err != nil {
		return nil, fmt.Errorf("--repo %s cannot be cloned: %w", repo, err)
	}
	tip, err := git(ctx, bare, "rev-parse", "--verify", "refs/heads/"+base+"^{commit}")
	if err != nil {
		return nil, err
	}
	cfg, err := ownConfig(ctx, repo, bare, base)
	if err != nil {
		return nil, err
	}
	p := &Plan{Title: repo, Name: ownName(repo), Branch: base, Bare: bare, From: tip}
	if p.Changes, err = ownChanges(ctx, bare, base, own.Branches); err != nil {
		return nil, err
	}
	p.Check, err = ownCheck(ctx, bare, base, cfg)
	return p, err
}

// ownRoot returns the folder of the repository that path is in, after it has checked
// that the repository can be used.
func ownRoot(ctx context.Context, path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("--repo %s does not exist: give the folder of a clone of your repository", path)
	case err != nil:
		return "", fmt.Errorf("--repo: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("--repo %s is a file: give the folder of a clone of your repository", path)
	}
	root, err := git(ctx, path, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			return "", fmt.Errorf("--repo %s is not a git repository: give the folder of a clone of yours", path)
		}
		return "", fmt.Errorf("--repo %s: %w", path, err)
	}
	if top, err := git(ctx, path, "rev-parse", "--path-format=absolute", "--show-toplevel"); err == nil {
		root = top // an error means that it is bare
	}
	if shallow, err := git(ctx, root, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		return "", fmt.Errorf("--repo %s is a shallow clone, whose branches cannot be merged: run `git fetch --unshallow` there first", root)
	}
	if any, err := git(ctx, root, "for-each-ref", "--count=1", "refs/heads"); err != nil {
		return "", err
	} else if any == "" {
		return "", fmt.Errorf("--repo %s has no commit yet: commit your files with a %s, and make a branch to land", root, config.Path)
	}
	return root, nil
}

// ownBase returns the branch to land on: the remote's default branch, if there is a
// local branch of that name, else main or master, else the branch that is checked out.
// The last is not taken where glob matches it, unless glob matches all branches.
func ownBase(ctx context.Context, repo, glob string) (string, error) {
	exists := func(name string) bool {
		_, err := git(ctx, repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+name)
		return err == nil
	}
	if ref, err := git(ctx, repo, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		if name := strings.TrimPrefix(ref, "refs/remotes/origin/"); exists(name) {
			return name, nil
		}
	}
	for _, name := range []string{"main", "master"} {
		if exists(name) {
			return name, nil
		}
	}
	ref, err := git(ctx, repo, "symbolic-ref", "--quiet", "HEAD")
	name := strings.TrimPrefix(ref, "refs/heads/")
	if err != nil || !exists(name) {
		return "", fmt.Errorf("--repo %s: it is not clear what to land on: there is no local branch main or master, and no branch is checked out", repo)
	}
	if doublestar.MatchUnvalidated(glob, name) && glob != "*" && glob != "**" {
		return "", fmt.Errorf("--repo %s: it is not clear what to land on: there is no local branch main or master, and --branches %q matches %s, which is checked out; check out the branch to land on", repo, glob, name)
	}
	return name, nil
}

// ownName makes a repository's name from that of its folder.
func ownName(repo string) string {
	name := filepath.Base(repo)
	if name == ".git" { // the person named the inner folder of a repository
		name = filepath.Base(filepath.Dir(repo))
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, strings.TrimSuffix(name, ".git"))
	if name = strings.Trim(name, ".-"); name == "" {
		return "repository"
	}
	return name[:min(len(name), 100)]
}

func ownConfig(ctx context.Context, repo, bare, base string) (*config.Config, error) {
	listed, err := git(ctx, bare, "ls-tree", "--name-only", base, "--", config.Path)
	if err != nil {
		return nil, err
	}
	if listed == "" {
		if _, err := os.Stat(filepath.Join(repo, config.Path)); err == nil {
			return nil, fmt.Errorf("branch %s has no %s: there is one in %s, but it is not committed on %s; commit it there", base, config.Path, repo, base)
		}
		return nil, fmt.Errorf("branch %s has no %s: commit one that says how to test, such as\n%s", base, config.Path, exampleConfig)
	}
	text, err := git(ctx, bare, "show", base+":"+config.Path)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Parse(config.Path, []byte(text+"\n"))
	if err != nil {
		return nil, fmt.Errorf("on branch %s: %w", base, err)
	}
	return cfg, nil
}

func ownChanges(ctx context.Context, bare, base, glob string) ([]Change, error) {
	out, err := git(ctx, bare, "for-each-ref", "--format=%(refname:lstrip=2)%00%(authorname)%00%(subject)", "refs/heads")
	if err != nil {
		return nil, err
	}
	var list []Change
	var others []string
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 3)
		if len(f) != 3 || f[0] == base {
			continue
		}
		if ok, err := doublestar.Match(glob, f[0]); err != nil || !ok {
			others = append(others, f[0])
			continue
		}
		list = append(list, Change{
			Author: login(f[1]), Title: f[2], Branch: f[0], Kind: KindOwn, Expect: KindOwn.expect(),
		})
	}
	switch {
	case len(list) > 0:
		return list, nil
	case len(others) == 0:
		return nil, fmt.Errorf("there is no local branch beside %s: make one for each change to land, such as `git branch feature/x origin/feature/x`", base)
	}
	return nil, fmt.Errorf("no local branch beside %s matches --branches %q; there are: %s", base, glob, print.Some(others, 10))
}

// ownCheck chooses how the commits of a repository are verified: by its own steps, each
// for the whole tree. A step that gets its targets can be run for all of them only
// where they are Go packages; else nothing is verified.
func ownCheck(ctx context.Context, bare, base string, cfg *config.Config) (Check, error) {
	module, err := git(ctx, bare, "ls-tree", "--name-only", base, "--", "go.mod")
	if err != nil {
		return Check{}, err
	}
	note := "the steps of " + config.Path
	var commands []string
	for _, s := range cfg.Steps {
		run := s.Run
		if strings.Contains(run, "{targets}") || strings.Contains(run, "SUBMITQUEUE_TARGETS") {
			if cfg.Analysis.Analyzer != "go" || module == "" || strings.Contains(run, "SUBMITQUEUE_TARGETS") {
				return Check{Note: "step " + s.Name + " must be told its targets"}, nil
			}
			run = strings.ReplaceAll(run, "{targets}", "./...")
			note = "the steps of " + config.Path + " on all packages"
		}
		switch s.Report { // people read the output
		case config.ReportGoTestJSON:
			run = strings.ReplaceAll(run, "go test -json", "go test")
		case config.ReportCargoJSON:
			run = strings.ReplaceAll(run, " --message-format json", "")
		}
		run = config.Step{Run: run, Dir: s.Dir}.CommandFor(nil)
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.Env))) {
			run = "export " + name + "='" + strings.ReplaceAll(s.Env[name], "'", `'\''`) + "'\n" + run
		}
		commands = append(commands, "(\n"+run+"\n)")
	}
	if len(commands) == 1 {
		return Check{Command: strings.TrimSuffix(strings.TrimPrefix(commands[0], "(\n"), "\n)"), Note: note}, nil
	}
	return Check{Command: strings.Join(commands, " && "), Note: note}, nil
}

// login makes a user name from an author's name.
func login(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == ' ', r == '-', r == '.', r == '_':
			return '-'
		}
		return -1
	}, strings.ToLower(name))
	if clean = strings.Trim(clean, "-"); clean == "" {
		return "somebody"
	}
	return clean[:min(len(clean), 39)]
}
