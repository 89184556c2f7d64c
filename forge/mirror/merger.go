package mirror

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// pair is a merge that git is asked for: theirs into ours.
type pair struct {
	ours, theirs queue.CommitID
}

// mergeKey is a pair under the merge attributes of one time.
type mergeKey struct {
	pair  pair
	rules int
}

// merged is the result of merging a pair.
type merged struct {
	tree      queue.TreeID
	conflicts []string // paths, when it does not merge
	refused   string   // git's words, when it does not even try
	contained bool
}

// merger asks `git merge-tree --stdin`.
//
// git 2.39 writes its answers into a buffer and hands them on only when some
// kilobytes have gathered or its input ends. To get the answers without a new
// process for each link of a chain, the merger asks for one merge more. Its answer,
// a conflict in a path longer than any such buffer, pushes the answers before it
// out of the process. Each process is tested for that when it starts; if it does
// not work, each batch has its own process.
type merger struct {
	repo   *repository
	helper *helper
	single atomic.Bool // the pad does not flush: one process for each batch
	pad    string      // the request for the pad
	merges atomic.Int64
}

const (
	padLength = 20_000
	padWait   = 5 * time.Second
	// mergesPerProcess bounds the memory of git, which forgets nothing it has read.
	mergesPerProcess = 5000
)

var mergeArgs = []string{"merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages"}

func newMerger(m *repository) *merger {
	g := &merger{repo: m, helper: m.helper(mergeArgs...)}
	g.helper.begin = g.begin
	return g
}

func (g *merger) stop() { g.helper.stop() }

// merge merges pairs separately, and returns one result for each. The commits must
// be in the mirror.
func (g *merger) merge(ctx context.Context, pairs []pair) ([]merged, error) {
	var results []merged
	for len(results) < len(pairs) {
		answers, err := g.ask(ctx, pairs[len(results):])
		results = append(results, answers...)
		var failed *GitError
		switch {
		case err == nil:
		case errors.As(err, &failed) && strings.Contains(failed.Stderr, "unrelated histories"):
			// git ends at such a pair and does not answer the rest. It says the same where an
			// ancestor is missing.
			if err := g.repo.connected(ctx, pairs[len(results)]); err != nil {
				return nil, fmt.Errorf("merging: %w", err)
			}
			results = append(results, merged{refused: "it has no history in common with the branch"})
		case errors.As(err, &failed) && crashed(failed.Stderr):
			// One of the pairs makes git crash; the others must still get their results.
			left := pairs[len(results):]
			if len(left) == 1 {
				results = append(results, merged{refused: "git itself fails on this merge: " + failed.Stderr})
				break
			}
			for _, half := range [][]pair{left[:len(left)/2], left[len(left)/2:]} {
				more, err := g.merge(ctx, half)
				if err != nil {
					return nil, err
				}
				results = append(results, more...)
			}
		default:
			return nil, fmt.Errorf("merging: %w", err)
		}
	}
	if g.merges.Add(int64(len(pairs))) > mergesPerProcess {
		g.merges.Store(0)
		g.stop()
	}
	return results, nil
}

// crashed reports whether git has failed because of a bug in git, which will happen
// the next time, too.
func crashed(stderr string) bool {
	return strings.Contains(stderr, "Assertion `") || strings.Contains(stderr, "BUG: ")
}

// ask returns, beside an error, the answers that git gave before it failed.
func (g *merger) ask(ctx context.Context, pairs []pair) ([]merged, error) {
	if g.single.Load() {
		return g.askNewProcess(ctx, pairs)
	}
	var answers []merged
	err := g.helper.call(ctx, func(p *process) error {
		answers = answers[:0]
		sent := p.send([]byte(requests(pairs) + g.pad))
		for ; p.owed > 0; p.owed-- {
			if _, err := readMerge(p.out); err != nil {
				return err
			}
		}
		for range pairs {
			a, err := readMerge(p.out)
			if err != nil {
				return err
			}
			answers = append(answers, a)
		}
		p.owed = 1
		return <-sent
	})
	if err != nil && g.single.Load() {
		return g.askNewProcess(ctx, pairs)
	}
	return answers, err
}

func (g *merger) askNewProcess(ctx context.Context, pairs []pair) ([]merged, error) {
	out, _, failed := g.repo.run(ctx, invocation{args: mergeArgs, stdin: []byte(requests(pairs))})
	answers := make([]merged, 0, len(pairs))
	r := bufio.NewReader(bytes.NewReader(out))
	for range pairs {
		a, err := readMerge(r)
		if err != nil {
			return answers, errors.Join(failed, err)
		}
		answers = append(answers, a)
	}
	return answers, failed
}

func requests(pairs []pair) string {
	var b strings.Builder
	for _, p := range pairs {
		b.WriteString(string(p.ours) + " " + string(p.theirs) + "\n")
	}
	return b.String()
}

// readMerge reads one answer: "1" or "0", the tree, paths in conflict, and an
// empty field.
func readMerge(r *bufio.Reader) (merged, error) {
	var fields []string
	for {
		s, err := r.ReadString(0)
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return merged{}, err
		}
		s = s[:len(s)-1]
		if s == "" {
			break
		}
		if len(fields) < 3 || fields[len(fields)-1] != s {
			fields = append(fields, s)
		}
	}
	if len(fields) < 2 || fields[0] != "0" && fields[0] != "1" || !isID(fields[1]) {
		return merged{}, fmt.Errorf("unexpected answer %.100q", fields)
	}
	result := merged{tree: queue.TreeID(fields[1])}
	if fields[0] == "0" {
		result.conflicts = fields[2:]
		if len(result.conflicts) == 0 {
			result.conflicts = []string{"."}
		}
	}
	return result, nil
}

// begin makes the pad and tests whether it pushes answers out.
func (g *merger) begin(p *process) error {
	pad, err := g.makePad()
	if err != nil {
		return err
	}
	g.pad = pad
	late := time.AfterFunc(padWait, func() {
		g.single.Store(true)
		p.kill()
	})
	defer late.Stop()
	sent := p.send([]byte(pad + pad))
	if _, err := readMerge(p.out); err != nil {
		return err
	}
	p.owed = 1
	return <-sent
}

// makePad writes two commits: one changes and the other removes a file with a very
// long name.
func (g *merger) makePad() (string, error) {
	m := g.repo
	commit := func(parent, content string) (string, error) {
		var tree []byte
		if content != "" {
			blob, err := m.writeObject("blob", []byte(content))
			if err != nil {
				return "", err
			}
			id, err := hex.DecodeString(blob)
			if err != nil {
				return "", err
			}
			tree = append([]byte("100644 "+strings.Repeat("p", padLength)+"\x00"), id...)
		}
		id, err := m.writeObject("tree", tree)
		if err != nil {
			return "", err
		}
		body := "tree " + id + "\n"
		if parent != "" {
			body += "parent " + parent + "\n"
		}
		const who = " SubmitQueue <submitqueue@localhost> 0 +0000\n"
		return m.writeObject("commit", []byte(body+"author"+who+"committer"+who+"\npad\n"))
	}
	base, err := commit("", "base")
	if err != nil {
		return "", err
	}
	changed, err := commit(base, "changed")
	if err != nil {
		return "", err
	}
	removed, err := commit(base, "")
	if err != nil {
		return "", err
	}
	return changed + " " + removed + "\n", nil
}
