// Package checkout gives programs a tree as files, for analyzers that ask a
// build system instead of reading git objects.
//
//	pool, _ := checkout.Open(dir, checkout.Options{})
//	d, err := pool.Checkout(ctx, tree, nil)
//	defer d.Release()
//	out, err := d.Run(ctx, checkout.Program{Argv: []string{"gn", "desc", ...}, Dir: d.Tree, Timeout: time.Minute})
//
// # A few directories, used again and again
//
// A pool has one to three directories. A tree is checked out into the one that
// had the same tree or was used last, and only files that differ are written. A
// file that is there already is kept only if this process has written it and
// its inode, size, mode and times are those of that moment; so files that a
// program has changed are written again, and files that it has left behind are
// removed, when the directory is released and once more before it is used. Only
// the process knows which files it has written: a new one empties the
// directories, so that no file of before a crash is kept. A lock keeps a second
// process out.
//
// # Trees that nobody trusts
//
// Anybody may write a tree. Nothing is ever written outside of a directory: all
// writes go through an [os.Root], and no link is there when a file is written
// below it. Refused are names that are empty, "." or "..", any spelling of
// ".git", a path that is file and folder at once, and, where the file system
// does not tell A from a, two paths that differ in case only. A submodule is an
// empty folder. A link that leads out of the tree, through other links or not,
// is left out: it means nothing on another machine, and a program that follows
// it would read the server's own files into a graph.
//
// Files are as git holds them: no filters, line endings or large-file pointers
// are applied.
//
// # Programs
//
// [Dir.Run] runs a program in a separate process group, with empty standard
// input and an environment that has PATH and nothing else of the server's. HOME
// and TMPDIR are empty folders that are removed with the directory. When its
// time is over, when it prints more than it may, or when it has ended, all of
// the group is killed. Its output is returned with the places of the directory
// replaced by /tree and /program, so that the same tree gives the same output
// in each directory. A process that a program leaves in a separate session is a
// server: its state is in the folder of [Dir.Keep], and it is ended when the
// pool is closed.
//
// This is no sandbox. A program can read all that the server's user can read,
// and may use the network; the caller decides that the program is trusted.
package checkout
