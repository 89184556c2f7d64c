package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// print writes the report for people.
func (c *targetsCommand) print(p sheet, r *targetsReport) {
	p.line(fmt.Sprintf("%s at %s: %s", r.Revision, short(string(r.Commit)), counted(r.all, "target")))
	p.text(fmt.Sprintf("Analyzer %s; configuration: %s.", analyzerText(r.Analyzer), r.Configuration), "")
	if r.Unknown != "" {
		p.text("The tree cannot be analyzed, so it is one target and every change conflicts with every other: "+r.Unknown, "")
	}
	if steps := stepsText(r); steps != "" {
		p.text(steps, "")
	}
	if r.File != nil {
		fmt.Fprintln(p.out)
		p.text(r.File.text(r), "")
	}
	rows := r.Targets
	if r.File == nil && (c.Internal || c.Filter != "") || len(rows) == 0 {
		rows = append(rows, r.Internal...)
	}
	if r.File != nil && r.File.Place != "owned" {
		rows = nil // all or none of them: the sentence says it
	}
	if len(rows) > 0 {
		fmt.Fprintln(p.out)
		c.rows(p, rows)
	}
	if c.Filter != "" || len(r.Internal)+len(r.Barrier)+len(r.Unowned)+len(r.Ignored)+len(r.Cycles) == 0 {
		return
	}
	fmt.Fprintln(p.out)
	if n := len(r.Internal); n > 0 && !c.Internal {
		p.hang("internal  ", counted(n, "node")+" that targets depend on, never verified as such (--internal lists them)")
	}
	places(p, r)
	if len(r.Cycles) == 0 {
		return
	}
	shown, more := some(r.Cycles, c.Limit)
	for _, cycle := range shown {
		p.hang("cycle     ", examples(cycle, 8)+" depend on themselves and are hashed as one")
	}
	if more > 0 {
		p.line(fmt.Sprintf("          and %d more cycles", more))
	}
}

// stepsText says what verifies the targets.
func stepsText(r *targetsReport) string {
	var parts []string
	switch {
	case len(r.byAnalyzer) > 0:
		parts = append(parts, "Targets are verified by their analyzer's steps: "+oneLine(strings.Join(r.byAnalyzer, "; "))+".")
	case len(r.steps) > 0:
		parts = append(parts, "Each is verified by "+oneLine(strings.Join(r.steps, ", "))+".")
	}
	if len(r.RepositorySteps) > 0 {
		parts = append(parts, "The tree as a whole is verified by "+oneLine(strings.Join(r.RepositorySteps, ", "))+".")
	}
	return strings.Join(parts, " ")
}

// rows prints a table of targets.
func (c *targetsCommand) rows(p sheet, rows []targetRow) {
	shown, more := some(rows, c.Limit)
	cells := [][]string{{"TARGET", "KIND", "FILES", "HASH", "NEEDS"}}
	for _, t := range shown {
		cells = append(cells, []string{t.Name, t.Kind, strconv.Itoa(t.Files), short(string(t.Hash)), strings.Join(t.needs, " ")})
	}
	p.grid(cells, "")
	if more > 0 {
		p.line(fmt.Sprintf("and %d more (--limit 0 lists all)", more))
	}
}

// places prints which files belong to no target.
func places(p sheet, r *targetsReport) {
	say := func(lead string, files []string, where string) {
		if len(files) > 0 {
			p.hang(lead, fmt.Sprintf("%s %s: %s", counted(len(files), "file"), where, examples(files, 4)))
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

// text says where a file is hashed.
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
	return fmt.Sprintf("%s belongs to %s, and is in the hash of %s:", f.Path, examples(f.Owners, 4), counted(len(f.Affected), "target"))
}

// grid prints rows in columns as wide as they need; the last is cut to the
// width, the first gives way before.
func (p sheet) grid(rows [][]string, indent string) {
	const gap, least = 2, 24
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], displayWidth(oneLine(row[i])))
		}
	}
	room := p.width - displayWidth(indent) - least
	for _, w := range widths {
		room -= w + gap
	}
	if room < 0 {
		widths[0] = max(widths[0]+room, 12)
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, w := range widths {
			cell := clip(oneLine(row[i]), w)
			b.WriteString(cell + strings.Repeat(" ", w-displayWidth(cell)+gap))
		}
		p.line(b.String() + row[last])
	}
}
