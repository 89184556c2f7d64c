// Package setup is the command that connects a server to a forge: it looks at the
// settings, as doctor does, and makes what is missing. Each thing that it makes is a step
// that says what it does, so that a dry run shows the same list. Running it again changes
// nothing.
//
// A secret is written down under another name before GitLab is asked to use it, and gets
// its final name after that. A run that is interrupted between the two leaves no webhook
// with a secret that is lost for good: the next run sets a new secret.
package setup
