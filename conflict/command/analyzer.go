package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Name is the analyzer's name in the configuration.
const Name = "command"

// Analyzer is the analyzer of one configured command.
type Analyzer struct {
	command     string
	program     []string
	definitions []string
	timeout     time.Duration
	pool        *checkout.Pool
	id          string
}

var _ conflict.Guarded = (*Analyzer)(nil)

// New returns the analyzer that settings describe, which runs its command in
// checkouts of the pool. Without a pool it has no graph of any tree. An error
// names the field that is wrong.
func New(s config.Analysis, pool *checkout.Pool) (*Analyzer, error) {
	if strings.TrimSpace(s.Command) == "" {
		return nil, fmt.Errorf("analysis.command: the analyzer %s needs a command", Name)
	}
	for field, globs := range map[string][]string{"program": s.Program, "definitions": s.Definitions} {
		for i, g := range globs {
			if !doublestar.ValidatePattern(g) {
				return nil, fmt.Errorf("analysis.%s[%d]: %q is not a valid glob", field, i, g)
			}
		}
	}
	return &Analyzer{command: s.Command, program: s.Program, definitions: s.Definitions, timeout: s.Timeout, pool: pool,
		id: Name + "/2 " + string(digest.Of("command1", s.Command, string(digest.Of(s.Program...)), string(digest.Of(s.Definitions...))))}, nil
}

// ID returns name and version with the digest of the command and its globs.
func (a *Analyzer) ID() string { return a.id }

// Graph fails: nobody has said which program is trusted.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	return a.Trusting(nil).Graph(ctx, t)
}

// Trusting implements conflict.Guarded.
func (a *Analyzer) Trusting(target conflict.Tree) conflict.Analyzer { return trusting{a, target} }

// trusting is the analyzer that may run the program of a target branch.
type trusting struct {
	*Analyzer
	target conflict.Tree
}

// Graph runs the command of a tree, if the target branch has the same one.
func (a trusting) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	program := a.runs(files)
	if err := a.trust(ctx, program); err != nil {
		return nil, err
	}
	if a.pool == nil {
		return nil, fmt.Errorf("analysis.command: programs cannot be run here: %w", conflict.ErrProvisional)
	}
	delete(program, config.Path)
	entries := make([]conflict.Entry, 0, len(program))
	for _, e := range program {
		entries = append(entries, e)
	}
	out, err := a.run(ctx, t, entries)
	if err != nil {
		return nil, fmt.Errorf("analysis.command: %w", err)
	}
	records, err := parse(out)
	if err != nil {
		return nil, fmt.Errorf("analysis.command: it printed in %w", err)
	}
	return a.graph(records, entries, listing{layout.New(files), func(link conflict.Entry) (string, error) {
		goal, err := t.Blob(ctx, link.OID)
		return string(goal), err
	}})
}

// runs returns the files of a tree that decide what is run: its configuration
// and the files of the program.
func (a *Analyzer) runs(files []conflict.Entry) map[string]conflict.Entry {
	out := map[string]conflict.Entry{}
	for _, e := range files {
		if e.Path == config.Path || matches(a.program, e.Path) {
			out[e.Path] = e
		}
	}
	return out
}

// trust refuses a tree with another program than the target branch's.
func (a trusting) trust(ctx context.Context, program map[string]conflict.Entry) error {
	if a.target == nil {
		return fmt.Errorf("analysis.command: the program of the target branch is not known: %w", conflict.ErrProvisional)
	}
	files, err := a.target.Files(ctx)
	if err != nil {
		return fmt.Errorf("list the target branch: %w: %w", conflict.ErrProvisional, err)
	}
	target := a.runs(files)
	if maps.Equal(program, target) {
		return nil
	}
	different := ""
	for _, list := range []map[string]conflict.Entry{program, target} {
		for path := range list {
			if program[path] != target[path] && (different == "" || path < different) {
				different = path
			}
		}
	}
	return fmt.Errorf("%q differs from the target branch; the program that computes the graph runs on the server once the change has landed: %w",
		different, conflict.ErrProvisional)
}

// run returns the output of the command.
func (a *Analyzer) run(ctx context.Context, t conflict.Tree, program []conflict.Entry) ([]byte, error) {
	d, err := a.pool.Checkout(ctx, t, program)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	p := checkout.Program{Argv: []string{"/bin/sh", "-c", a.command}, Dir: d.Program, Timeout: a.timeout, Env: []string{"SUBMITQUEUE_TREE=" + d.Tree}}
	out, err := d.Run(ctx, p)
	failed := (*checkout.RunError)(nil)
	if errors.As(err, &failed) && failed.Failed {
		out, err = d.Run(ctx, p) // a tool's first start on a busy machine may fail
	}
	return out, err
}

func matches(globs []string, file string) bool {
	for _, g := range globs {
		if doublestar.MatchUnvalidated(g, file) {
			return true
		}
	}
	return false
}
