// Package texts holds all words for people about changes: the one comment of a pull
// request, checks, reasons, lines of the history. Everything in it is pure: the same
// facts give the same text, and times are rounded so that a text rendered again says
// the same.
//
// # One table for each kind of thing that has words
//
//	reasons       queue.ReasonCode       reasons_waiting.go, _ended.go, _parked.go, _refused.go, _answered.go
//	requirements  queue.RequirementKind  require.go
//	commands      queue.Verb             command_table.go of package queue; commands.go
//	notes         queue.Note.What        notes.go
//
// A row of reasons has the words for each place where people meet the reason, and the
// anchor of the document about it. An example is a change that failed in the step unit:
//
//	title  "a step failed"                    a comment's headline, where the reason names nothing
//	brief  "failed in unit"                   a row of the queue's page, of submitqueue status
//	full   "On the target branch with it, a   the comment (Markdown), the change's page and
//	       step failed: unit. Push a fix, …"  submitqueue status NUMBER (one plain line)
//	doc    "reasons#failed"                   Doc
//
// # How do I add …
//
//   - a reason: its code in package queue, and its row in the file of its kind.
//   - a requirement: its kind in package queue (requirement.go), its row in require.go:
//     a title for lists and one line of what to do, which serves comment, page and command
//     line.
//   - a command: its row in package queue (command_table.go) has its line of the help.
//   - a line of the history: its row in notes.go.
//
// Tests read the constants of package queue and demand a row for each.
//
// # Hostile text
//
// Text that we did not write (titles, names, branches, paths, logs, errors) is hostile.
// Only the methods of quote (quote.go) make it part of a text. They show it in code spans
// and fenced blocks made by escape.go: there it cannot mention people, refer to issues, or
// carry markup.
package texts
