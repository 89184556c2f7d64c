// Package servertest is what tests of a server have in common: a browser, and a
// console that is read.
package servertest
