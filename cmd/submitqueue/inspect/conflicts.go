package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Conflicts says which branches would wait for one another.
type Conflicts struct {
	Flags
	Base     string   `default:"main" help:"Revision that the branches are merged onto (default: ${default}). Name none that you do not trust: the analyzers that run programs run those of the base, on this machine." placeholder:"REV"`
	Branches []string `arg:"" name:"branch" help:"Branches, or any revisions; after -- also those that begin with a dash."`
}

// Help ends the command's help.
func (Conflicts) Help() string {
	return `Each branch is merged onto the base and analyzed, as the queue does, and all of them are taken as pending at the same time: a dependency that one adds counts for the others.

Two branches conflict when they do not merge with each other (textual), when both change a target (target), when one starts to depend on what the other changes (read-write), when they meet in what shapes the graph (definition), when one changes what is in every hash (global), or when one cannot be analyzed (unknown). Of several the first is named. A branch that does not merge onto the base conflicts with the base.

Conflicts between branches are no error: the status is 0. It is 1 when the base cannot be analyzed, or a branch cannot be read on this machine, as in a clone without its objects.` + inspectExits
}

// pairReport is two changes, or the base and a change, that conflict.
type pairReport struct {
	A         string             `json:"a"`
	B         string             `json:"b"`
	Kind      queue.ConflictKind `json:"kind"`
	Witnesses []string           `json:"witnesses"`

	onBase bool // a is the base
}

// conflictsReport is what --json prints.
type conflictsReport struct {
	Changes   []string     `json:"changes"`
	Conflicts []pairReport `json:"conflicts"`

	branches []branchReport // as Changes
}

// branchReport is one branch on the base.
type branchReport struct {
	app.Change
	name   string
	failed string   // why it cannot be analyzed; "": it can
	unread bool     // the failure is not the branch's fault
	paths  []string // paths that it touches, where it merges
}

// maxWitnesses is how many names a pair is given.
const maxWitnesses = 5

// Run implements the command.
func (c *Conflicts) Run(ctx context.Context) error {
	in, err := c.inspect(ctx, c.Base)
	if err != nil {
		return err
	}
	r, err := reported(ctx, in, c.report, func(out print.Sheet, r *conflictsReport) { c.print(out, in, r) })
	if r == nil {
		return err
	}
	if err == nil && (in.base.Unknown != "" || slices.ContainsFunc(r.branches, func(b branchReport) bool { return b.unread })) {
		return print.ExitCode(1)
	}
	return err
}

func (c *Conflicts) report(ctx context.Context, in *inspection) (*conflictsReport, error) {
	r := &conflictsReport{Changes: []string{}, Conflicts: []pairReport{}}
	for _, name := range c.Branches {
		if slices.Contains(r.Changes, name) {
			in.notes = append(in.notes, name+" is named twice; it is looked at once")
			continue
		}
		r.Changes = append(r.Changes, name)
	}
	heads, err := in.clone.commits(ctx, r.Changes...)
	if err != nil {
		return nil, err
	}
	for i, head := range heads {
		in.doing(fmt.Sprintf("analyzing %s, %d of %d", r.Changes[i], i+1, len(heads)))
		b, err := look(ctx, in, r.Changes[i], head)
		if err != nil {
			return nil, err
		}
		r.branches = append(r.branches, b)
		if at := slices.Index(heads, head); at < i {
			in.notes = append(in.notes, r.Changes[at]+" and "+r.Changes[i]+" are the same commit")
		}
		if b.failed == "" {
			if note := in.ruledBy(b.name, b.Inspected); note != "" {
				in.notes = append(in.notes, note)
			}
		}
		r.branches[i].forget()
	}
	return r, r.pairs(ctx, in)
}

// look merges and analyzes one branch. A branch that cannot be merged or analyzed is no
// error: the branch counts as unknown.
func look(ctx context.Context, in *inspection, name string, head queue.CommitID) (branchReport, error) {
	b := branchReport{name: name}
	m, err := in.Merge(ctx, head)
	if err == nil {
		b.Change, err = in.Change(ctx, in.base, head, m)
	}
	if err == nil && m.Clean() && !m.Empty {
		b.paths, err = in.Paths(ctx, in.base, b.Change)
	}
	if ctx.Err() != nil {
		return b, ctx.Err()
	}
	if err != nil {
		b.unread = true
		b.Change = app.Change{Head: head, Footprint: queue.Footprint{Main: in.commit, All: true, Unknown: in.clone.explain(ctx, err).Error()}}
	}
	b.failed = b.Footprint.Unknown
	return b, nil
}

// forget drops the description, which only a report on a single branch needs: the
// descriptions of many branches may not fit into memory.
func (b *branchReport) forget() {
	if b.Change.Inspected != nil {
		b.Change.Description = nil
	}
}

// pairs finds which branches conflict with which: by the queue's own index, and by
// trying to merge branches that touch the same place.
func (r *conflictsReport) pairs(ctx context.Context, in *inspection) error {
	index := index.New()
	for _, b := range r.branches {
		index.Put(queue.ChangeID(b.name), b.Footprint)
		switch {
		case b.Change.Inspected != nil && !b.Clean():
			r.add(in.name, b.name, queue.ConflictTextual, whyStuck(b)).onBase = true
		case b.failed != "":
			r.add(in.name, b.name, queue.ConflictUnknown, []string{b.failed}).onBase = true
		}
	}
	for i, a := range r.branches {
		met := map[string]queue.Conflict{}
		for _, found := range index.Conflicts(queue.ChangeID(a.name)) {
			met[string(found.With)] = found
		}
		for _, b := range r.branches[i+1:] {
			found, ok := met[b.name]
			switch {
			case a.failed != "" || b.failed != "":
				r.add(a.name, b.name, queue.ConflictUnknown, []string{cmp.Or(a.failed, b.failed)})
			default:
				in.doing(fmt.Sprintf("merging %s with %s", a.name, b.name))
				texts, err := together(ctx, in, a, b)
				switch {
				case err != nil:
					return err
				case len(texts) > 0:
					r.add(a.name, b.name, queue.ConflictTextual, texts)
				case ok && (fails(a) || fails(b)):
					r.add(a.name, b.name, found.Kind, []string{conflict.DefinitionPrefix + config.Path})
				case ok:
					r.add(a.name, b.name, found.Kind, found.Witnesses)
				}
			}
		}
	}
	return nil
}

// fails reports whether a branch's configuration lets every build of it fail.
func fails(b branchReport) bool { return b.Change.Inspected != nil && b.Fails != "" }

func (r *conflictsReport) add(a, b string, kind queue.ConflictKind, witnesses []string) *pairReport {
	witnesses = orEmpty(witnesses)
	r.Conflicts = append(r.Conflicts, pairReport{A: a, B: b, Kind: kind, Witnesses: witnesses[:min(len(witnesses), maxWitnesses)]})
	return &r.Conflicts[len(r.Conflicts)-1]
}

func whyStuck(b branchReport) []string {
	if b.Refused != "" {
		return []string{b.Refused}
	}
	return b.Merged.Conflicts
}

// together merges one branch onto the other on the base, if they touch the same place,
// and returns the paths that do not merge.
func together(ctx context.Context, in *inspection, a, b branchReport) ([]string, error) {
	if !slices.ContainsFunc(a.paths, func(p string) bool { return index.PathsMeet(b.paths, p) }) {
		return nil, nil
	}
	m, err := in.MergeOnto(ctx, a.Change, b.Head)
	if err != nil || m.Clean() {
		return nil, err
	}
	return whyStuck(branchReport{Change: app.Change{Merged: m}}), nil
}
