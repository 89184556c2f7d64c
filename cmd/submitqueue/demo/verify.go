package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Line is the first-parent line of a branch, as a fresh clone has it.
type Line struct {
	Commits []Commit // oldest first
	dir     string
}

// Commit is one commit of a line.
type Commit struct {
	ID      string
	Head    string // the merged commit: its second parent; empty when it has none
	Subject string
	Odd     string // why it is not simply the merge of its parents; empty when it is
}

// RedCommit is a commit that does not pass its check.
type RedCommit struct {
	Commit
	Tail string // last lines of the check's output
}

// Source says which line to clone.
type Source struct {
	URL    string
	Branch string
	From   string // the oldest commit to look at; empty: the first of all
}

// Clone makes a fresh clone in a new folder of dir and reads its line from git alone.
// Each merge on it is made again. A merge is odd if its tree is not exactly what git
// makes of its two parents. Another commit than the first of the line is odd if it does
// not have two parents.
func Clone(ctx context.Context, src Source, dir string) (*Line, error) {
	line := &Line{dir: filepath.Join(dir, "verify")}
	if _, err := git(ctx, dir, "clone", "--quiet", "--no-checkout", "--no-local", "--single-branch",
		"--branch", src.Branch, "--", src.URL, line.dir); err != nil {
		return nil, err
	}
	out, err := git(ctx, line.dir, "log", "--first-parent", "--reverse", "--format=%H%x1f%P%x1f%T%x1f%s", "HEAD")
	if err != nil {
		return nil, err
	}
	for row := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(row, "\n"), "\x1f", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("demo: cannot read git's log: %q", row)
		}
		c := Commit{ID: f[0], Subject: f[3]}
		if src.From != "" && len(line.Commits) == 0 && c.ID != src.From {
			continue
		}
		parents := strings.Fields(f[1])
		switch {
		case len(line.Commits) == 0: // the first commit did not land
		case len(parents) != 2:
			c.Odd = fmt.Sprintf("has %d parents", len(parents))
		default:
			c.Head = parents[1]
			tree, err := git(ctx, line.dir, "merge-tree", "--write-tree", parents[0], parents[1])
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil || tree != f[2] {
				c.Odd = "is not what git makes of its parents"
			}
		}
		line.Commits = append(line.Commits, c)
	}
	if len(line.Commits) == 0 {
		return nil, fmt.Errorf("demo: %s is not on the first-parent line of %s", src.From, src.Branch)
	}
	return line, nil
}

// Verify checks out each commit of the line and runs the check on it, one after the
// other in one folder. With several workers, each has a separate stretch of the line
// and a separate folder. progress gets how many commits are done, first 0.
//
// The folders' paths are new, and Go's cache keeps builds in different folders apart.
// So no result of the queue's runners is reused, only Go's standard library and results
// of earlier commits of this run.
func (l *Line) Verify(ctx context.Context, check Check, progress func(done int)) ([]RedCommit, error) {
	verdicts := make([]*RedCommit, len(l.Commits))
	var mu sync.Mutex
	done := 0
	progress(done)
	workers := max(1, min(check.Workers, len(l.Commits)))
	// One after the other: git reads the other work trees' files while it adds one.
	dirs := make([]string, workers)
	for w := range dirs {
		dir, err := l.checkout(ctx, w)
		if err != nil {
			return nil, err
		}
		dirs[w] = dir
	}
	group, ctx := errgroup.WithContext(ctx)
	for w, dir := range dirs {
		group.Go(func() error {
			for i := w * len(l.Commits) / workers; i < (w+1)*len(l.Commits)/workers; i++ {
				red, err := verifyOne(ctx, dir, l.Commits[i], check)
				if err != nil {
					return err
				}
				mu.Lock()
				verdicts[i] = red
				done++
				progress(done)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var red []RedCommit
	for _, v := range verdicts {
		if v != nil {
			red = append(red, *v)
		}
	}
	return red, nil
}

// checkout returns the folder of a worker: the clone itself, or a work tree of it.
func (l *Line) checkout(ctx context.Context, worker int) (string, error) {
	if worker == 0 {
		return l.dir, nil
	}
	dir := l.dir + "-" + strconv.Itoa(worker)
	_, err := git(ctx, l.dir, "worktree", "add", "--quiet", "--no-checkout", "--detach", dir, "HEAD")
	return dir, err
}

// verifyOne returns the commit with the output of its check if it does not pass.
func verifyOne(ctx context.Context, dir string, c Commit, check Check) (*RedCommit, error) {
	if _, err := git(ctx, dir, "checkout", "--quiet", "--force", "--detach", c.ID); err != nil {
		return nil, err
	}
	if _, err := git(ctx, dir, "clean", "--quiet", "--force", "-d"); err != nil {
		return nil, err
	}
	ok, tail, err := shell(ctx, dir, check.Command)
	if err != nil || ok {
		return nil, err
	}
	return &RedCommit{Commit: c, Tail: tail}, nil
}

// Landed returns the position on the line of each head that was merged.
func (l *Line) Landed() map[string]int {
	at := map[string]int{}
	for i, c := range l.Commits {
		if c.Head != "" {
			at[c.Head] = i
		}
	}
	return at
}
