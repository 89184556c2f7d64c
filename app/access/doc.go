// Package access says who asks a server and what they may do: named tokens, sessions of
// browsers, and links that open one once. It knows no HTTP; package app asks it for each
// request.
//
// A token is a name, a role and an expiry. It is shown once, when it is made; kept is its
// SHA-256, which is enough, for it has 130 random bits. Tokens are in a file of the server's
// data folder, mode 0600, which the command line writes, also beside a running server, and
// the server looks at for each request: a token that is added or removed counts at once. An entry
// that cannot be read lets nobody in.
//
// A session is what a browser has in a cookie. It reads and never commands, so that no page
// elsewhere can have a browser command. It ends by itself, with the token that opened it, or
// when its browser signs out. Sessions outlast the server in a second file, of hashes, too.
// A link opens one session, within an hour; links are in memory, and each start has its own.
//
// Moments are arguments; the package reads no clock.
package access
