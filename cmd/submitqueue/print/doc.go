// Package print has the output of the commands for people: paragraphs and tables that
// fit a terminal, hostile text made harmless, numbers of things, JSON, and exit
// statuses.
//
//	p := print.Stdout()
//	p.Text("Main is red.", "")                     // broken between words
//	p.Hang("  for ", "#12, #13")                   // what follows is indented as much
//	p.Grid([][]string{{"TARGET", "KIND"}, ...}, "") // columns
//
// Text from elsewhere, such as a title or a log, is printed by these, or goes through
// [OneLine] or [Printable] first, so that it cannot move the cursor. A command ends
// with [ExitCode] when its message is printed, with [UsageError] when its arguments
// cannot be followed (status 2), and with any other error to have that printed (status
// 1).
package print
