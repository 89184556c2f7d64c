// Package history is the command of the same name: it exports a queue's event archive from
// a server, imports one, and makes one from a repository. The format is in package
// queue/history.
//
//	history.go  the table of its commands; progress.go: what a person sees meanwhile
//	export.go   from a server to standard output
//	import.go   from a file or a folder into a server
//	source.go   the rows of a file or a server, for commands that learn from them
//	fromgit.go  from a repository's log; results.go: what its CI said
package history
