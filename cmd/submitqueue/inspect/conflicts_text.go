package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// kindMarks are the signs of the matrix, with their meanings.
var kindMarks = []struct {
	kind          queue.ConflictKind
	mark, meaning string
}{
	{queue.ConflictTextual, "X", "they do not merge"},
	{queue.ConflictTarget, "T", "both change a target"},
	{queue.ConflictReadWrite, "R", "one starts to depend on what the other changes"},
	{queue.ConflictDefinition, "D", "they meet in what shapes the graph"},
	{queue.ConflictGlobal, "G", "one changes what is in every hash"},
	{queue.ConflictUnknown, "?", "one cannot be analyzed"},
}

func markOf(kind queue.ConflictKind) string {
	for _, k := range kindMarks {
		if k.kind == kind {
			return k.mark
		}
	}
	return "·"
}

// print writes the report for people.
func (c *Conflicts) print(p print.Sheet, in *inspection, r *conflictsReport) {
	between := slices.DeleteFunc(slices.Clone(r.Conflicts), func(x pairReport) bool { return x.onBase })
	n := len(r.branches)
	head := fmt.Sprintf("%s on %s (%s)", print.Counted(n, "change"), c.Base, short(in.commit))
	if pairs := n * (n - 1) / 2; pairs > 0 {
		head += fmt.Sprintf(": %d of %s %s", len(between), print.Counted(pairs, "pair"), verb(len(between), "conflict"))
	}
	p.Text(head, "")
	in.analyzedBy(p, in.base.Analyzer)
	if in.base.Unknown != "" {
		p.Text(c.Base+" cannot be analyzed, so every change conflicts with every other: "+in.base.Unknown, "")
	}
	for _, line := range unreadText(in.base.Unread) {
		p.Text(c.Base+": "+line, "")
	}
	for _, b := range r.branches {
		if why := b.Footprint.Unread; why != "" && !slices.ContainsFunc(in.base.Unread, func(u conflict.Unread) bool { return u.Why == why }) {
			p.Text(b.name+" touches a part that cannot be analyzed with it, so that part is one target: "+why, "")
		}
	}
	fmt.Fprintln(p.Out)
	if r.matrix(p, between) {
		r.legend(p, between)
	}
	if len(r.Conflicts) == 0 {
		return
	}
	fmt.Fprintln(p.Out)
	shown, more := some(r.Conflicts, c.Limit)
	for _, x := range shown {
		p.Hang("  ", r.sentence(x))
	}
	if more > 0 {
		p.Line(fmt.Sprintf("  and %d more (--limit 0 lists all)", more))
	}
}

// verb returns a verb in the form that fits a number.
func verb(n int, v string) string {
	if n == 1 {
		return v + "s"
	}
	return v
}

// matrix draws which changes conflict with which: each change has a row, and a column
// for the changes below it. If it would be wider than the sheet, it draws only the
// heads of the rows, and returns false.
func (r *conflictsReport) matrix(p print.Sheet, between []pairReport) bool {
	marks := map[[2]string]string{}
	for _, x := range between {
		marks[[2]string{x.A, x.B}] = markOf(x.Kind)
	}
	digits := len(strconv.Itoa(len(r.branches)))
	names, states := 0, 0
	for _, b := range r.branches {
		names = max(names, min(print.Width(print.OneLine(b.name)), 32))
		states = max(states, print.Width(b.state()))
	}
	lead := digits + 2 + names + 2 + states
	drawn := lead+(len(r.branches)-1)*(digits+1)+1 <= p.Width
	if drawn && len(r.branches) > 1 {
		line := strings.Repeat(" ", lead+1)
		for i := range r.branches[1:] {
			line += fmt.Sprintf(" %*d", digits, i+1)
		}
		p.Line(line)
	}
	for i, b := range r.branches {
		name := print.Clip(print.OneLine(b.name), names)
		line := fmt.Sprintf("%*d  %s%s  %s%s", digits, i+1, name, strings.Repeat(" ", names-print.Width(name)),
			b.state(), strings.Repeat(" ", states-print.Width(b.state())+1))
		for _, a := range r.branches[:i] {
			mark := marks[[2]string{a.name, b.name}]
			if mark == "" {
				mark = "·"
			}
			if drawn {
				line += strings.Repeat(" ", digits) + mark
			}
		}
		p.Line(line)
	}
	if !drawn {
		p.Text("There are too many for a matrix of this width; the pairs follow.", "")
	}
	return drawn
}

// state describes a branch on the base in a few words.
func (b branchReport) state() string {
	switch {
	case b.failed != "":
		return "cannot be analyzed"
	case !b.Clean():
		return "does not merge"
	case b.Contained:
		return "landed already"
	case b.Empty:
		return "changes nothing"
	case b.Footprint.All:
		return "all targets"
	case len(b.Footprint.Write)+len(b.Footprint.Read) == 0:
		return "no target"
	}
	return print.Counted(len(b.Footprint.Affected), "target")
}

// legend explains the signs that were used.
func (r *conflictsReport) legend(p print.Sheet, between []pairReport) {
	if len(r.branches) < 2 {
		return
	}
	var parts []string
	for _, k := range kindMarks {
		if slices.ContainsFunc(between, func(x pairReport) bool { return x.Kind == k.kind }) {
			parts = append(parts, k.mark+" "+k.meaning)
		}
	}
	if len(between) < len(r.branches)*(len(r.branches)-1)/2 {
		parts = append(parts, "· independent")
	}
	fmt.Fprintln(p.Out)
	p.Text(strings.Join(parts, "; "), "")
}

// sentence says why a pair conflicts.
func (r *conflictsReport) sentence(x pairReport) string {
	var plain []string
	for _, w := range x.Witnesses {
		plain = append(plain, strings.TrimPrefix(w, conflict.DefinitionPrefix))
	}
	names := strings.Join(plain, ", ")
	if len(plain) == maxWitnesses {
		names += ", ..."
	}
	text := x.A + " and " + x.B + ": " + string(x.Kind) + ", "
	if x.onBase {
		switch x.Kind {
		case queue.ConflictTextual:
			return x.B + " does not merge onto " + x.A + ": " + names
		default:
			return x.B + " cannot be analyzed: " + names
		}
	}
	switch x.Kind {
	case queue.ConflictTarget:
		for _, of := range []branchReport{r.branch(x.A), r.branch(x.B)} {
			if !slices.Contains(of.Footprint.Write, x.Witnesses[0]) {
				return text + "both would change " + names + ": " + of.name + " through a dependency that another of the changes adds"
			}
		}
		return text + "both change " + names
	case queue.ConflictReadWrite:
		reader, writer := x.A, x.B
		if len(x.Witnesses) > 0 && slices.Contains(r.branch(x.B).Footprint.Read, x.Witnesses[0]) {
			reader, writer = x.B, x.A
		}
		return text + reader + " starts to depend on " + names + ", which " + writer + " changes"
	case queue.ConflictDefinition:
		return text + "they meet in " + names
	case queue.ConflictTextual:
		return text + "they do not merge in " + names
	case queue.ConflictGlobal:
		if names == "" {
			names = "the analyzer or its settings"
		}
		if len(plain) > 1 {
			return text + names + " are in every hash"
		}
		return text + names + " is in every hash"
	}
	return text + names
}

func (r *conflictsReport) branch(name string) branchReport {
	return r.branches[slices.Index(r.Changes, name)]
}
