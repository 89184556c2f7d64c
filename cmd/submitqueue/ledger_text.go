package main

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
)

// mostTail is how many lines of a failing run's log are shown.
const mostTail = 5

// ledger prints what is known of keys, a paragraph each.
func (p sheet) ledger(what string, v api.Ledger) {
	head := ""
	switch v.Kind {
	case "change":
		head = changeName(v.Change) + ": " + counted(len(v.Keys), "key") + " of its present merge"
	case "key":
		head = counted(len(v.Keys), "key") + " whose id begins with " + oneLine(what)
	default:
		head = oneLine(what) + ": " + counted(len(v.Keys), "key") + ", what main has first"
	}
	if v.More {
		head += "; there are more, see --max"
	}
	p.text(head, "")
	if v.Unknown != "" {
		p.text("What main rests on is not known: "+oneLine(v.Unknown), "")
	}
	for _, k := range v.Keys {
		fmt.Fprintln(p.out)
		p.ledgerKey(k, v.Main)
	}
}

func (p sheet) ledgerKey(k api.Key, main string) {
	step := k.Step
	if step == "" {
		step = "a step of another day"
	}
	p.text(fmt.Sprintf("%s %s on %s at hash %s", k.ID[:12], oneLine(step), oneLine(k.Target), short12(k.Hash)), "")
	const lead = "  "
	switch k.State {
	case "forgotten":
		p.hang(lead, fmt.Sprintf("forgotten by %s %s (%s): it does not count", oneLine(k.Forgotten.By), p.ago(k.Forgotten.At), oneLine(k.Forgotten.What)))
	case "running":
		p.hang(lead, "running")
	case "unknown":
		p.hang(lead, "nothing has verified it yet")
	case "failed":
		p.hang(lead, "failed, and has not passed")
	}
	if !k.Passed.IsZero() {
		p.hang(lead, p.passedBy(k))
	}
	if k.Running != "" {
		p.hang(lead, "build "+k.Running[:min(len(k.Running), 10)]+" verifies it now")
	}
	switch {
	case k.OnMain && len(k.Rests) > 0:
		p.hang(lead, "main ("+short12(main)+") has it, and "+changeNames(k.Rests)+" in the queue")
	case k.OnMain:
		p.hang(lead, "main ("+short12(main)+") has it")
	case len(k.Rests) > 0:
		p.hang(lead, changeNames(k.Rests)+" in the queue has it, main has not")
	}
	for _, f := range k.Failures {
		text := "failed"
		if f.Timeout {
			text = "timed out"
		}
		if f.With > 1 {
			text += fmt.Sprintf(" together with %s, none of them named,", counted(f.With-1, "other key"))
		}
		text += " " + p.ago(f.At) + " in build " + f.Build[:min(len(f.Build), 10)]
		if f.Host != "" {
			text += " on " + oneLine(f.Host)
		}
		p.hang(lead, text)
		lines := strings.Split(strings.TrimRight(printable(f.Tail), "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-mostTail):] {
			if line != "" {
				p.line("    | " + line)
			}
		}
	}
}

// passedBy says when a key passed, in which build, where.
func (p sheet) passedBy(k api.Key) string {
	text := "passed " + p.ago(k.Passed) + " (" + p.clock(k.Passed) + ")"
	if k.Build != "" {
		text += " in build " + k.Build[:min(len(k.Build), 10)]
	}
	if k.Change != "" {
		text += " of " + changeName(k.Change)
	} else {
		text += " of main"
	}
	if k.Host != "" {
		text += " on " + oneLine(k.Host)
	}
	if k.Tools != "" {
		text += " with tools " + oneLine(k.Tools)
	}
	if k.Commit != "" {
		text += ", commit " + short12(k.Commit)
	}
	if !k.Confirmed.IsZero() {
		text += ", and again " + p.ago(k.Confirmed) + " (" + p.clock(k.Confirmed) + ")"
	}
	if k.Tries > 1 {
		text += fmt.Sprintf(", result %d of its builds", k.Tries)
	}
	return text
}

func short12(s string) string { return s[:min(len(s), 12)] }

// forgetting prints what forgetting does, or would do.
func (p sheet) forgetting(v api.Forget, yes bool) {
	would := "would "
	if yes {
		would = "will "
	}
	passes := fmt.Sprintf("%d passes", v.Passes)
	if v.Passes == 1 {
		passes = "1 pass"
	}
	if v.Passes == 0 {
		p.text("Neither main nor a pending change rests on a pass of "+oneLine(v.What)+".", "")
	} else {
		p.text(fmt.Sprintf("Main and the pending changes rest on %s of %s.", passes, oneLine(v.What)), "")
	}
	if n := len(v.Main); n > 0 {
		shown := v.Main[:min(n, 10)]
		text := oneLine(strings.Join(shown, ", "))
		if n > len(shown) {
			text += fmt.Sprintf(" and %d more", n-len(shown))
		}
		p.hang("  ", "main "+would+"become unproven, and is built again on "+text)
	} else {
		p.hang("  ", "main stays as it is")
	}
	if len(v.Changes) > 0 {
		p.hang("  ", "built again: "+changeNames(v.Changes))
	}
	if len(v.Landing) > 0 {
		p.hang("  ", "being pushed, and not affected: "+changeNames(v.Landing))
	}
	if !yes {
		p.text("Nothing was done. Do it with --yes; passes of older commits are forgotten with it.", "")
	}
}
