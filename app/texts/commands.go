package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// commandRow is what people are told about one form of a command.
type commandRow struct {
	verb  queue.Verb // that package queue reads it as; "" of a command line
	usage string     // capitals stand for what people fill in
	help  string     // a line of Markdown; empty: that of a row before it says this, too
}

// commandTable has the commands that comments hold, in the order of the help. What a
// command does is of package queue (ParseCommands) and speculation (its events).
func commandTable() []commandRow {
	return []commandRow{
		{queue.CommandLand, "/land",
			"`/land` asks to land this pull request as it is now. Setting the queue's label does the same."},
		{queue.CommandLand, "/land priority=LANE",
			"`/land priority=LANE` does so in a lane, or puts it into another one. The label with `:LANE` behind it does the same."},
		{queue.CommandLand, "/land method=METHOD",
			"`/land method=METHOD` lands it by merge, squash, rebase or fast-forward, as far as the configuration allows it."},
		{queue.CommandCancel, "/land cancel",
			"`/land cancel` takes it out of the queue. Taking the label off does the same."},
		{queue.CommandRetry, "/land retry",
			"`/land retry` forgets past failures and runs the steps again."},
		{queue.CommandTry, "/land try",
			"`/land try` builds it on the target branch as it would land (`method=METHOD` as above) and says what came of it; it does not land."},
		{queue.CommandExplain, "/land explain",
			"`/land explain` says what would become of it, or why it is where it is."},
		{queue.CommandDelegate, "/land delegate @USER",
			"`/land delegate @USER` lets somebody else land this pull request; `/land undelegate` takes that back."},
		{queue.CommandUndelegate, "/land undelegate", ""},
		{queue.CommandNow, "/land now REASON",
			"`/land now REASON` puts it before all others, in an emergency; for those who may."},
		{queue.CommandStatus, "/land status",
			"`/land status` brings this comment up to date."},
		{queue.CommandHelp, "/land help",
			"`/land help` shows this list."},
		{queue.CommandPause, "/queue pause REASON",
			"`/queue pause REASON` stops all landings until `/queue resume`; for maintainers. `/queue freeze UNTIL` ends by itself (`2h`, `18:00`, `2026-12-24 18:00`, in UTC)."},
		{queue.CommandResume, "/queue resume", ""},
		{queue.CommandFreeze, "/queue freeze UNTIL", ""},
		{queue.CommandBlame, "/queue blame",
			"`/queue blame` says which commit turned the target branch red, and what is done about it."},
		{queue.CommandForget, "/queue forget TARGET",
			"`/queue forget TARGET` takes back what has passed on a target, so that it is verified again; `step=NAME` does it for a step. For maintainers."},
	}
}

// localCommandTable has the commands of a plain repository.
func localCommandTable() []commandRow {
	return []commandRow{
		{"", "submitqueue land BRANCH",
			"`submitqueue land BRANCH` asks to land a branch as it is now."},
		{"", "submitqueue land BRANCH --priority LANE",
			"`submitqueue land BRANCH --priority LANE` does so in a lane, or puts the request into another one."},
		{"", "submitqueue status",
			"`submitqueue status` shows the queue, `submitqueue status NUMBER` one request."},
		{"", "submitqueue cancel NUMBER",
			"`submitqueue cancel NUMBER` takes a request out of the queue."},
		{"", "submitqueue land BRANCH --retry",
			"`submitqueue land BRANCH --retry` forgets past failures and runs the steps again."},
		{"", "submitqueue pause REASON",
			"`submitqueue pause REASON` stops all landings until `submitqueue resume`."},
		{"", "submitqueue resume", ""},
	}
}

func (w Words) commandTable() []commandRow {
	if w.Local {
		return localCommandTable()
	}
	return commandTable()
}

// help returns the commands, as Markdown.
func (w voice) help() string {
	first, last := "Write one command per line in a comment:", "An approval is for one commit: after a push, comment `/land` again."
	if w.o.Words.Local {
		first, last = "On the machine of the server:", "A request is for one commit: after a push, run `submitqueue land BRANCH` again."
	}
	lines := []string{first, ""}
	for _, row := range w.o.Words.commandTable() {
		if row.help != "" {
			lines = append(lines, "- "+row.help)
		}
	}
	return strings.Join(append(lines, "", last), "\n")
}

// commandList returns the forms of all commands, on one line of plain text.
func (w voice) commandList() string {
	var forms []string
	for _, row := range w.o.Words.commandTable() {
		forms = append(forms, row.usage)
	}
	return strings.Join(forms, ", ")
}
