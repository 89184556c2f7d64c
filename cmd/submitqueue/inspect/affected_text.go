package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/config"
)

// print writes the report for people.
func (c *Affected) print(p print.Sheet, in *inspection, ch app.Change, r affectedReport) {
	n := len(r.Added) + len(r.Changed)
	verified := fmt.Sprintf("%d of %s would be verified", n, print.Counted(len(ch.Targets()), "target"))
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
	p.Text(fmt.Sprintf("%s (%s) on %s (%s): %s", c.Head, short(ch.Head), c.Base, short(in.commit), verified), "")
	if ch.Fails != "" {
		p.Text("Every build of it fails, because its configuration cannot be used: "+ch.Fails, "")
		return
	}
	in.analyzedBy(p, r.Analyzer)
	if r.Unknown != "" {
		p.Text("It cannot be analyzed, so it conflicts with every other change: "+r.Unknown, "")
		return
	}
	if why := ch.Footprint.Unread; why != "" {
		p.Text("A part that it touches cannot be analyzed, so that part is one target: "+why, "")
	}
	causes := conflict.NewCauses(in.base.Description, ch.Description)
	if every := causes.Every(); every != nil && !ch.Empty {
		p.Text("Every hash moves: "+causeText(every)+".", "")
	}
	c.list(p, "added", r.Added, func(t string) string { return c.why(causes, ch, t) })
	c.list(p, "changed", r.Changed, func(t string) string { return c.why(causes, ch, t) })
	c.list(p, "removed", r.Removed, func(string) string { return "" })
	c.shape(p, conflict.ShapeOf(in.base.Description, ch.Description))
	if _, whole := stepNames(ch.Config.Steps); len(whole) > 0 && !ch.Empty {
		fmt.Fprintln(p.Out)
		p.Text("The tree as a whole is verified by "+print.Some(whole, 8)+".", "")
	}
	for _, cycle := range newCycles(in.base.Cycles, ch.Cycles) {
		p.Text("New cycle: "+print.Some(cycle, 8)+" depend on themselves.", "")
	}
}

// shape says how the change alters the graph.
func (c *Affected) shape(p print.Sheet, s conflict.Shape) {
	if !s.Altered() {
		return
	}
	const most = 5
	names := func(edges []conflict.Edge) (out []string) {
		for _, e := range edges {
			out = append(out, e.From+" → "+e.To)
		}
		return out
	}
	var parts []string
	if len(s.Added) > 0 {
		parts = append(parts, "new dependencies "+print.Some(names(s.Added), most))
	}
	if len(s.Gone) > 0 {
		parts = append(parts, "dependencies gone "+print.Some(names(s.Gone), most))
	}
	if s.Nodes {
		parts = append(parts, "nodes come or go")
	}
	fmt.Fprintln(p.Out)
	p.Text("The graph is altered: "+strings.Join(parts, "; ")+".", "")
}

// why says what changed the hash of one target; "" where one cause is given for all targets.
func (c *Affected) why(causes *conflict.Causes, ch app.Change, target string) string {
	if causes.Every() != nil {
		return ""
	}
	cause := causes.Of(target)
	if cause == nil {
		if target == config.TargetTree {
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

func (c *Affected) list(p print.Sheet, title string, targets []string, why func(string) string) {
	if len(targets) == 0 {
		return
	}
	fmt.Fprintf(p.Out, "\n%s %d\n", title, len(targets))
	shown, more := some(targets, c.Limit)
	var rows [][]string
	for _, t := range shown {
		rows = append(rows, []string{t, why(t)})
	}
	p.Reasons(rows)
	if more > 0 {
		p.Line(fmt.Sprintf("  and %d more (--limit 0 lists all)", more))
	}
}

// causeText says what changed a hash.
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
