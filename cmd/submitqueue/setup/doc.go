// Package setup is the command that connects a server to a forge: it looks at what there
// is, as doctor does, and makes what is missing. Each thing that it makes is a step, which
// says what it does, so that a dry run shows the very list. Doing it again does nothing.
//
// A secret is written down before GitLab is asked to use it, under another name, and put in
// its place after: whatever is cut off between leaves no webhook whose secret nobody has,
// since the next run makes another one.
package setup
