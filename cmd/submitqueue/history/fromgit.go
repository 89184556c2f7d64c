package history

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	slashed "path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
)

// FromGit makes a history from a repository: each commit of a branch's first-parent line is
// a change that arrived and landed when it was committed. Its targets are the folders of
// its files, and a result of CI is a build of it. A change counts as rejected where CI
// failed on its commit and had not failed on the commit before.
type FromGit struct {
	Repo      string `arg:"" help:"A repository: a clone or a bare one." type:"existingdir"`
	Branch    string `default:"HEAD" help:"The branch whose line is read." placeholder:"REF"`
	Results   string `help:"What CI said, as JSON lines of commit, outcome (passed or failed) and seconds." type:"existingfile" placeholder:"FILE"`
	Last      int    `default:"0" help:"Only so many of the latest commits; 0: all."`
	Anonymous bool   `help:"Put hashes in place of authors, titles, paths, targets and commits."`
	Salt      string `env:"SUBMITQUEUE_HISTORY_SALT" help:"Salt of the hashes; default: none." placeholder:"TEXT"`

	out io.Writer // nil: standard output
}

// commit is one commit of the line.
type commit struct {
	id             queue.CommitID
	change         queue.ChangeID
	at             queue.Instant
	author, title  string
	paths          []string
	added, removed float64
	binaries       float64
}

// Run implements the command.
func (g *FromGit) Run(ctx context.Context) error {
	if strings.HasPrefix(g.Branch, "-") || g.Branch == "" {
		return print.UsageError(fmt.Sprintf("--branch %q is no branch", g.Branch))
	}
	if g.Anonymous && g.Salt == "" {
		return print.UsageError("--anonymous needs a --salt that only you know: names could be tried out without one")
	}
	if g.Salt != "" && !g.Anonymous {
		return errSalt
	}
	results := map[queue.CommitID]said{}
	if g.Results != "" {
		f, err := os.Open(g.Results)
		if err != nil {
			return err
		}
		defer f.Close()
		if results, err = readResults(f); err != nil {
			return fmt.Errorf("%s: %w", g.Results, err)
		}
	}
	p := progress{what: "made"}
	line, err := g.log(ctx)
	if err != nil {
		return err
	}
	to := g.out
	if to == nil {
		to = os.Stdout
	}
	out := bufio.NewWriter(to)
	w, err := history.NewWriter(out, "", time.Now())
	if err != nil {
		return err
	}
	used := 0
	before, err := g.before(ctx, results)
	if err != nil {
		return err
	}
	hide := history.NewAnonymous([]byte(g.Salt))
	for i, c := range line {
		c.change = queue.ChangeID(c.id)
		if g.Anonymous {
			c.change = queue.ChangeID(strconv.Itoa(i + 1))
		}
		result, known := results[c.id]
		if known {
			used++
		}
		rows := c.rows(result, known && result.Outcome == "failed" && before.Outcome != "failed")
		if known {
			before = result
		}
		for _, r := range rows {
			if g.Anonymous {
				r = hide.Row(r)
			}
			if err := w.Write(r); err != nil {
				return fmt.Errorf("the history cannot be written: %w", err)
			}
		}
		p.add(len(rows))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("the history cannot be written: %w", err)
	}
	p.done()
	if left := len(results) - used; left > 0 {
		fmt.Fprintf(os.Stderr, "%d of %d results are of commits that are not on the line of %s\n", left, len(results), g.Branch)
	}
	return nil
}

// rows returns the rows of a commit, in the order of time.
func (c *commit) rows(s said, broken bool) []queue.Row {
	id := c.change
	var targets []string
	for _, p := range c.paths {
		targets = append(targets, folder(p))
	}
	if len(targets) == 0 {
		targets = []string{"."}
	}
	slices.Sort(targets)
	targets = slices.Compact(targets)
	ch := &queue.Change{ID: id, Title: c.title, Author: c.author, Head: c.id, Arrival: c.at}
	a := queue.NewArrivalRow(ch, &queue.Footprint{Paths: c.paths, Affected: targets})
	a.Features = c.features(len(targets))
	rows := []queue.Row{{At: c.at, Arrival: a}}
	ended := c.at
	if s.Outcome != "" {
		ended = c.at.Add(time.Duration(s.Seconds * float64(time.Second)))
		b, outcome := queue.BuildID(id), queue.JobOutcome(s.Outcome)
		res := &queue.ResultRow{Build: b, Step: "ci", Outcome: outcome, Took: ended.Sub(c.at).Milliseconds(), Asked: len(targets)}
		for _, t := range targets[:min(len(targets), queue.MostRowTargets)] {
			row := queue.TargetRow{Target: t}
			if outcome == queue.JobPassed {
				row.Outcome = queue.JobPassed
			}
			res.Targets = append(res.Targets, row)
		}
		rows = append(rows, queue.Row{At: ended, Result: res}, queue.Row{At: ended, Build: &queue.BuildRow{Build: b, Change: id, Commit: c.id,
			Attempt: 1, Steps: []queue.StepRow{{Step: "ci", Targets: len(targets)}}, Asked: c.at, Started: c.at, Outcome: outcome}})
	}
	v := queue.NewVerdictRow(ch)
	v.Outcome, v.Reason, v.Commit, v.Features = queue.Landed, queue.ReasonLanded, c.id, a.Features
	if broken {
		v.Outcome, v.Reason = queue.Rejected, queue.ReasonFailed
		v.Failures = []queue.FailureRow{{Step: "ci", Build: queue.BuildID(id), Change: id}}
		return append(rows, queue.Row{At: ended, Verdict: v})
	}
	return append(rows, queue.Row{At: ended, Main: &queue.MainRow{Commit: c.id, Changes: []queue.ChangeID{id}}}, queue.Row{At: ended, Verdict: v})
}

// features are the facts that a log has of a commit, under the names of package queue/history.
func (c *commit) features(targets int) queue.Features {
	dirs, tests := map[string]bool{}, 0
	for _, p := range c.paths {
		dirs[slashed.Dir(p)] = true
		if strings.Contains(strings.ToLower(p), "test") {
			tests++
		}
	}
	revert := 0.0
	if strings.HasPrefix(c.title, "Revert ") || strings.HasPrefix(c.title, "revert:") {
		revert = 1
	}
	return queue.Features{"affected": float64(targets), "files": float64(len(c.paths)), "dirs": float64(len(dirs)), "lines_added": c.added,
		"lines_removed": c.removed, "binaries": c.binaries, "test_files": float64(tests), "revert": revert}
}

// folder returns the target of a file: its first two folders; "." for one in the root.
func folder(file string) string {
	parts := strings.SplitN(slashed.Dir(file), "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

// before returns the latest result before the commits that --last leaves: without it, the first of
// these would count as the one that broke what was red already.
func (g *FromGit) before(ctx context.Context, results map[queue.CommitID]said) (said, error) {
	if g.Last <= 0 || len(results) == 0 {
		return said{}, nil
	}
	out, err := exec.CommandContext(ctx, "git", "-C", g.Repo, "rev-list", "--first-parent", "--skip="+strconv.Itoa(g.Last), g.Branch, "--").Output()
	if err != nil {
		return said{}, fmt.Errorf("%s: git rev-list: %w", g.Repo, err)
	}
	for id := range strings.Lines(string(out)) {
		if s, known := results[queue.CommitID(strings.TrimSpace(id))]; known {
			return s, nil
		}
	}
	return said{}, nil
}

// log reads the line, the first commit first. It says all that the user's configuration of git
// could say otherwise: with log.diffMerges=remerge, -m would show no file of a merge.
func (g *FromGit) log(ctx context.Context) ([]*commit, error) {
	args := []string{"-C", g.Repo, "-c", "log.showRoot=true", "log", "--first-parent", "--diff-merges=first-parent", "--encoding=UTF-8", "--no-relative", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--numstat", "-z", "--format=%x01%H%x02%ct%x02%aN%x02%s"}
	if g.Last > 0 {
		args = append(args, "--max-count="+strconv.Itoa(g.Last))
	}
	cmd := exec.CommandContext(ctx, "git", append(args, g.Branch, "--")...)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("git cannot be run: %w", err)
	}
	line, err := readLog(pipe)
	if ended := cmd.Wait(); ended != nil {
		if strings.Contains(wrong.String(), "bad revision") {
			if g.Branch == "HEAD" {
				return nil, fmt.Errorf("%s has no commit yet on the branch that is checked out; name another with --branch", g.Repo)
			}
			return nil, fmt.Errorf("%s has no branch or commit %s; git branch -a lists the branches", g.Repo, g.Branch)
		}
		return nil, fmt.Errorf("%s: git log: %w: %s", g.Repo, ended, strings.TrimSpace(wrong.String()))
	}
	slices.Reverse(line)
	return line, err
}

// readLog reads the output of git log: fields that end in a zero byte. The first field of
// a commit begins with a byte 1.
func readLog(from io.Reader) (line []*commit, err error) {
	fields := bufio.NewScanner(from)
	fields.Buffer(nil, 16<<20)
	fields.Split(func(data []byte, end bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		if end && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for fields.Scan() {
		text := strings.TrimLeft(fields.Text(), "\n")
		if head, ok := strings.CutPrefix(text, "\x01"); ok {
			p := strings.SplitN(head, "\x02", 4)
			at, err := strconv.ParseInt(p[min(1, len(p)-1)], 10, 64)
			if len(p) != 4 || err != nil {
				return nil, errors.New("git log printed what cannot be read")
			}
			c := &commit{id: queue.CommitID(p[0]), at: queue.At(time.Unix(max(at, 1), 0)), author: p[2], title: p[3]}
			line = append(line, c)
			continue
		}
		p := strings.SplitN(text, "\t", 3)
		if len(line) == 0 || len(p) != 3 {
			continue
		}
		c := line[len(line)-1]
		c.paths = append(c.paths, strings.ToValidUTF8(p[2], "\uFFFD"))
		if p[0] == "-" {
			c.binaries++
		}
		added, _ := strconv.ParseFloat(p[0], 64) // 0 for a binary
		removed, _ := strconv.ParseFloat(p[1], 64)
		c.added, c.removed = c.added+added, c.removed+removed
	}
	return line, fields.Err()
}
