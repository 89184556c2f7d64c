package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// affectedCommand says what a branch would have verified.
type affectedCommand struct {
	inspectFlags
	Base string `default:"main" help:"Revision that the change is merged onto." placeholder:"REV"`
	Head string `default:"HEAD" help:"Revision of the change." placeholder:"REV"`
}

// Help ends the command's help.
func (affectedCommand) Help() string {
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
func (c *affectedCommand) Run(ctx context.Context) error {
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
	if note := in.ruledBy(c.Head, ch.Inspected); note != "" {
		in.notes = append(in.notes, note)
	}
	in.say()
	r := affectedOf(in.base, ch)
	if c.JSON {
		err = printJSON(os.Stdout, r)
	} else {
		c.print(sheet{out: os.Stdout, width: columnsOf(os.Stdout)}, in, ch, r)
	}
	if err == nil && (r.Unknown != "" || !ch.Clean()) {
		return exitCode(1)
	}
	return err
}

func (c *affectedCommand) change(ctx context.Context, in *inspection) (app.Change, error) {
	ids, err := in.clone.commits(ctx, c.Head)
	if err != nil {
		return app.Change{}, err
	}
	in.waits.say("merging " + c.Head)
	m, err := in.Merge(ctx, ids[0])
	if err != nil {
		return app.Change{}, err
	}
	in.waits.say("analyzing " + c.Head)
	return in.Change(ctx, in.base, ids[0], m)
}

// stuck says why two commits do not merge.
func stuck(conflicts []string, refused string) string {
	if refused != "" {
		return refused
	}
	return "conflict in " + examples(conflicts, 4)
}

// affectedOf is a change in targets. Of one that cannot be compared target by
// target, because a tree could not be analyzed, nothing is listed.
func affectedOf(base *app.Inspected, ch app.Change) affectedReport {
	r := affectedReport{Analyzer: ch.Footprint.Analyzer, All: ch.Footprint.All, Unknown: ch.Footprint.Unknown}
	if r.Unknown == "" {
		d := conflict.DeltaOf(base.Snapshot, ch.Snapshot)
		r.Added, r.Changed, r.Removed = d.Added, d.Changed, d.Removed
		r.AltersGraph = conflict.Reshaped(base.Description, ch.Description)
	}
	r.Added, r.Changed, r.Removed = orEmpty(r.Added), orEmpty(r.Changed), orEmpty(r.Removed)
	return r
}

// print writes the report for people.
func (c *affectedCommand) print(p sheet, in *inspection, ch app.Change, r affectedReport) {
	n := len(r.Added) + len(r.Changed)
	verified := fmt.Sprintf("%d of %s would be verified", n, counted(len(ch.Targets), "target"))
	switch {
	case r.Unknown != "":
		verified = "everything would be verified"
	case ch.Contained:
		verified = "nothing to land, it is there already"
	case ch.Empty:
		verified = "nothing to land, the merge changes nothing"
	case n == 0:
		verified = "no target would be verified"
	}
	p.text(fmt.Sprintf("%s (%s) on %s (%s): %s", c.Head, short(string(ch.Head)), c.Base, short(string(in.commit)), verified), "")
	p.text(fmt.Sprintf("Analyzer %s, by %s.", r.Analyzer, in.rules), "")
	if r.Unknown != "" {
		p.text("It cannot be analyzed, so it conflicts with every other change: "+r.Unknown, "")
		return
	}
	causes := conflict.NewCauses(in.base.Description, ch.Description)
	if every := causes.Every(); every != nil && !ch.Empty {
		p.text("Every hash moves: "+causeText(every)+".", "")
	}
	c.list(p, "added", r.Added, func(t string) string { return c.why(causes, ch, t) })
	c.list(p, "changed", r.Changed, func(t string) string { return c.why(causes, ch, t) })
	c.list(p, "removed", r.Removed, func(string) string { return "" })
	if r.AltersGraph {
		fmt.Fprintln(p.out)
		p.text("The graph is altered: nodes come or go, or depend on others.", "")
	}
	for _, cycle := range newCycles(in.base.Cycles, ch.Cycles) {
		p.text("New cycle: "+examples(cycle, 8)+" depend on themselves.", "")
	}
}

// why says what moved the hash of one target; "" where that is said of all.
func (c *affectedCommand) why(causes *conflict.Causes, ch app.Change, target string) string {
	if causes.Every() != nil {
		return ""
	}
	cause := causes.Of(target)
	if cause == nil {
		if target == queue.TargetTree {
			return "the whole tree, of which something changed"
		}
		return ""
	}
	text := causeText(cause)
	if len(cause.Through) > 1 {
		text = "→ " + strings.Join(cause.Through[1:], " → ") + ": " + text
	}
	return text
}

func (c *affectedCommand) list(p sheet, title string, targets []string, why func(string) string) {
	if len(targets) == 0 {
		return
	}
	fmt.Fprintf(p.out, "\n%s %d\n", title, len(targets))
	shown, more := some(targets, c.Limit)
	var rows [][]string
	for _, t := range shown {
		rows = append(rows, []string{t, why(t)})
	}
	p.reasonsOf(rows)
	if more > 0 {
		p.line(fmt.Sprintf("  and %d more (--limit 0 lists all)", more))
	}
}

// reasonsOf prints names with their reasons beside them, whole: a reason that
// is cut tells nothing.
func (p sheet) reasonsOf(rows [][]string) {
	width := 0
	for _, r := range rows {
		width = max(width, min(displayWidth(oneLine(r[0])), 32))
	}
	for _, r := range rows {
		name := oneLine(r[0])
		lead := "  " + name + strings.Repeat(" ", max(0, width-displayWidth(name))+2)
		if r[1] == "" {
			p.line("  " + name)
			continue
		}
		p.hang(lead, r[1])
	}
}

// causeText says what moved a hash.
func causeText(c *conflict.Cause) string {
	switch c.Kind {
	case conflict.CauseAnalyzer:
		return "another analyzer is in force"
	case conflict.CauseSettings:
		return "the settings of the analysis differ"
	case conflict.CauseBarrier:
		return c.Path + " " + c.Mark + ", a barrier file"
	case conflict.CauseUnowned:
		return c.Path + " " + c.Mark + ", a file that no target claims"
	case conflict.CauseFacts:
		return "what the analyzer puts into every hash, such as the version of a tool, differs"
	case conflict.CauseNew:
		return "new"
	case conflict.CauseFile:
		return c.Path + " " + c.Mark
	case conflict.CauseDependency:
		return "dependency " + c.Dep + " " + c.Mark
	}
	return "its definition changed"
}

// newCycles returns the cycles that were not there before.
func newCycles(before, after [][]string) (fresh [][]string) {
	for _, cycle := range after {
		if !slices.ContainsFunc(before, func(b []string) bool { return slices.Equal(b, cycle) }) {
			fresh = append(fresh, cycle)
		}
	}
	return fresh
}
