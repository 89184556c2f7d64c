// Package client calls a server's API for the commands that talk to one. [Flags]
// say which server: that of --server, or the one whose address and token [File]
// keeps in the data folder of this user.
package client
