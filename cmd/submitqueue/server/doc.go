// Package server is `submitqueue serve`: it wires the service of package app to
// adapters. It is the only place that names forges, stores and runners by their
// technology; app and the packages below it decide what a queue does.
//
// [Start] makes a running server of [Options], and [Stack.Close] ends it. [Serve]
// makes the options of the command line; the demo and the benches make them
// themselves. The parts:
//
//	serve.go, forges.go   the command line, and the table of forges that it may name
//	stack*.go             Redis, spool, runners, pages and webhooks, and the queues,
//	                      which come and go while the server runs
//	keys.go, named.go,    which repositories are served, and under which keys their
//	discover.go           queues are kept
//	setup.go, lateapp.go  a server that has no GitHub App yet makes one on a page
//	isolate.go, shut.go,  what keeps steps from the server, its addresses, memory
//	secret_*.go, first.go and environment
//	signing.go            the identity in commits, and the key that signs them
//	clock.go, memory.go   the clock and the memory of the process
//
// For `serve --repo acme/shop`: Serve.Run reads the App's credentials, Start opens
// Redis and listens, named.go asks GitHub for the id of acme/shop, keys.go finds
// the key of its queue, and queueSet.add opens the queue's mirror and runs its
// owner.
//
// # How do I add a forge?
//
// One package below forge (its doc says which), and one row of forges here: the name for
// --forge, and a function that fills in [Options]. The function adds a [Queue] of each
// repository, and the forge's Receiver under the name of its webhooks, POST
// /webhook/NAME. The late that the function returns adds repositories that are only
// found once the server runs. For example
//
//	{"gitea", "", func(ctx context.Context, c *Serve, o *Options) (late, error) {
//		f, err := gitea.New(ctx, c.Repo[0])
//		o.Receiver = map[string]forge.Receiver{"gitea": f.Receiver()}
//		o.Queues = []Queue{{Repository: c.Repo[0], Branch: c.Branch, Forge: f}}
//		return late{}, err
//	}}
//
// A predictor for queues is named in stack_queues.go (model), a build system is a row of
// package analyzers, and a store is opened by Start.
package server
