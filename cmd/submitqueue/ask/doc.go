// Package ask is the commands that ask a server to do something: land, cancel,
// pause and resume, and the tokens of a server. The result is shown in the words
// of package explain.
//
// How do I add one? A type with a Run method beside these, and a field of cli in
// the parser's table (main.go).
package ask
