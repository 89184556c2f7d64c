// Package server is `submitqueue serve`: it wires the service of package app to
// adapters. It is the one place that names a forge, a store and runners by their
// technology; what a queue does is decided in app and below.
//
// [Start] makes a running server of [Options], and [Stack.Close] ends it. [Serve]
// makes the options of the command line; the demo and the benches make them
// themselves. The parts:
//
//	stack*.go             Redis, spool, runners, pages and webhooks, and the queues,
//	                      which come and go while the server runs
//	keys.go, named.go,    which repositories are served, and under which keys their
//	discover.go           queues are kept
//	setup.go, lateapp.go  a server that has no GitHub App yet makes one on a page
//	isolate.go, shut.go,  what keeps steps from the server, its addresses, memory
//	secret_*.go, first.go and environment
//	signing.go            who makes commits, and with which key
//	clock.go, memory.go   the clock and the memory of the process
//
// For `serve --repo acme/shop`: Serve.Run reads the App's credentials, Start opens
// Redis and listens, named.go asks GitHub for the id of acme/shop, keys.go finds
// the key of its queue, and queueSet.add opens the queue's mirror and runs its
// owner.
//
// How do I add a forge? A value of Serve.Forge, and beside Serve.local a function
// that makes a Queue of a repository there. A store? Start is where Redis is opened.
// A build system is a row of package analyzers.
package server
