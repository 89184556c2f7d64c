package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// localCommands are the commands of a plain repository: people give them on the command line.
func localCommands() []queue.CommandForm {
	return []queue.CommandForm{
		{Usage: "submitqueue land BRANCH", Help: "`submitqueue land BRANCH` asks to land a branch as it is now."},
		{Usage: "submitqueue land BRANCH --priority LANE", Help: "`submitqueue land BRANCH --priority LANE` does so in a lane, or puts the request into another one."},
		{Usage: "submitqueue status", Help: "`submitqueue status` shows the queue, `submitqueue status NUMBER` one request."},
		{Usage: "submitqueue cancel NUMBER", Help: "`submitqueue cancel NUMBER` takes a request out of the queue."},
		{Usage: "submitqueue land BRANCH --method METHOD", Help: "`submitqueue land BRANCH --method METHOD` lands it by merge, squash, rebase, semi-linear or fast-forward, as far as the configuration allows it."},
		{Usage: "submitqueue land BRANCH --retry", Help: "`submitqueue land BRANCH --retry` forgets past failures and runs the steps again."},
		{Usage: "submitqueue try BRANCH", Help: "`submitqueue try BRANCH` builds it on the target branch as it would land and says what came of it; it does not land."},
		{Usage: "submitqueue explain BRANCH", Help: "`submitqueue explain BRANCH` says what would become of it, or why it is where it is."},
		{Usage: "submitqueue now BRANCH REASON", Help: "`submitqueue now BRANCH REASON` puts it before all others, in an emergency; for those who may."},
		{Usage: "submitqueue freeze UNTIL REASON", Help: "`submitqueue freeze UNTIL REASON` stops all landings until then (`2h`, `18:00`, `2026-12-24 18:00`, in UTC); emergencies land."},
		{Usage: "submitqueue pause REASON", Help: "`submitqueue pause REASON` stops all landings until `submitqueue resume`."},
		{Usage: "submitqueue resume"},
	}
}

// forms returns the forms of all commands, in the order of the help.
func (w Words) forms(table queue.CommandTable) []queue.CommandForm {
	if w.Local {
		return localCommands()
	}
	var forms []queue.CommandForm
	for _, row := range table {
		forms = append(forms, row.Forms...)
	}
	return forms
}

// help returns the commands, as Markdown.
func (w voice) help() string {
	first, last := "Write one command per line in a comment:", "An approval is for one commit: after a push, comment `/land` again."
	if w.o.Words.Local {
		first, last = "On the machine of the server:", "A request is for one commit: after a push, run `submitqueue land BRANCH` again."
	}
	lines := []string{first, ""}
	for _, form := range w.o.Words.forms(w.commands) {
		if form.Help != "" {
			lines = append(lines, "- "+w.fill(form.Help))
		}
	}
	return strings.Join(append(lines, "", last), "\n")
}

// commandList returns the forms of all commands, on one line of plain text.
func (w voice) commandList() string {
	var forms []string
	for _, form := range w.o.Words.forms(w.commands) {
		forms = append(forms, form.Usage)
	}
	return strings.Join(forms, ", ")
}
