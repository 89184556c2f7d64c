package inspect

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/audit"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue/config"
)

// print writes the report for people.
func (c *auditInputsCommand) print(p print.Sheet, r *AuditReport) {
	p.Line(fmt.Sprintf("%s at %s: %s", r.Revision, short(r.Commit), r.headline()))
	p.Text(fmt.Sprintf("Analyzer %s; configuration: %s.", analyzerText(r.Analyzer), r.Configuration), "")
	switch {
	case r.Unknown != "":
		p.Text("The tree cannot be analyzed, so it is one target that has every file: "+r.Unknown, "")
		return
	case r.NotAudited != "":
		p.Text("Not audited: "+r.NotAudited+".", "")
	case r.Tracer != "":
		p.Text("Watched by "+r.Tracer+"; each step ran on each target alone.", "")
	}
	for _, s := range r.Skipped {
		p.Text(fmt.Sprintf("Step %s is not run: %s.", print.OneLine(s.Step), s.Why), "")
	}
	for _, a := range r.Results {
		if a.Outcome != AuditDone {
			fmt.Fprintln(p.Out)
			p.Text(fmt.Sprintf("%s, step %s: not audited as a whole, as %s", print.OneLine(a.Target), print.OneLine(a.Step), a.why()), "")
		}
		if a.Judged != nil && len(a.Findings) > 0 {
			fmt.Fprintln(p.Out)
			p.Text(fmt.Sprintf("%s, step %s: %s read and in none of its hashes", print.OneLine(a.Target), print.OneLine(a.Step), print.Counted(len(a.Findings), "file")), "")
			c.findings(p, a.Findings)
		}
	}
	r.proposal(p)
	if beside := r.beside(); beside != "" {
		fmt.Fprintln(p.Out)
		p.Text(beside, "")
	}
}

// why says why a result is not a complete audit.
func (a *auditResult) why() string {
	if a.Outcome == auditFailed {
		return "the step failed, and what it would have read after that is not known: " + print.OneLine(a.Detail)
	}
	return print.OneLine(a.Detail)
}

func (r *AuditReport) headline() string {
	files := map[string]bool{}
	targets := map[string]bool{}
	for _, a := range r.Results {
		if a.Judged == nil {
			continue
		}
		for _, f := range a.Findings {
			files[f.File], targets[a.Target] = true, true
		}
	}
	switch {
	case r.Unknown != "":
		return "not audited"
	case len(targets) == 1:
		return fmt.Sprintf("1 target reads %s beyond its hash", print.Counted(len(files), "file"))
	case len(targets) > 0:
		return fmt.Sprintf("%d targets read %s beyond their hashes", len(targets), print.Counted(len(files), "file"))
	case !r.whole():
		return "not audited as a whole; nothing was found in the rest"
	case len(r.Results) == 0:
		return "nothing to audit: every file is in the one key that there is"
	}
	return fmt.Sprintf("nothing is read beyond the hashes, in %s of a step on a target", print.Counted(len(r.Results), "run"))
}

func (c *auditInputsCommand) findings(p print.Sheet, list []audit.Finding) {
	shown, more := some(list, c.Limit)
	cells := [][]string{}
	for i := range shown {
		f := &shown[i]
		cells = append(cells, []string{print.OneLine(f.File), print.OneLine(f.Why()), "read by " + print.Some(f.Programs, 2)})
	}
	p.Grid(cells, "  ")
	if more > 0 {
		p.Line(fmt.Sprintf("  and %d more (--limit 0 lists all)", more))
	}
}

// proposal prints the inputs to add to the configuration.
func (r *AuditReport) proposal(p print.Sheet) {
	if len(r.Inputs) == 0 {
		return
	}
	fmt.Fprintln(p.Out)
	p.Text("A change to one of these files lands without a run of the step. Declare them in "+config.Path+", or take them out of ignore:", "")
	fmt.Fprintln(p.Out)
	fmt.Fprint(p.Out, print.Printable(inputsText(r.Inputs)))
	if len(r.Uncovered) > 0 {
		fmt.Fprintln(p.Out)
		p.Text("That leaves out "+print.Some(r.Uncovered, 4)+".", "")
	}
}

// inputsText is the text of inputs for the configuration.
func inputsText(list []config.Inputs) string {
	var b strings.Builder
	b.WriteString("analysis:\n  inputs:\n")
	for _, in := range list {
		fmt.Fprintf(&b, "    - {targets: [%s], files: [%s]}\n", flowList(in.Targets), flowList(in.Files))
	}
	return b.String()
}

func flowList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = print.FlowYAML(s)
	}
	return strings.Join(out, ", ")
}

// beside says what else was seen beside the findings.
func (r *AuditReport) beside() string {
	partly, listed, tested := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(to map[string]bool, list []string) {
		for _, s := range list {
			to[s] = true
		}
	}
	for _, a := range r.Results {
		if a.Judged != nil {
			add(partly, a.Partly)
			add(listed, a.Listed)
			add(tested, a.Tested)
		}
	}
	var parts []string
	if len(partly) > 0 {
		parts = append(parts, print.Counted(len(partly), "file")+" of which hashes have what the analyzer reads in them")
	}
	if len(listed) > 0 {
		parts = append(parts, print.Counted(len(listed), "folder")+" listed")
	}
	if len(tested) > 0 {
		parts = append(parts, print.Counted(len(tested), "file")+" looked up and not read")
	}
	if len(parts) == 0 {
		return ""
	}
	return "Beside that, and no findings: " + strings.Join(parts, "; ") + ". --json lists them."
}
