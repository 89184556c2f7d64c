// Package servertest has the helpers of tests of a server: a browser, and a console
// with output that is read.
package servertest
