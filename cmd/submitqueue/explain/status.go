package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Status shows the queue.
type Status struct {
	client.Flags
	ID   string `arg:"" optional:"" help:"Show one change: its id, a number, or a branch of a plain repository."`
	Why  bool   `name:"why" help:"Of one change: why its builds were started, what it waits for and what is expected of it."`
	JSON bool   `name:"json" help:"Print what the API answers."`
}

// Run implements the command.
func (l *Status) Run(ctx context.Context) error {
	if l.Why && l.ID == "" {
		return errors.New("--why is about one change: submitqueue status NUMBER --why")
	}
	c, err := l.Open()
	if err != nil {
		return err
	}
	path := "/api/queue?" + url.Values{"queue": {l.Queue}}.Encode()
	if l.ID != "" {
		path = "/api/change?" + url.Values{"queue": {l.Queue}, "id": {strings.TrimLeft(l.ID, "#!")}}.Encode()
	}
	if l.JSON {
		return c.Print(ctx, path)
	}
	p := sheetOf(c)
	if l.ID == "" {
		var q api.Queue
		if err := c.Get(ctx, path, &q); err != nil {
			return err
		}
		p.queue(q)
		return nil
	}
	var ch api.Change
	if err := c.Get(ctx, path, &ch); err != nil {
		return err
	}
	var notes []api.Note
	if ch.ID != "" {
		past := "/api/history?" + url.Values{"queue": {l.Queue}, "id": {ch.ID}, "max": {"200"}}.Encode()
		if err := c.Get(ctx, past, &notes); err != nil {
			return err
		}
	}
	if l.Why {
		p.why(ch, notes)
		return nil
	}
	p.change(ch, notes)
	return nil
}

// sheet prints the API's answers about a queue for people.
type sheet struct {
	print.Sheet
	base string // of the server, for links
	mark string // before the number of a change; "": "#"
}

// sheetOf prints on the standard output.
func sheetOf(c *client.Client) sheet { return sheet{Sheet: print.Stdout(), base: c.Base} }

// Queue prints a queue for people: a line for each change, in order, then the
// latest verdicts.
func Queue(on print.Sheet, q api.Queue) { sheet{Sheet: on}.queue(q) }

// Verdict prints why a change has its verdict, with the evidence.
func Verdict(c *client.Client, ch api.Change) {
	p := sheetOf(c)
	p.reasons(ch)
	p.evidence(ch)
}

// queue prints a line for each change, in order, then the latest verdicts.
func (p sheet) queue(q api.Queue) {
	if q.Away != "" {
		p.Text(q.Name+": "+q.Away, "")
	}
	if q.Waits != "" {
		p.Text(q.Name+": "+q.Waits, "")
	}
	if q.Default != "" {
		p.Text(q.Name+": "+q.Default, "")
	}
	for _, text := range q.Trouble[:min(len(q.Trouble), 3)] {
		p.Text(q.Name+": "+text, "")
	}
	if q.Tip == "" {
		return // nothing is known of the queue yet, not even whether it is empty
	}
	p.branch(q)
	if len(q.Order)+len(q.Recent) == 0 {
		p.Line("nothing waits to land")
		return
	}
	var rows [][]string
	for _, ch := range q.Order {
		rows = append(rows, []string{ch.Called(), cmp.Or(ch.Branch, "-"), phaseOf(ch), whyOf(ch), ch.Forecast, ch.Title})
	}
	for _, ch := range q.Recent[:min(len(q.Recent), 10)] {
		rows = append(rows, []string{ch.Called(), cmp.Or(ch.Branch, "-"), phaseOf(ch), whyOf(ch), p.Ago(ch.Decided), ch.Title})
	}
	p.Table(queueTable, rows)
}

// branch prints the state of the target branch, and what holds landings up.
func (p sheet) branch(q api.Queue) {
	p.Line(fmt.Sprintf("%s%s: %s, %d of %s in use", q.Name, tipOf(q), stateOf(q), q.Running, print.Counted(q.Slots, "slot")))
	switch {
	case q.ConfigError != "" && q.Configured:
		p.Text("The configuration on "+q.Branch+" cannot be used as it is, and the last good one stays in force: "+q.ConfigError, "")
	case q.ConfigError != "":
		p.Text("Nothing can land before "+q.Branch+" has a configuration: "+q.ConfigError, "")
	}
	if q.UnrunText != "" {
		p.Text(q.UnrunText, "")
	}
	for _, f := range append(slices.Clone(q.Unrun), q.Failing...) {
		p.Text(p.failing(f), "  ")
		fmt.Fprintln(p.Out, "  log: "+p.base+print.OneLine(f.Log))
	}
	if q.Upgrade != nil {
		p.Text(q.Upgrade.Text, "")
	}
	for _, h := range q.Hosts {
		if h.Benched {
			p.Text(h.Text+".", "")
		}
		for _, text := range h.Other {
			p.Text(text+".", "")
		}
	}
	for _, d := range q.Drift {
		p.Text(q.Branch+" has drifted: "+d.Text, "")
	}
	for _, text := range q.Over {
		p.Text(text+".", "")
	}
	if q.Paused {
		how := "Paused by " + q.PausedBy
		if !q.PausedUntil.IsZero() {
			how = "Frozen until " + q.PausedUntil.UTC().Format("2 Jan 15:04 UTC") + " by " + q.PausedBy
		}
		p.Text(strings.TrimSuffix(how+": "+q.PausedReason, ": "), "")
		p.Line("Let landings go on with: submitqueue resume")
	}
}

// queueTable is the layout of a printed queue.
var queueTable = print.Table{
	Head:   []string{"", "BRANCH", "STATE", "WHY", "VERDICT", "TITLE"},
	Most:   []int{7, 24, 9, 120, 27, 60},
	Giving: []print.Giving{{Column: 5, Floor: 16}, {Column: 1, Floor: 14}, {Column: 3, Floor: 18}, {Column: 4, Floor: 14}, {Column: 5}, {Column: 1, Floor: 6}, {Column: 3, Floor: 6}, {Column: 4}, {Column: 2, Floor: 4}},
}

// failing says which step of the target branch itself fails, on which commit, and when.
func (p sheet) failing(f api.Evidence) string {
	text := fmt.Sprintf("%s on %s at %s", f.Step, strings.Join(f.Targets[:min(len(f.Targets), 5)], ", "), print.Short(f.Commit, 12))
	if !f.At.IsZero() {
		text += ", " + p.Ago(f.At)
	}
	last := f.Line
	if last != "" {
		return text + ": " + last
	}
	for line := range strings.Lines(f.Tail) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[submitqueue]") {
			last = line
		}
	}
	if last == "" {
		return text + ": it left no output"
	}
	return text + ": " + last
}

func tipOf(q api.Queue) string {
	if q.Tip == "" {
		return ""
	}
	return " at " + print.Short(q.Tip, 12)
}

func stateOf(q api.Queue) string {
	state := "its checks are being compared with what has passed"
	switch {
	case !q.Configured:
		state = "no configuration"
	case q.Red == 0 && len(q.Unrun) > 0:
		state = "cannot be built here"
	case q.Red > 0:
		state = "red: " + strings.Join(q.RedTargets, ", ")
	case q.Unproven > 0:
		state = print.Counted(q.Unproven, "check") + " not proven yet"
	case q.Proven:
		state = "proven"
	}
	if q.Paused {
		return "paused, " + state
	}
	return state
}

// phaseOf returns the state of a change in a word or two.
func phaseOf(ch api.Change) string {
	switch {
	case ch.Phase == "":
		return "refused"
	case ch.Phase == "nothing-to-land":
		return "no change"
	case ch.Phase == "pending" && len(ch.Builds) > 0:
		return "building"
	case ch.Phase == "pending":
		return "waiting"
	}
	return ch.Phase
}

// whyOf returns the reason for that state in a few words.
func whyOf(ch api.Change) string {
	switch {
	case ch.Phase == "landed":
		if ch.Verdict == nil || ch.Verdict.Commit == "" {
			return ""
		}
		return "as " + print.Short(ch.Verdict.Commit, 10)
	case ch.Phase == "" && ch.Notice != nil:
		return ch.Notice.Short
	case len(ch.Waits) > 0 && !ch.Final:
		return ch.Waits[0].Short
	case ch.Reason != nil:
		return ch.Reason.Short
	}
	return ""
}

// Sentence is a change in one line.
func Sentence(ch api.Change) string {
	name := ch.Called()
	if ch.Branch != "" {
		name += " " + ch.Branch
	}
	text := name + ": " + phaseOf(ch)
	why := whyOf(ch)
	switch {
	case why == "":
	case ch.Phase == "landed":
		text += " " + why
	default:
		text += ", " + why
	}
	return print.OneLine(text)
}

// change prints all that is known of one change.
func (p sheet) change(ch api.Change, notes []api.Note) {
	p.mark = strings.TrimRight(ch.Called(), "0123456789")
	if ch.ID == "" {
		p.Line(ch.Called() + ": not in the queue")
		if ch.Notice != nil {
			p.Text(ch.Notice.Text, "")
		}
		return
	}
	fmt.Fprintln(p.Out, Sentence(ch))
	p.Text(ch.Title, "  ")
	p.reasons(ch)
	fmt.Fprintln(p.Out)
	p.facts(ch)
	p.evidence(ch)
	p.builds(ch)
	p.timeline(notes)
}

func (p sheet) reasons(ch api.Change) {
	say := func(r *api.Reason) {
		if r != nil && r.Text != "" {
			text := r.Text
			if at := p.Clock(r.Until); at != "" {
				text += " Looked at again at " + at + "."
			}
			p.Text(text, "")
		}
	}
	see := ch.Reason
	if !ch.Final && len(ch.Waits) > 0 {
		see = &ch.Waits[0]
	}
	defer func() {
		if see != nil && see.Doc != "" && ch.Phase != "landed" {
			p.Text("What this means: "+p.base+print.OneLine(see.Doc), "")
		}
	}()
	switch {
	case ch.Phase == "landed":
	case ch.Final || len(ch.Waits) == 0:
		say(ch.Reason)
	default:
		for _, w := range ch.Waits {
			say(&w)
		}
	}
	if ch.Partners != nil {
		p.Text(ch.Partners.Text, "")
	}
	if ch.Notice != nil {
		p.Text("To "+cmp.Or(ch.NoticeTo, "the last command")+": "+ch.Notice.Text, "")
	}
}

func (p sheet) facts(ch api.Change) {
	fact := func(name, value string) {
		if value != "" {
			p.Line(fmt.Sprintf("  %-11s %s", name, value))
		}
	}
	fact("head", print.Short(ch.Head, 12)+" by "+ch.Author)
	fact("asked for", p.Clock(ch.Arrived)+" by "+ch.Requester)
	fact("lane", ch.Lane)
	if ch.Parent != 0 {
		fact("on top of", p.changeName(strconv.Itoa(ch.Parent)))
	}
	if ch.Position > 0 {
		fact("place", fmt.Sprintf("%d of %d", ch.Position, ch.Total))
	}
	p.partners(ch)
	if !ch.Final {
		fact("verdict", ch.Forecast)
	}
	fact("decided", p.Clock(ch.Decided))
	fact("next look", p.Clock(ch.Until))
	if v := ch.Verdict; v != nil && ch.Phase == "landed" && v.Keys > 0 {
		how := fmt.Sprintf("%s passed", print.Counted(v.Keys, "check"))
		if v.Reused > 0 {
			how += fmt.Sprintf(", %d of them before, at the same content", v.Reused)
		}
		if n := len(v.Excused); n > 0 {
			how += fmt.Sprintf("; %s failed in quarantine, which did not count", print.Counted(n, "target"))
		}
		if v.Attempts > 1 {
			how += fmt.Sprintf("; one only on attempt %d", v.Attempts)
		}
		fact("proof", how)
	}
	fact("page", ch.URL)
}

// evidence prints what failed, with the last lines of the log.
func (p sheet) evidence(ch api.Change) {
	if ch.Verdict == nil {
		return
	}
	for _, f := range ch.Verdict.Failures {
		fmt.Fprintln(p.Out)
		p.Text(cmp.Or(f.Text, f.Step+" failed")+".", "")
		for line := range strings.Lines(print.Printable(strings.TrimRight(f.Tail, "\n"))) {
			fmt.Fprintln(p.Out, "  | "+strings.TrimRight(line, "\n"))
		}
		if f.Build != "" {
			fmt.Fprintln(p.Out, "  whole log: "+p.base+print.OneLine(f.Log))
		}
	}
	for _, path := range ch.Verdict.Paths {
		fmt.Fprintln(p.Out, "  does not merge: "+print.OneLine(path))
	}
	p.Text(ch.Verdict.Text, "")
}

func (p sheet) builds(ch api.Change) {
	if len(ch.Builds) == 0 {
		return
	}
	fmt.Fprintln(p.Out, "\nBuilds under way")
	for _, b := range ch.Builds {
		at := "waits for a runner"
		if !b.Started.IsZero() {
			at = "since " + p.Clock(b.Started)
		}
		p.Line(fmt.Sprintf("  %s  %d of %s done, %s", print.Short(b.ID, 10), b.Done, print.Counted(b.Steps, "step"), at))
		if len(b.For) > 0 {
			p.Hang("  for ", p.changeNames(b.For))
		}
		if !b.Started.IsZero() {
			fmt.Fprintln(p.Out, "  log: "+p.base+texts.LogPath(b.ID))
		}
	}
}

// timeline prints the history, the oldest first.
func (p sheet) timeline(notes []api.Note) {
	if len(notes) == 0 {
		return
	}
	zone := p.Now.Format("MST")
	fmt.Fprintln(p.Out, "\nTimeline, "+zone)
	day := ""
	for i := len(notes) - 1; i >= 0; i-- {
		n := notes[i]
		at := n.At.In(p.Now.Location())
		if today := at.Format("2 January 2006"); today != day {
			day = today
			fmt.Fprintln(p.Out, "  "+day)
		}
		text := cmp.Or(n.Title, n.What)
		if n.Text != "" {
			text += ": " + n.Text
		}
		p.Hang("  "+at.Format("15:04:05")+"  ", text)
		if n.Log != "" && n.What != "build-asked" {
			fmt.Fprintln(p.Out, "            log: "+p.base+print.OneLine(n.Log))
		}
	}
}
