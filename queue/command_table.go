package queue

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// CommandRow has all facts about a command, except its effect (package speculation,
// follow.go).
type CommandRow struct {
	Verb Verb
	// Words are what it begins with in a comment, in lower case: /land or /queue, and a
	// word behind that; "": nobody can type it.
	Words string
	// Takes reads the words behind those into the command; it returns false where they are
	// not understood. nil: there are none.
	Takes func(c *Command, rest []string) bool
	// Near is the right form for a command that was misspelt or not understood; "": the
	// form as it was written, with its first words corrected, if that is a command.
	Near string
	// Keeps says that Near is only for a command with nothing behind its first words.
	Keeps bool
	// Forms are how it can be written, for the help.
	Forms []CommandForm
	// Who returns the people with the right to give it, by the permissions; nil: anybody.
	Who func(config.Permissions) config.Who
	// Also are commands with permissions that may be asked for as well.
	Also []Verb
	// Runs says that the command may run code of a pull request: it takes write access, besides
	// Who.
	Runs bool
	// Delegated says that users may give it, too, for pull requests delegated to them.
	Delegated bool
	// Enters says that it puts a pull request into the queue.
	Enters bool
}

// CommandForm is one way to write a command. Capitals stand for what people fill in.
type CommandForm struct {
	Usage string
	Help  string // a line of Markdown, in which {noun} stands for a pull request; "": the line of an earlier form covers this one
}

// CommandTable is the commands there are, in the order of the help.
type CommandTable []CommandRow

// Commands returns the commands of the queue.
func Commands() CommandTable { return slices.Clone(commands) }

var commands = CommandTable{
	{Verb: CommandLand, Words: "/land", Takes: takesLaneAndMethod, Who: mayLand, Runs: true, Delegated: true, Enters: true, Forms: []CommandForm{
		{"/land", "`/land` asks to land this {noun} as it is now. Setting the queue's label does the same."},
		{"/land priority=LANE", "`/land priority=LANE` does so in a lane, or puts it into another one. The label with `:LANE` behind it does the same."},
		{"/land method=METHOD", "`/land method=METHOD` lands it by merge, squash, rebase, semi-linear or fast-forward, as far as the configuration allows it."}}},
	{Verb: CommandCancel, Words: "/land cancel", Who: func(p config.Permissions) config.Who { return or(p.Cancel, mayLand(p)) }, Delegated: true, Forms: []CommandForm{
		{"/land cancel", "`/land cancel` takes it out of the queue. Taking the label off does the same."}}},
	{Verb: CommandRetry, Words: "/land retry", Takes: takesLane, Who: func(p config.Permissions) config.Who { return or(p.Retry, mayLand(p)) },
		Also: []Verb{CommandLand}, // of a head that was never asked to land
		Runs: true, Delegated: true, Enters: true, Forms: []CommandForm{
			{"/land retry", "`/land retry` forgets past failures and runs the steps again."}}},
	{Verb: CommandTry, Words: "/land try", Takes: takesMethod, Who: func(p config.Permissions) config.Who { return or(p.Try, mayLand(p)) }, Runs: true, Forms: []CommandForm{
		{"/land try", "`/land try` builds it on the target branch as it would land (`method=METHOD` as above) and says what came of it; it does not land."}}},
	{Verb: CommandExplain, Words: "/land explain", Takes: takesMethod,
		Also: []Verb{CommandTry}, // a change that is not in the queue is analyzed for it
		Forms: []CommandForm{
			{"/land explain", "`/land explain` says what would become of it, or why it is where it is."}}},
	{Verb: CommandDelegate, Words: "/land delegate", Takes: takesUser, Near: "/land delegate @user", Who: mayDelegate, Runs: true, Forms: []CommandForm{
		{"/land delegate @USER", "`/land delegate @USER` lets somebody else land this {noun}; `/land undelegate` takes that back."}}},
	{Verb: CommandUndelegate, Words: "/land undelegate", Takes: takesUserOrNone, Who: mayDelegate, Forms: []CommandForm{{"/land undelegate", ""}}},
	{Verb: CommandNow, Words: "/land now", Takes: takesReason, Near: "/land now REASON", Keeps: true,
		Who: func(p config.Permissions) config.Who { return or(p.Now, "admin") }, Runs: true, Enters: true, Forms: []CommandForm{
			{"/land now REASON", "`/land now REASON` puts it before all others, in an emergency; for those who may."}}},
	{Verb: CommandStatus, Words: "/land status", Forms: []CommandForm{
		{"/land status", "`/land status` brings this comment up to date."}}},
	{Verb: CommandHelp, Words: "/land help", Forms: []CommandForm{
		{"/land help", "`/land help` shows this list."}}},
	{Verb: CommandPause, Words: "/queue pause", Takes: takesText, Who: mayQueue, Forms: []CommandForm{
		{"/queue pause REASON", "`/queue pause REASON` stops all landings until `/queue resume`; for maintainers. `/queue freeze UNTIL` ends by itself (`2h`, `18:00`, `2026-12-24 18:00`, in UTC)."}}},
	{Verb: CommandResume, Words: "/queue resume", Takes: takesAnything, Who: mayQueue, Forms: []CommandForm{{"/queue resume", ""}}},
	{Verb: CommandFreeze, Words: "/queue freeze", Takes: takesUntil, Near: "/queue freeze UNTIL", Who: mayQueue, Forms: []CommandForm{{"/queue freeze UNTIL", ""}}},
	{Verb: CommandBlame, Words: "/queue blame", Takes: takesAnything, Forms: []CommandForm{
		{"/queue blame", "`/queue blame` says which commit turned the target branch red, and what is done about it."}}},
	{Verb: CommandForget, Words: "/queue forget", Takes: takesForgotten, Near: "/queue forget TARGET", Who: mayQueue, Forms: []CommandForm{
		{"/queue forget TARGET", "`/queue forget TARGET` takes back what has passed on a target, so that it is verified again; `step=NAME` does it for a step. For maintainers."}}},
	{Verb: CommandModel, Words: "/queue model", Takes: takesModel, Near: "/queue model newest", Who: mayQueue, Forms: []CommandForm{
		{"/queue model newest", "`/queue model newest` plans with the newest model of what this queue has learned that is better than none, a version in place of `newest` with an earlier one, and `none` with none; `learn` makes a new one now. For maintainers."}}},
	{Verb: CommandAuto},
	{Verb: CommandRecheck, Who: mayLand,
		Also: []Verb{CommandLand, CommandRetry, CommandNow}}, // of a requester by any of these
}

func or(w, otherwise config.Who) config.Who {
	if w == "" {
		return otherwise
	}
	return w
}

func mayLand(p config.Permissions) config.Who     { return or(p.Land, "write") }
func mayDelegate(p config.Permissions) config.Who { return or(p.Delegate, mayLand(p)) }
func mayQueue(p config.Permissions) config.Who    { return or(p.Queue, "maintain") }

// Row returns the row of a verb; one without words where there is none.
func (t CommandTable) Row(v Verb) CommandRow {
	if i := slices.IndexFunc(t, func(r CommandRow) bool { return r.Verb == v }); i >= 0 {
		return t[i]
	}
	return CommandRow{Verb: v}
}

// Who returns the people with the right to give a command, by the permissions of a
// configuration; "" for commands that anybody may give.
func (t CommandTable) Who(v Verb, p config.Permissions) config.Who {
	if may := t.Row(v).Who; may != nil {
		return may(p)
	}
	return ""
}

// spelt returns the row of the command that begins with some words, and the words
// behind it; false where there is none.
func (t CommandTable) spelt(words []string) (row CommandRow, rest []string, ok bool) {
	for n := min(2, len(words)); n > 0; n-- {
		begin := strings.ToLower(strings.Join(words[:n], " "))
		if i := slices.IndexFunc(t, func(r CommandRow) bool { return r.Words == begin }); i >= 0 {
			return t[i], words[n:], true
		}
	}
	return CommandRow{}, nil, false
}
