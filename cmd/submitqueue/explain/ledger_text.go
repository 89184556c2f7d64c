package explain

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// mostTail is how many lines of a failing run's log are shown.
const mostTail = 5

// ledger prints what is known of keys, a paragraph each.
func (p sheet) ledger(what string, v api.Ledger) {
	p.mark = v.Mark
	head := ""
	switch v.Kind {
	case "change":
		head = p.changeName(v.Change) + ": " + print.Counted(len(v.Keys), "key") + " of its present merge"
	case "key":
		head = print.Counted(len(v.Keys), "key") + " whose id begins with " + print.OneLine(what)
	default:
		head = print.OneLine(what) + ": " + print.Counted(len(v.Keys), "key") + ", what main has first"
	}
	if v.More {
		head += "; there are more, see --max"
	}
	p.Text(head, "")
	if v.Unknown != "" {
		p.Text("What main rests on is not known: "+print.OneLine(v.Unknown), "")
	}
	for _, k := range v.Keys {
		fmt.Fprintln(p.Out)
		p.ledgerKey(k, v.Main)
	}
}

func (p sheet) ledgerKey(k api.Key, main string) {
	step := k.Step
	if step == "" {
		step = "a step of another day"
	}
	p.Text(fmt.Sprintf("%s %s on %s at hash %s", k.ID[:12], print.OneLine(step), print.OneLine(k.Target), print.Short(k.Hash, 12)), "")
	const lead = "  "
	switch k.State {
	case "forgotten":
		p.Hang(lead, fmt.Sprintf("forgotten by %s %s (%s): it does not count", print.OneLine(k.Forgotten.By), p.Ago(k.Forgotten.At), print.OneLine(k.Forgotten.What)))
	case "running":
		p.Hang(lead, "running")
	case "unknown":
		p.Hang(lead, "nothing has verified it yet")
	case "failed":
		p.Hang(lead, "failed, and has not passed")
	}
	if !k.Passed.IsZero() {
		p.Hang(lead, p.passedBy(k))
	}
	if k.Running != "" {
		p.Hang(lead, "build "+print.Short(k.Running, 10)+" verifies it now")
	}
	switch {
	case k.OnMain && len(k.Rests) > 0:
		p.Hang(lead, "main ("+print.Short(main, 12)+") has it, and "+p.changeNames(k.Rests)+" in the queue")
	case k.OnMain:
		p.Hang(lead, "main ("+print.Short(main, 12)+") has it")
	case len(k.Rests) > 0:
		p.Hang(lead, p.changeNames(k.Rests)+" in the queue has it, main has not")
	}
	for _, f := range k.Failures {
		text := "failed"
		if f.Timeout {
			text = "timed out"
		}
		if f.With > 1 {
			text += fmt.Sprintf(" together with %s, none of them named,", print.Counted(f.With-1, "other key"))
		}
		text += " " + p.Ago(f.At) + " in build " + print.Short(f.Build, 10)
		if f.Host != "" {
			text += " on " + print.OneLine(f.Host)
		}
		p.Hang(lead, text)
		lines := strings.Split(strings.TrimRight(print.Printable(f.Tail), "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-mostTail):] {
			if line != "" {
				p.Line("    | " + line)
			}
		}
	}
}

// passedBy says when a key passed, in which build and where.
func (p sheet) passedBy(k api.Key) string {
	text := "passed " + p.Ago(k.Passed) + " (" + p.Clock(k.Passed) + ")"
	if k.Build != "" {
		text += " in build " + print.Short(k.Build, 10)
	}
	if k.Change != "" {
		text += " of " + p.changeName(k.Change)
	} else {
		text += " of main"
	}
	if k.Host != "" {
		text += " on " + print.OneLine(k.Host)
	}
	if k.Tools != "" {
		text += " with tools " + print.OneLine(k.Tools)
	}
	if k.Commit != "" {
		text += ", commit " + print.Short(k.Commit, 12)
	}
	if !k.Confirmed.IsZero() {
		text += ", and again " + p.Ago(k.Confirmed) + " (" + p.Clock(k.Confirmed) + ")"
	}
	if k.Tries > 1 {
		text += fmt.Sprintf(", result %d of its builds", k.Tries)
	}
	return text
}

// forgetting prints what forgetting does, or would do.
func (p sheet) forgetting(v api.Forget, yes bool) {
	p.mark = v.Mark
	would := "would "
	if yes {
		would = "will "
	}
	passes := fmt.Sprintf("%d passes", v.Passes)
	if v.Passes == 1 {
		passes = "1 pass"
	}
	if v.Unknown {
		p.Text("Neither main nor a pending change has a key of "+print.OneLine(v.What)+". If that is a misspelt name: submitqueue targets lists those of a clone; submitqueue ledger TARGET shows what is known of one.", "")
		if !yes {
			p.Text("Nothing was done. With --yes, passes of older commits are forgotten, if there are any.", "")
		}
		return
	}
	if v.Passes == 0 {
		p.Text("Neither main nor a pending change rests on a pass of "+print.OneLine(v.What)+".", "")
	} else {
		p.Text(fmt.Sprintf("Main and the pending changes rest on %s of %s.", passes, print.OneLine(v.What)), "")
	}
	if len(v.Main) > 0 {
		p.Hang("  ", "main "+would+"become unproven, and is built again on "+print.Some(v.Main, 10))
	} else {
		p.Hang("  ", "main stays as it is")
	}
	if len(v.Changes) > 0 {
		p.Hang("  ", "built again: "+p.changeNames(v.Changes))
	}
	if len(v.Landing) > 0 {
		p.Hang("  ", "being pushed, and not affected: "+p.changeNames(v.Landing))
	}
	if !yes {
		p.Text("Nothing was done. Do it with --yes; passes of older commits are forgotten with it.", "")
	}
}
