// Package app is the service: it takes webhooks and commands in, makes the
// turns of the queues it owns, carries out their actions, and shows people
// what is going on.
//
// What happens after a comment says /land, file by file:
//
//	package intake    the webhook's signature is checked; the comment is appended to the queue's inbox
//	owner.go          the owner of the queue reads the inbox
//	turn.go           one turn: speculation.Step folds the event; state and actions are stored in one write
//	perform_forge.go  Inspect: who said it, what is the pull request? The answer is an event
//	perform_stack.go  Inspect, where it does not ask for main: what is it on top of?
//	perform_require.go  Inspect, where the forge asks things of pull requests: which of them are not met?
//	perform_git.go    Analyze: which targets does it affect? Resolve: the trial merges and their keys
//	perform_forge.go  Run: workers build the keys that have not passed
//	perform_git.go    Land: the chain that the gate let pass is pushed, with a lease on where main was
//	perform_forge.go  Publish: comment and check are rendered from the state (package texts)
//
// Actions are carried out after the turn that asks for them has been stored,
// at least once. A process that dies in between finds them in the stored state
// and carries them out again; each kind says in package queue what makes that
// harmless. Results are events of this process: lost with it, made again.
//
// A queue has a key, which never changes, and a name beside it (name.go), which people
// see and type. The key is made of the repository's id and of the branch that the queue
// began with, by whoever opens it (keys.go of cmd/submitqueue/server); a repository that
// is renamed is found by its id at any time, seen or unseen. A branch has no id: only
// who has seen the renaming can note it, to the state under the branch's new name
// (perform_rename.go, Under), where the lease of that key keeps a second queue from
// beginning there meanwhile:
//
//	github:77@trunk    under: github:77@main    which was renamed to trunk
//	github:77@main     branch: trunk, formerly: main, and all else; called acme/store@trunk
//
// A mirror that is damaged is made again under the running server (heal.go): whoever
// meets the damage waits for it, and begins again. What only the mirror had follows from
// the state (perform_remake.go).
//
// Who asks over HTTP is settled before a handler sees the request (http_access.go): an address
// is closed unless Server.open names it, and a command is given in the name of its token.
// Tokens, sessions and links are package access; the pages of the way in are http_signin.go.
//
// Whoever reads does not hold up turns (view.go): each turn publishes what commands need
// to know, and the first reader of a state has the view made that all others share
// (shared.go of package api has its pages and JSON made once, too).
//
// One server owns a queue at a time, by a lease with a fencing token; all
// servers take webhooks and serve pages. With the store away, deliveries are
// spooled (drain.go of package intake) and turns stop; nothing is forgotten.
package app
