// Package texts holds all words for people about changes: the one comment of a pull
// request, checks, reasons, lines of the history. Everything in it is pure: the same
// facts give the same text, and times are rounded so that a text rendered again says
// the same.
//
// Text that we did not write (titles, names, branches, paths, logs, errors) is hostile.
// It is shown in code spans and fenced blocks only, made by escape.go: there it cannot
// mention people, refer to issues, or carry markup.
package texts
