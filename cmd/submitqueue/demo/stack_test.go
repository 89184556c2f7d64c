package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// oracle is a Stack that knows the plan: it lands at once, with real git merges,
// what must land, and rejects the rest. Its fields make it do wrong things.
type oracle struct {
	t    *testing.T
	dir  string // a repository with a work tree on the branch
	plan *Plan

	silent map[string]bool   // branches that never get a verdict
	lie    map[string]Result // verdicts that it states instead
	land   map[string]bool   // branches that it lands whatever the plan says
	busy   int               // looks for which changes without a verdict are being built
	openE  error             // what Open returns
	broken map[string]int    // how often infrastructure parks a branch before it gets its verdict
	closed int

	mu    sync.Mutex
	pulls map[int]Pull
	rows  []Row
	won   map[string]bool // pairs of which one has landed
	tries int             // calls of Retry
	looks int
}

func newOracle(t *testing.T) *oracle {
	return &oracle{t: t, pulls: map[int]Pull{}, won: map[string]bool{}}
}

func (o *oracle) start(context.Context, int) (Stack, error) { return o, nil }

func (o *oracle) Publish(ctx context.Context, p *Plan) error {
	o.plan = p
	if p.Bare == "" {
		o.dir = mustRepository(o.t, p.Base)
		return nil
	}
	o.dir = filepath.Join(o.t.TempDir(), "work")
	mustGit(o.t, p.Bare, "clone", "--quiet", "--branch", p.Branch, p.Bare, o.dir)
	return nil
}

func (o *oracle) Open(ctx context.Context, c Change) (Pull, error) {
	if o.openE != nil {
		return Pull{}, o.openE
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := Pull{Number: len(o.pulls) + 1, Change: c}
	if c.Files == nil {
		p.Head = mustGit(o.t, o.dir, "rev-parse", "origin/"+c.Branch)
	} else {
		first := mustGit(o.t, o.dir, "rev-list", "--max-parents=0", "main")
		mustGit(o.t, o.dir, "checkout", "--quiet", "-b", c.Branch, first)
		p.Head = mustCommit(o.t, o.dir, c.Title, c.Files)
		mustGit(o.t, o.dir, "checkout", "--quiet", "main")
	}
	o.pulls[p.Number] = p
	return p, nil
}

func (o *oracle) Retry(ctx context.Context, p Pull) error {
	o.mu.Lock()
	o.tries++
	o.rows = slices.DeleteFunc(o.rows, func(r Row) bool { return r.Number == p.Number })
	o.mu.Unlock()
	return o.Land(ctx, p)
}

func (o *oracle) Land(ctx context.Context, p Pull) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := p.Change
	if o.broken[c.Branch] > 0 {
		o.broken[c.Branch]--
		detail := fmt.Sprint("killed, and ", o.broken[c.Branch], " more to come")
		o.rows = append(o.rows, Row{Number: p.Number, Phase: queue.Parked, Reason: queue.ReasonInfra, Detail: detail})
		return nil
	}
	row := Row{Number: p.Number, Title: c.Title, Author: c.Author, Phase: queue.Rejected, Reason: queue.ReasonFailed, Keys: 2, Reused: 1}
	lands := c.Expect == ExpectLand || c.Expect == ExpectVerdict || c.Pair != "" && !o.won[c.Pair]
	switch {
	case o.silent[c.Branch]:
		row.Phase, row.Reason, row.Detail = queue.Pending, queue.ReasonWaitsSlot, "no runner is free"
	case lands || o.land[c.Branch]:
		o.won[c.Pair] = true
		mustMerge(o.t, o.dir, p.Head)
		row.Phase, row.Reason = queue.Landed, queue.ReasonLanded
		row.Bypassed = p.Number % 2
	case c.Expect == ExpectOneMerges:
		row.Reason = queue.ReasonMergeConflict
	}
	switch o.lie[c.Branch] {
	case ResultLanded:
		row.Phase, row.Reason = queue.Landed, queue.ReasonLanded
	case ResultBuild:
		row.Phase, row.Reason = queue.Rejected, queue.ReasonFailed
	case ResultOther:
		row.Phase, row.Reason, row.Detail = "", "", "you have no write access"
	}
	o.rows = append(o.rows, row)
	return nil
}

func (o *oracle) Rows(ctx context.Context) ([]Row, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looks++
	rows := append([]Row(nil), o.rows...)
	for i := range rows {
		rows[i].Running = !rows[i].decided() && o.looks <= o.busy
	}
	return rows, nil
}

func (o *oracle) Stats(ctx context.Context) (Stats, error) {
	return Stats{Builds: 3, Main: 1}, nil
}

func (o *oracle) Play() (string, error) { return "http://guest:secret@127.0.0.1:2/acme/shop.git", nil }

func (o *oracle) Links() Links {
	return Links{Clone: o.dir, Dashboard: "http://127.0.0.1:1", Pulls: "http://127.0.0.1:2/acme/shop", Notes: []string{"Redis: in this process"}}
}

func (o *oracle) Close() error {
	o.closed++
	if o.closed > 1 {
		return errors.New("closed twice")
	}
	if o.looks == 0 && o.openE == nil {
		return fmt.Errorf("nobody looked")
	}
	return nil
}
