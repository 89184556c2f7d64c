// Package client calls a server's API for the commands that talk to one. [Flags]
// say which server: that of --server, or the one with the address and token that
// [File] keeps in the data folder of this user.
package client
