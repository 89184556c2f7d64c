package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
)

// Affected says which targets would be verified for a branch.
type Affected struct {
	Flags
	Base string `default:"main" help:"Revision that the change is merged onto (default: ${default}). Name none that you do not trust: the analyzers that run programs run those of the base, on this machine." placeholder:"REV"`
	Head string `default:"HEAD" help:"Revision of the change (default: ${default})." placeholder:"REV"`
}

// Help ends the command's help.
func (Affected) Help() string {
	return `The head is merged onto the base, as the queue does, and the merge is compared with the base: each commit by the .submitqueue.yml in its own tree. For each target that would be verified it says why: the file that changed, and the dependencies through which that reaches the target.

A head that does not merge is compared as it is, as the queue does while it waits, and the command ends with 1.` + inspectExits
}

// affectedReport is what --json prints.
type affectedReport struct {
	Analyzer    string   `json:"analyzer"`
	Added       []string `json:"added"`
	Changed     []string `json:"changed"`
	Removed     []string `json:"removed"`
	AltersGraph bool     `json:"alters_graph"`
	All         bool     `json:"all"`
	Unknown     string   `json:"unknown"`
}

// Run implements the command.
func (c *Affected) Run(ctx context.Context) error {
	in, err := c.inspect(ctx, c.Base)
	if err != nil {
		return err
	}
	ch, err := c.change(ctx, in)
	if err = errors.Join(in.clone.explain(ctx, err), in.close()); err != nil {
		return err
	}
	if !ch.Clean() {
		in.notes = append(in.notes, fmt.Sprintf("%s does not merge onto %s (%s); the answer is for %s as it is, which is more than what it changes",
			c.Head, c.Base, stuck(ch.Conflicts, ch.Refused), c.Head))
	}
	if (c.Head == "HEAD" || c.Head == "@") && in.clone.uncommitted(ctx) {
		in.notes = append(in.notes, "changes that are not committed are not looked at")
	}
	if note := in.ruledBy(c.Head, ch.Inspected); note != "" && (c.JSON || ch.Fails == "") {
		in.notes = append(in.notes, note)
	}
	in.say()
	r := affectedOf(in.base, ch)
	if c.JSON {
		err = print.JSON(os.Stdout, r)
	} else {
		c.print(print.Stdout(), in, ch, r)
	}
	if err == nil && (r.Unknown != "" || !ch.Clean()) {
		return print.ExitCode(1)
	}
	return err
}

func (c *Affected) change(ctx context.Context, in *inspection) (app.Change, error) {
	ids, err := in.clone.commits(ctx, c.Head)
	if err != nil {
		return app.Change{}, err
	}
	in.doing("merging " + c.Head)
	m, err := in.Merge(ctx, ids[0])
	if err != nil {
		return app.Change{}, err
	}
	in.doing("analyzing " + c.Head)
	return in.Change(ctx, in.base, ids[0], m)
}

// stuck says why two commits do not merge.
func stuck(conflicts []string, refused string) string {
	if refused != "" {
		return refused
	}
	return "conflict in " + print.Some(conflicts, 4)
}

// affectedOf lists the targets that a change affects. It lists none where the change
// cannot be compared target by target, because a tree could not be analyzed.
func affectedOf(base *app.Inspected, ch app.Change) affectedReport {
	r := affectedReport{Analyzer: ch.Footprint.Analyzer, All: ch.Footprint.All, Unknown: ch.Footprint.Unknown}
	if r.Unknown == "" && ch.Fails != "" {
		r.Unknown = ch.Fails
	}
	if r.Unknown == "" {
		d := conflict.DeltaOf(base.Snapshot, ch.Snapshot)
		r.Added, r.Changed, r.Removed = d.Added, d.Changed, d.Removed
		r.AltersGraph = conflict.ShapeOf(base.Description, ch.Description).Altered()
	}
	r.Added, r.Changed, r.Removed = orEmpty(r.Added), orEmpty(r.Changed), orEmpty(r.Removed)
	return r
}
