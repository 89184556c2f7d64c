// Package audit finds out which files of a repository a command has looked at,
// and which of these are in no hash of the target that it was run for.
//
// # What is watched
//
// A [Tracer] watches one command in a checkout, with all processes that it
// starts. strace follows the processes and sees the system calls; fanotify
// watches the file system, needs the rights of an administrator, and costs
// nearly nothing. Told apart are
//
//	Content  a file was opened for reading, run, linked or renamed, or a
//	         symbolic link was read or gone through
//	Listed   the names in a folder were read
//	Tested   a path was looked up, whether there is something or not
//	Scanned  content was read by a program that looks at everything and whose
//	         answer says nothing of it: `git status` and the like, which compare
//	         the checkout with the commit that it is of; the go command where it
//	         reads the head of a test file of a package that is only imported
//
// A file that the command itself has written before is not the commit's any
// more, and counts for nothing. fanotify knows neither Tested nor what a file
// was opened for.
//
// # What is not seen
//
// A read by a process that ran before and is asked to do the work: a container
// daemon, a build server outside of the checkout. A read that a cache has made
// superfluous: each run therefore has an empty HOME and TMPDIR and a clean
// checkout, and tests of Go run with -count=1. The build cache of the go command
// is kept, as the go command itself reads whatever it takes from there, to know
// that it is the same. A target none of whose own files were read is
// reported as not audited. Reads through io_uring are invisible to strace; who
// uses it for files can be asked not to (UV_USE_IO_URING=0 is set for Node.js).
//
// # What is judged
//
// [Judge] holds the contents read against the files that are in the target's
// hash ([conflict.Description.FilesOf]). A file that is in none may still be
// read by the analyzer, which puts into hashes what it means, as with a go.mod:
// such a file is told apart by taking it out of the tree and looking whether
// the hash moves, for many files at a time.
package audit
