package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// clone is a repository on this machine that is looked at and never written to: merges
// are made in a separate folder, which close removes.
type clone struct {
	dir    string
	temp   string
	mirror *mirror.Mirror
	pool   *checkout.Pool // nil: none yet
	lacks  string         // what to do about missing objects; "": none should be missing
}

// openClone finds the repository that a folder is in. The repository belongs to the
// user of the command, so git runs with that user's settings.
func openClone(ctx context.Context, dir string) (*clone, error) {
	c := &clone{dir: dir}
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return nil, fmt.Errorf("there is no folder %s; name the repository with --repo", dir)
	}
	out, err := c.git(ctx, "", "rev-parse", "--git-path", "objects", "--show-object-format", "--is-shallow-repository")
	if err != nil {
		return nil, NotRepository(ctx, dir, err, "name one with --repo DIR")
	}
	words := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(words) != 3 {
		return nil, fmt.Errorf("git does not tell where the objects of %s are: it says %q", dir, out)
	}
	objects, format, shallow := words[0], words[1], words[2]
	if format != "sha1" {
		return nil, fmt.Errorf("%s has the object format %s; only sha1 is known", dir, format)
	}
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(dir, objects)
	}
	promisor, _ := c.git(ctx, "", "config", "--get-regexp", `^remote\..*\.promisor$`) // fails where there is no such setting
	switch {
	case shallow == "true":
		c.lacks = "this clone is shallow: git fetch --unshallow brings the rest"
	case strings.Contains(promisor, "true"):
		c.lacks = "this clone is partial: git fetch --refetch --no-filter brings the rest"
	}
	if c.temp, err = os.MkdirTemp("", "submitqueue-"); err != nil {
		return nil, fmt.Errorf("merges need a folder for temporary files: %w", err)
	}
	if c.mirror, err = mirror.Borrow(ctx, filepath.Join(c.temp, "merges.git"), objects); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.temp))
	}
	return c, nil
}

// NotRepository says why git could not read a folder; err is the error of git's command.
// Where the folder is in no repository, the text says instead what to do.
func NotRepository(ctx context.Context, dir string, err error, instead string) error {
	said := ""
	failed := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return print.Documented(errors.New("git 2.38 or newer must be on the PATH"), "troubleshoot#it-is-not-a-git-repository")
	case errors.As(err, &failed):
		said = string(failed.Stderr)
	}
	if strings.Contains(said, "not a git repository") {
		return print.Documented(fmt.Errorf("%s is not a git repository; %s", dir, instead), "troubleshoot#it-is-not-a-git-repository")
	}
	return fmt.Errorf("%s cannot be used: %s", dir, print.OneLine(strings.TrimPrefix(strings.TrimSpace(said), "fatal: ")))
}

func (c *clone) close() error {
	err := c.mirror.Close()
	if c.pool != nil {
		err = errors.Join(err, c.pool.Close())
	}
	return errors.Join(err, os.RemoveAll(c.temp))
}

// checkouts returns the pool of checkouts for the analyzers that run tools.
func (c *clone) checkouts() (*checkout.Pool, error) {
	if c.pool == nil {
		pool, err := checkout.Open(filepath.Join(c.temp, "checkouts"), checkout.Options{})
		if err != nil {
			return nil, err
		}
		c.pool = pool
	}
	return c.pool, nil
}

// Remote implements mirror.Remoter: objects outside of a commit (submodules, files of
// LFS) come from the clone's origin, without credentials.
func (c *clone) Remote(ctx context.Context) (forge.Remote, error) {
	url, err := c.git(ctx, "", "remote", "get-url", "origin")
	if err != nil && ctx.Err() == nil {
		url, err = filepath.Abs(c.dir) // a repository that was not cloned
	}
	return forge.Remote{URL: strings.TrimSuffix(url, "\n")}, err
}

// git runs git in the clone. Variables that a hook or a shell has set for
// another repository do not reach it.
func (c *clone) git(ctx context.Context, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.dir
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "GIT_CONFIG") || name == "GIT_EXEC_PATH" || name == "GIT_CEILING_DIRECTORIES" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")
	cmd.Stdin = strings.NewReader(in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	failed := (*exec.ExitError)(nil)
	if errors.As(err, &failed) {
		failed.Stderr = errs.Bytes()
	}
	return out.String(), err
}

// commits returns the commits of revisions, in any form that git understands. git reads
// them from its standard input, where it takes none for an option.
func (c *clone) commits(ctx context.Context, revisions ...string) ([]queue.CommitID, error) {
	var in strings.Builder
	for _, r := range revisions {
		if strings.TrimSpace(r) == "" || strings.ContainsAny(r, "\n\x00") {
			return nil, fmt.Errorf("%q is no revision", r)
		}
		in.WriteString(r + "^{commit}\n")
	}
	out, err := c.git(ctx, in.String(), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if err != nil || len(lines) != len(revisions) {
		return nil, fmt.Errorf("git cannot look up %s in %s: %w", print.OneLine(strings.Join(revisions, ", ")), c.dir, err)
	}
	ids := make([]queue.CommitID, len(lines))
	var unknown []string
	for i, line := range lines {
		id, kind, _ := strings.Cut(line, " ")
		switch {
		case strings.HasSuffix(line, "^{commit} ambiguous"):
			return nil, fmt.Errorf("%s could be several commits: give more of its id", print.OneLine(revisions[i]))
		case kind != "commit" || strings.HasSuffix(line, " missing"):
			unknown = append(unknown, print.OneLine(revisions[i]))
		}
		ids[i] = queue.CommitID(id)
	}
	if len(unknown) > 0 {
		return nil, c.unknown(ctx, unknown)
	}
	return ids, nil
}

// unknown returns an error for revisions that name no commit, with what is known of them.
func (c *clone) unknown(ctx context.Context, names []string) error {
	if any, err := c.git(ctx, "", "rev-list", "--all", "--max-count=1"); err == nil && strings.TrimSpace(any) == "" {
		if head, err := c.git(ctx, "HEAD^{commit}\n", "cat-file", "--batch-check"); err == nil && strings.HasSuffix(head, " missing\n") {
			return told(c.dir + " is empty: it has no commit yet")
		}
	}
	text := "there is no commit " + strings.Join(names, ", ") + " in " + c.dir
	for _, n := range names {
		if out, err := c.git(ctx, "origin/"+n+"^{commit}\n", "cat-file", "--batch-check=%(objecttype)"); err == nil && strings.TrimSpace(out) == "commit" {
			return told(text + "; there is origin/" + n)
		}
	}
	if c.lacks != "" {
		text += "; " + c.lacks
	}
	return told(text)
}

// hint adds how to name another base to an error about a missing default base.
func (c *clone) hint(ctx context.Context, base string, err error) error {
	if done := told(""); base != defaultBase || !errors.As(err, &done) || strings.Contains(err.Error(), "; ") || strings.HasSuffix(err.Error(), "no commit yet") {
		return err
	}
	text := err.Error() + "; name the target branch with --base"
	for _, n := range []string{"master", "trunk", "develop", "origin/HEAD", "origin/master"} {
		if out, err := c.git(ctx, n+"^{commit}\n", "cat-file", "--batch-check=%(objecttype)"); err == nil && strings.TrimSpace(out) == "commit" {
			return told(text + ", as in --base " + n)
		}
	}
	return told(text)
}

// defaultBase is the base of commands where the person names none.
const defaultBase = "main"

// uncommitted reports whether there are changes in the working tree, which no
// revision holds.
func (c *clone) uncommitted(ctx context.Context) bool {
	out, err := c.git(ctx, "", "--no-optional-locks", "status", "--porcelain")
	return err == nil && out != ""
}

// inside returns the named folder, relative to the top of its repository; "" is the
// top.
func (c *clone) inside(ctx context.Context) string {
	out, err := c.git(ctx, "", "rev-parse", "--show-prefix")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(out, "\n")
}

// told is an error that already says what to do.
type told string

func (e told) Error() string { return string(e) }

// explain adds what to do to an error that may be about a missing object.
func (c *clone) explain(ctx context.Context, err error) error {
	done := told("")
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &done):
		return err
	case !errors.Is(err, forge.ErrNotFound) && c.lacks == "":
		return err
	}
	text := strings.NewReplacer(" in the mirror; fetch it first", " there", " in the mirror", " there",
		forge.ErrNotFound.Error()+": ", "").Replace(err.Error())
	if c.lacks != "" {
		text += "; " + c.lacks
	}
	return errors.New(text)
}
