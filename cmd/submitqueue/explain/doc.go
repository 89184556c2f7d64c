// Package explain is the commands that show what a server or a forge knows: status
// and status --why, blame, ledger, doctor. They print what the API answers and add
// nothing to it: why a change waits is said by the server, in the words that its
// pages and comments have.
//
// How do I add one? A type with a Run method beside these, and a field of cli in
// the parser's table (main.go). It prints with a print.Sheet.
package explain
