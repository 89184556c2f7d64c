// Package app is the service: it takes webhooks and commands in, makes the
// turns of the queues it owns, carries out their actions, and shows people
// what is going on.
//
// What happens after a comment says /land, file by file:
//
//	package intake      the webhook's signature is checked; the comment is appended to the queue's inbox
//	owner.go            the owner of the queue reads the inbox
//	turn.go             one turn: speculation.Step folds the event; state and actions are stored in one write
//	perform.go          each action is carried out as its row says (perform_kinds.go)
//	perform_inspect.go  which user said it, what is the pull request? Further files of the kind: may that user say it
//	                    (_permit), what is it on top of (_stack), does it touch protected paths (_protected), how
//	                    would it land (_word), what does the forge require that is not met (_require)?
//	perform_analyze.go  which targets does it affect?
//	perform_resolve.go  the trial merges and their keys; both join others of their kind (group.go)
//	perform_run.go      workers build the keys that have not passed
//	perform_land.go     the chain that the gate let pass is pushed, with a lease on where main was
//	                    (_merge: where the forge merges; _retarget, perform_heads.go: the pull requests and
//	                    branches that go with it)
//	perform_observe.go  main is read, and compared with the proven trees (pushes.go)
//	perform_publish.go  comment and check are rendered from the state (package texts), at a pace (pace.go);
//	                    what has landed is closed and its branch deleted (_finish)
//
// Several kinds share these files: ground.go reads the state. site.go knows where the
// repository and its branch are, and branch.go what else a branch is used for. commits.go
// brings commits into the mirror and makes merges; message.go words their messages.
// passes.go knows what has passed, and translate.go which passes hold under another
// version of an analyzer. judge.go computes the keys of a commit. Each is a small type,
// and holds a lock where it remembers something.
//
// How do I add an action kind? A type in package queue with a name and an event for its
// result; a row in perform_kinds.go; a file perform_NAME.go with what it does. A test
// (perform_kinds_internal_test.go) fails until there is a row and a reason why doing the
// action twice is harmless; then it does the action twice. Package speculation asks for
// it, and folds its result.
//
// The process dies after the state was stored and before a build started: what happens?
// Actions are stored with the state, and carried out after that, at least once. The next
// owner of the queue, which is the same server if it comes back, loads the state (owner.go,
// load) and starts every action that is in it (own). Run hands the build to the workers,
// which begin it, or know its id and let it go on. The same happens if the process dies
// after a result and before the turn that folds the result: results are events of this
// process, lost with it, and made again. An action without a result by its deadline is
// asked for again by Step, under another attempt.
//
// A queue has a key, which never changes, and a name beside it (name.go), which people
// see and type. The server that opens the queue makes the key from the repository's id
// and the branch that the queue began with (keys.go of cmd/submitqueue/server). A
// repository that is renamed is found by its id, whether or not a server saw the
// renaming. A branch has no id: only a server that saw the renaming can note it. It
// notes it in the state under the branch's new name (perform_rename.go, Under); the
// lease of that key keeps a second queue from beginning there meanwhile:
//
//	github:77@trunk    under: github:77@main    which was renamed to trunk
//	github:77@main     branch: trunk, formerly: main, and all else; called acme/store@trunk
//
// A mirror that is damaged is made again under the running server (heal.go): an action that
// meets the damage waits for the new mirror, and begins again. Commits that only the mirror had
// are made again from the state (commits.go).
//
// The caller over HTTP is known before a handler sees the request (http_access.go): an address
// is closed unless Server.open names it, and a command is given in the name of its token.
// Tokens, sessions and links are package access; the pages of the way in are http_signin.go.
//
// Readers neither wait for turns nor hold them up. The loop of turns publishes, behind
// atomic pointers (turn_view.go), a brief with each turn and immutable views of the
// whole queue. It makes a view at least once a second, and more often where that costs
// landing little. Pages and API take the published view (view.go), and a page or an
// answer is made once for each view (shared.go of package api). No code that answers a
// request reaches a core, or the lock that a turn holds while it is being written to
// Redis; walls_view_test.go of cmd/submitqueue checks that:
//
//	/metrics, /readyz                           published; wait for nothing
//	queue, list of changes                      published; what turns have just made, 300 ms at most, then what was published before
//	conflicts and outlook of one change         published while somebody looks; of one that nobody has looked at for
//	                                            5 s, made between two turns: 250 ms at most, then what the list has
//	ledger, what forgetting would do            a copy of the state, made between two turns: 2 s at most; passes and
//	                                            archive from the store: 5 s at most, then 503 in words
//	history, timeline of a change               from the store: 1 s at most, then without
//	commands                                    into the inbox of the store: 5 s at most, then 503 in words
//
// A turn that the store does not take holds none of these up: after 50 ms no request waits
// for the loop, and after 2 s every answer says since when the store is silent.
//
// One server owns a queue at a time, by a lease with a fencing token; all
// servers take webhooks and serve pages. With the store away, deliveries are
// spooled (drain.go of package intake) and turns stop; nothing is forgotten.
package app
