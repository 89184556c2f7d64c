// Package access knows the callers of a server and says what each may do: named tokens,
// sessions of browsers, and links that open one session each. It knows no HTTP; package app
// asks it for each request.
//
// A token is a name, a role and an expiry. It is shown once, when it is made. Only its SHA-256 is
// kept, which is enough, because the token has 130 random bits. Tokens are in a file of the
// server's data folder, mode 0600. The command line writes the file, also while a server runs,
// and the server looks at it for each request: a token that is added or removed counts at once.
// An entry that cannot be read lets nobody in.
//
// A browser has its session in a cookie. A session reads and never commands, so that no page
// of another site can have a browser give commands. It ends when it expires, with the token
// that opened it, or when its browser signs out. Sessions outlast the server in a second
// file, which also holds hashes. A link opens one session, within an hour; links are in
// memory, and each start has its own.
//
// Moments are arguments; the package reads no clock.
package access
