package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Report is everything that is known when a demo is over.
type Report struct {
	Plan        *Plan
	Pulls       []Pull // in the order in which they were asked to land
	Rows        []Row
	Stats       Stats
	Turnarounds []time.Duration
	Took        time.Duration // from the first command to the last verdict
	Line        *Line
	Checked     int // commits of the line that were checked
	Red         []RedCommit
	VerifyTook  time.Duration
	Width       int   // columns to write in; 0: no bound
	Memory      int64 // the most memory that this process had resident, in bytes; 0: not known
}

// results returns how each change ended, by branch: landed if git says so, else as the
// product says. Where the two contradict each other, the result is disputed.
func (r *Report) results() map[string]Result {
	landed := r.Line.Landed()
	rows := map[int]Row{}
	for _, row := range r.Rows {
		rows[row.Number] = row
	}
	results := map[string]Result{}
	for _, p := range r.Pulls {
		said := rows[p.Number].result()
		if _, onMain := landed[p.Head]; onMain != (said == ResultLanded) {
			said = ResultDisputed
		}
		results[p.Change.Branch] = said
	}
	return results
}

// odd returns what is wrong with the line itself, whatever the plan is.
func (r *Report) odd() []WrongOutcome {
	heads := map[string]bool{}
	for _, p := range r.Pulls {
		heads[p.Head] = true
	}
	var list []WrongOutcome
	for i, c := range r.Line.Commits {
		if i > 0 && c.Odd == "" && !heads[c.Head] {
			c.Odd = "merges what is no pull request's head"
		}
		if c.Odd != "" {
			list = append(list, WrongOutcome{Branch: r.Plan.Branch, Want: "merges of pull requests only", Got: "commit " + c.ID + " " + c.Odd})
		}
	}
	return list
}

// Figures computes the figures.
func (r *Report) Figures() Figures {
	results := r.results()
	f := Figures{
		Changes: len(r.Plan.Changes), CommitsChecked: r.Checked, Builds: r.Stats.Builds,
		Green:      r.Checked > 0 && len(r.Red) == 0,
		Turnaround: percentiles(r.Turnarounds), Seconds: math.Round(r.Took.Seconds()*10) / 10,
		PeakMemory: r.Memory,
		Wrong:      append(Judge(r.Plan, results), r.odd()...),
	}
	f.WrongOutcomes = len(f.Wrong)
	for _, got := range results {
		switch got {
		case ResultLanded:
			f.Landed++
		case ResultBuild, ResultMerge:
			f.Rejected++
		}
	}
	for _, row := range r.Rows {
		f.Keys, f.Reused = f.Keys+row.Keys, f.Reused+row.Reused
		if row.Keys > 0 && !row.Tested && row.result() == ResultLanded {
			f.BuildsSaved++
		}
		if row.Bypassed > 0 {
			f.Bypasses++
		}
	}
	f.OvertookSlow = r.overtook()
	if f.Changes > 0 {
		f.BuildsPerChange = math.Round(float64(f.Builds)/float64(f.Changes)*100) / 100
	}
	return f
}

// overtook counts, from git, the changes that were asked to land after a slow one and
// came onto the branch before it.
func (r *Report) overtook() int {
	landed, n := r.Line.Landed(), 0
	var slow []int // positions on the line of slow changes asked so far
	for _, p := range r.Pulls {
		at, ok := landed[p.Head]
		if !ok {
			continue
		}
		if p.Change.Kind == KindSlow {
			slow = append(slow, at)
		} else if slices.ContainsFunc(slow, func(s int) bool { return at < s }) {
			n++
		}
	}
	return n
}

// The columns at which the report's texts begin.
const (
	nameWidth   = 19 // of a figure
	numberWidth = 8  // of a pull request
)

// wrap breaks the report's lines between words where they are too wide, and indents the
// rest to where their texts begin.
func wrap(text string, width int) string {
	if width < 3*nameWidth {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := nameWidth
		if strings.HasPrefix(line, " ") && !strings.HasPrefix(line, strings.Repeat(" ", nameWidth)) {
			indent = numberWidth
		}
		if print.Width(strings.TrimSuffix(line, "\n")) < width {
			b.WriteString(line)
			continue
		}
		print.Sheet{Out: &b, Width: width - 2}.Hang(line[:indent], line[indent:])
	}
	return b.String()
}

// Write writes the report for people.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	f := r.Figures()
	r.writeChanges(&b)
	b.WriteString("\n")
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-*s%s\n", nameWidth, name, fmt.Sprintf(format, args...))
	}
	line("Turnaround", "P50 %.1f s, P95 %.1f s; all in %.1f s", f.Turnaround.P50, f.Turnaround.P95, f.Seconds)
	line("Builds", "%d for %s (%.2f each), and %d of %s itself", f.Builds, print.Counted(f.Changes, "change"), f.BuildsPerChange, r.Stats.Main, r.Plan.Branch)
	if f.BuildsSaved > 0 {
		line("Saved", "%s landed without a further build: the ledger had a pass for every key of the commit (a step on a package with exactly its content), from builds of other commits", print.Counted(f.BuildsSaved, "change"))
	}
	line("Keys", "%s what landed; %d of them had passed in a build for another change", print.Plural(f.Keys, "key proves", "keys prove"), f.Reused)
	if f.Bypasses > 0 {
		line("Bypasses", "%s before a conflicting change ahead was decided", print.Counted(f.Bypasses, "verdict"))
	}
	if len(r.Plan.Slow()) > 0 {
		line("Overtook", "%s landed before the slow, large one that came first", print.Counted(f.OvertookSlow, "change"))
	}
	if r.Memory > 0 {
		line("Memory", "%s at most for this process: server, simulated forge and runners; not Redis, git and builds", fmt.Sprintf("%d MB", (r.Memory+500_000)/1_000_000))
	}
	r.writeProof(line, f)
	for _, wrong := range f.Wrong {
		line("WRONG", "%s", clean(wrong.String()))
	}
	_, err := io.WriteString(w, wrap(b.String(), r.Width))
	return err
}

// writeChanges lists the changes by how they ended.
func (r *Report) writeChanges(b *strings.Builder) {
	results := r.results()
	rows := map[int]Row{}
	for _, row := range r.Rows {
		rows[row.Number] = row
	}
	section := func(title string, in func(Result) bool, why func(Result, Row) string) {
		var lines strings.Builder
		n := 0
		for _, p := range r.Pulls {
			got := results[p.Change.Branch]
			if !in(got) {
				continue
			}
			n++
			fmt.Fprintf(&lines, "  %s %s\n", fit(Row{Number: p.Number, Mark: p.Mark}.ref(), 5), clean(p.Change.name()))
			if text := why(got, rows[p.Number]); text != "" {
				fmt.Fprintf(&lines, "        %s\n", clean(text))
			}
		}
		if n > 0 {
			fmt.Fprintf(b, "\n%s: %d\n%s", title, n, lines.String())
		}
	}
	section("Landed", func(got Result) bool { return got == ResultLanded }, func(Result, Row) string { return "" })
	section("Rejected", func(got Result) bool { return got == ResultBuild || got == ResultMerge }, func(got Result, row Row) string {
		if row.Failure != "" {
			return row.Failure
		}
		return strings.TrimPrefix(string(got)+reason(row.Detail), "rejected: ")
	})
	section("Others", func(got Result) bool { return got == ResultOther || got == ResultNone || got == ResultDisputed },
		func(got Result, row Row) string {
			if got == ResultOther && row.Detail != "" {
				return row.Detail
			}
			return string(got) + reason(row.Detail)
		})
}

// writeProof says what was verified without the queue, and how.
func (r *Report) writeProof(line func(name, format string, args ...any), f Figures) {
	if r.Plan.Check.Command == "" {
		line("Proof", "not verified independently: %s", r.Plan.Check.Note)
	} else {
		green := r.Checked - len(r.Red)
		line("Proof", "%d of %d commits on %s are green, each checked out in a fresh clone (%.1f s)", green, r.Checked, r.Plan.Branch, r.VerifyTook.Seconds())
		how := strings.Join(strings.Fields(clean(r.Plan.Check.Command)), " ")
		if r.Plan.Check.Note != "" {
			how += ", " + r.Plan.Check.Note
		}
		line("", "by: %s", how)
		if strings.HasPrefix(r.Plan.Check.Command, "go ") {
			line("", "Go's cache gave the standard library and what this very check had run before; nothing of the queue's builds")
		}
	}
	for _, c := range r.Red {
		line("RED", "%s %s", c.ID[:min(12, len(c.ID))], clean(c.Subject))
		for tail := range strings.Lines(c.Tail) {
			line("", "  %s", clean(strings.TrimSuffix(tail, "\n")))
		}
		if c.ID == r.Line.Commits[0].ID {
			line("", "this is where the demo began: the queue did not make it")
		}
	}
	if f.WrongOutcomes == 0 {
		right := "each change ended as its plan says"
		if r.Plan.Base == nil {
			right = "each change has a verdict, and git agrees with it"
		}
		line("Outcomes", "%s", right)
	}
}

// reason is a detail as text that follows a word.
func reason(detail string) string {
	if detail == "" {
		return ""
	}
	return ": " + clean(detail)
}
