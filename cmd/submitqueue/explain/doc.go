// Package explain is the commands that show what a server or a forge knows: status and
// status --why, blame, ledger, doctor. They print the API's answers and add nothing:
// the server says why a change waits, in the same words as its pages and comments.
//
// How do I add one? A type with a Run method beside these, and a field of cli in
// the parser's table (main.go). It prints with a print.Sheet.
package explain
