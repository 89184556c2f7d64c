// Package audit finds out which files of a repository a command has looked at,
// and which of these are in no hash of the target that it was run for.
//
// # What is watched
//
// A [Tracer] watches one command in a checkout, with all processes that it starts.
// strace follows the processes and sees the system calls; fanotify watches the file
// system, needs the rights of an administrator, and costs nearly nothing. It
// distinguishes
//
//	Content  a file was opened for reading, run, linked or renamed, or a
//	         symbolic link was read or gone through
//	Listed   the names in a folder were read
//	Tested   a path was looked up, whether there is something or not
//	Scanned  content was read by a program that looks at everything and says
//	         nothing of it in its answer: `git status` and similar commands, which
//	         compare the checkout with the commit that it is of; the go command where it
//	         reads the head of a test file of a package that is only imported
//
// A file that the command itself has written before is no longer the commit's, and is
// left out. fanotify cannot see Tested, nor what a file was opened for.
//
// # What is not seen
//
// A read by a process that ran before and does work for the command: a container
// daemon, or a build server outside of the checkout. A read that a cache has made
// superfluous: therefore each run has an empty HOME and TMPDIR and a clean checkout,
// and tests of Go run with -count=1. The build cache of the go command is kept: the go
// command itself reads the sources of each result that it takes from there, to know
// that they are the same. A target is reported as not audited where none of its own files
// were read. Reads through io_uring are invisible to strace; programs can be told not to
// use it for files (UV_USE_IO_URING=0 is set for Node.js).
//
// # What is judged
//
// [Judge] compares the contents that were read with the files in the target's hash
// ([conflict.Description.FilesOf]). The analyzer may read a file that is not among them
// and put its meaning into the hash, as with a go.mod. [Judge] finds such files by
// taking them out of the tree and checking whether the hash changes, for many files at
// a time.
package audit
