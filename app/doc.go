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
// A queue keeps its name, whatever is renamed. Whose queues have which name, by the
// repository's id, is known to whoever opens them (names.go of cmd/submitqueue/server); which
// queue of a repository a branch is kept in that was renamed, to the state under the
// branch's new name (perform_rename.go, Under). The first must hold where nobody has
// seen the renaming, since the forge finds a repository by its id at any time. A
// branch has no id: only who has seen the renaming can note it, and does so where the
// lease of the other name keeps a second queue from beginning there meanwhile:
//
//	repositories       77: acme/shop, main      though it is acme/store by now
//	acme/shop@trunk    under: acme/shop@main    which was renamed to trunk
//	acme/shop@main     branch: trunk, formerly: main, and all else
//
// A mirror that is damaged is made again under the running server (heal.go): whoever
// meets the damage waits for it, and begins again. What only the mirror had follows from
// the state (perform_remake.go).
//
// Who asks over HTTP is settled before a handler sees the request (http_access.go): an address
// is closed unless Server.open names it, and a command is given in the name of its token.
// Tokens, sessions and links are package access; the pages of the way in are http_signin.go.
//
// Whoever reads neither waits for turns nor holds them up. The loop of turns publishes
// what is shown, behind atomic pointers (turn_view.go): in brief with each turn, and an
// immutable view of the whole queue as often as it costs landing little, at least once a
// second. Pages and API take what is there (view.go), and a page or an answer is made
// once for each view (shared.go of package api). Nothing that answers a request reaches a
// core or the lock that a turn holds while Redis takes it; walls_view_test.go of
// cmd/submitqueue holds that:
//
//	queue, list of changes, /metrics, /readyz   published; wait for nothing
//	conflicts and outlook of one change         published while somebody looks; of one that nobody has looked at for
//	                                            5 s, made between two turns: 250 ms at most, then what the list has
//	ledger, what forgetting would do            a copy of the state, made between two turns: 2 s at most; passes and
//	                                            archive from the store: 5 s at most, then 503 in words
//	history, timeline of a change               from the store: 1 s at most, then without
//	commands                                    into the inbox of the store: 5 s at most, then 503 in words
//
// A turn that the store does not take holds none of these up: after 50 ms nobody waits for
// the loop, and after 2 s everybody is told since when the store is silent.
//
// One server owns a queue at a time, by a lease with a fencing token; all
// servers take webhooks and serve pages. With the store away, deliveries are
// spooled (drain.go of package intake) and turns stop; nothing is forgotten.
package app
