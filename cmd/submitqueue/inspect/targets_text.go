package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue/config"
)

// print writes the report for people.
func (c *Targets) print(p print.Sheet, r *targetsReport) {
	p.Line(fmt.Sprintf("%s at %s: %s", r.Revision, short(r.Commit), print.Counted(r.all, "target")))
	p.Text(fmt.Sprintf("Analyzer %s; configuration: %s.", analyzerText(r.Analyzer), r.Configuration), "")
	if r.Unknown != "" {
		p.Text("The tree cannot be analyzed, so it is one target and every change conflicts with every other: "+r.Unknown, "")
	}
	for _, line := range unreadText(r.unread) {
		p.Text(line, "")
	}
	if steps := stepsText(r); steps != "" {
		p.Text(steps, "")
	}
	if r.File != nil {
		fmt.Fprintln(p.Out)
		p.Text(r.File.text(r), "")
	}
	rows := r.Targets
	if r.File == nil && (c.Internal || c.Filter != "") || len(rows) == 0 {
		rows = append(rows, r.Internal...)
	}
	if r.File != nil && r.File.Place != "owned" {
		rows = nil // the file is in the hash of all targets or of none: the sentence says so
	}
	if len(rows) > 0 {
		fmt.Fprintln(p.Out)
		c.rows(p, rows)
	}
	if c.Filter != "" || len(r.Internal)+len(r.Barrier)+len(r.Unowned)+len(r.Ignored)+len(r.Cycles) == 0 {
		return
	}
	fmt.Fprintln(p.Out)
	if n := len(r.Internal); n > 0 && !c.Internal {
		p.Hang("internal  ", print.Counted(n, "node")+" that targets depend on, never verified as such (--internal lists them)")
	}
	places(p, r)
	if len(r.Cycles) == 0 {
		return
	}
	shown, more := some(r.Cycles, c.Limit)
	for _, cycle := range shown {
		p.Hang("cycle     ", print.Some(cycle, 8)+" depend on themselves and are hashed as one")
	}
	if more > 0 {
		p.Line(fmt.Sprintf("          and %d more cycles", more))
	}
}

// stepsText says which steps verify the targets.
func stepsText(r *targetsReport) string {
	var parts []string
	switch {
	case len(r.byAnalyzer) > 0:
		parts = append(parts, "Targets are verified by their analyzer's steps: "+print.OneLine(strings.Join(r.byAnalyzer, "; "))+".")
	case len(r.steps) > 0:
		parts = append(parts, "Each is verified by "+print.OneLine(strings.Join(r.steps, ", "))+".")
	}
	if len(r.RepositorySteps) > 0 {
		parts = append(parts, "The tree as a whole is verified by "+print.OneLine(strings.Join(r.RepositorySteps, ", "))+".")
	}
	return strings.Join(parts, " ")
}

// rows prints a table of targets.
func (c *Targets) rows(p print.Sheet, rows []targetRow) {
	shown, more := some(rows, c.Limit)
	cells := [][]string{{"TARGET", "KIND", "FILES", "HASH", "NEEDS"}}
	for _, t := range shown {
		cells = append(cells, []string{t.Name, t.Kind, strconv.Itoa(t.Files), short(t.Hash), strings.Join(t.needs, " ")})
	}
	p.Grid(cells, "")
	if more > 0 {
		p.Line(fmt.Sprintf("and %d more (--limit 0 lists all)", more))
	}
}

// places prints which files belong to no target.
func places(p print.Sheet, r *targetsReport) {
	say := func(lead string, files []string, where string) {
		if len(files) > 0 {
			p.Hang(lead, fmt.Sprintf("%s %s: %s", print.Counted(len(files), "file"), where, print.Some(files, 4)))
		}
	}
	say("barrier   ", r.Barrier, "in every hash")
	if r.UnownedIn == config.UnownedTarget {
		say("unowned   ", r.Unowned, "that nobody claims, in the target "+config.TargetUnowned)
	} else {
		say("unowned   ", r.Unowned, "that nobody claims, in every hash")
	}
	say("ignored   ", r.Ignored, "in no hash")
}

// text says which hashes have a file.
func (f *fileReport) text(r *targetsReport) string {
	switch f.Place {
	case "tree":
		return f.Path + " is in the one target, as every file is."
	case "barrier":
		return f.Path + " is a barrier file: in the hash of every target."
	case "ignored":
		if len(r.RepositorySteps) > 0 {
			return f.Path + " is ignored: in no hash. A change to it is verified by the steps on the whole tree alone."
		}
		return f.Path + " is ignored: in no hash. A change to it asks for no build."
	case "unowned":
		if r.UnownedIn == config.UnownedTarget {
			return f.Path + " is claimed by no target: in the target " + config.TargetUnowned + "."
		}
		return f.Path + " is claimed by no target: in the hash of every one (analysis.unowned: " + string(r.UnownedIn) + ")."
	}
	return fmt.Sprintf("%s belongs to %s, and is in the hash of %s:", f.Path, print.Some(f.Owners, 4), print.Counted(len(f.Affected), "target"))
}
