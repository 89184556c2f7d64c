// Package servertest has the helpers of tests of a server: a browser, and a console
// whose output is read.
package servertest
