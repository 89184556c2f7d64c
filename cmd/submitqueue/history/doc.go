// Package history is the command of the same name: it gets a queue's event archive out of a
// server, puts one in, and makes one of a repository. The format is package queue/history.
//
//	history.go  the table of its commands; progress.go: what a person sees meanwhile
//	export.go   from a server to standard output
//	import.go   from a file or a folder into a server
//	source.go   the rows of a file or a server, for commands that learn from them
//	fromgit.go  from a repository's log; results.go: what its CI said
package history
