package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// Own is somebody's own repository.
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

// Import makes a plan of a repository: a bare clone of it in dir, and a pull
// request for each matching branch, whose right outcome nobody knows.
func Import(ctx context.Context, own Own, dir string) (*Plan, error) {
	if !doublestar.ValidatePattern(own.Branches) {
		return nil, fmt.Errorf("--branches %q is not a glob such as 'feature/**'", own.Branches)
	}
	repo, err := filepath.Abs(own.Repo)
	if err != nil {
		return nil, err
	}
	base, err := ownBase(ctx, repo)
	if err != nil {
		return nil, err
	}
	bare := filepath.Join(dir, "own.git")
	if _, err := git(ctx, dir, "clone", "--quiet", "--bare", "--no-local", "--", repo, bare); err != nil {
		return nil, err
	}
	tip, err := git(ctx, bare, "rev-parse", "--verify", "refs/heads/"+base+"^{commit}")
	if err != nil {
		return nil, err
	}
	config, err := ownConfig(ctx, bare, base)
	if err != nil {
		return nil, err
	}
	p := &Plan{Title: repo, Branch: base, Bare: bare, From: tip}
	if p.Changes, err = ownChanges(ctx, bare, base, own.Branches); err != nil {
		return nil, err
	}
	p.Check, err = ownCheck(ctx, bare, base, config)
	return p, err
}

// ownBase returns the branch to land on: what the remote calls its default, if
// there is a local branch of that name, and else the branch checked out.
func ownBase(ctx context.Context, repo string) (string, error) {
	if _, err := git(ctx, repo, "rev-parse", "--git-dir"); err != nil {
		return "", fmt.Errorf("--repo %s: %w", repo, err)
	}
	if ref, err := git(ctx, repo, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		name := strings.TrimPrefix(ref, "refs/remotes/origin/")
		if _, err := git(ctx, repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+name); err == nil {
			return name, nil
		}
	}
	ref, err := git(ctx, repo, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return "", fmt.Errorf("--repo %s: no branch is checked out, so it is not clear what to land on", repo)
	}
	return strings.TrimPrefix(ref, "refs/heads/"), nil
}

func ownConfig(ctx context.Context, bare, base string) (*queue.Config, error) {
	listed, err := git(ctx, bare, "ls-tree", "--name-only", base, "--", queue.ConfigPath)
	if err != nil {
		return nil, err
	}
	if listed == "" {
		return nil, fmt.Errorf("branch %s has no %s: commit one that says how to test, such as\n%s", base, queue.ConfigPath, exampleConfig)
	}
	text, err := git(ctx, bare, "show", base+":"+queue.ConfigPath)
	if err != nil {
		return nil, err
	}
	return queue.ParseConfig(queue.ConfigPath, []byte(text+"\n"))
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
	if len(list) == 0 {
		return nil, fmt.Errorf("no local branch beside %s matches %q; there are: %s", base, glob, strings.Join(others, ", "))
	}
	return list, nil
}

// ownCheck chooses how the commits of a repository are verified. Steps that are
// told their targets cannot be run without the queue's help, and so prove nothing.
func ownCheck(ctx context.Context, bare, base string, config *queue.Config) (Check, error) {
	listed, err := git(ctx, bare, "ls-tree", "--name-only", base, "--", "go.mod")
	if err != nil {
		return Check{}, err
	}
	if listed != "" {
		check := GoCheck()
		check.Note = "because there is a go.mod"
		return check, nil
	}
	var commands []string
	for _, s := range config.Steps {
		if strings.Contains(s.Run, "{targets}") || strings.Contains(s.Run, "SUBMITQUEUE_TARGETS") {
			return Check{Note: "step " + s.Name + " must be told its targets"}, nil
		}
		commands = append(commands, "(\n"+s.Run+"\n)")
	}
	return Check{Command: strings.Join(commands, " && "), Note: "the steps of " + queue.ConfigPath}, nil
}

// login makes a user name of an author's name.
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
