// Package api is the JSON API: its types, which the command line also reads, and its
// handlers. Queues and changes are named in the query, because their names contain
// slashes; `queue` may be left out where there is one queue, and `id` is a change's id
// or a pull request's number.
//
//	GET  /api/queues                       []QueueSummary
//	GET  /api/queue?queue=&full=           Queue, in short unless full=1 (short.go); ETag
//	GET  /api/changes?queue=&phase=        []Change, in order, then verdicts
//	GET  /api/change?queue=&id=            Change
//	GET  /api/history?queue=&id=&max=      []Note, newest first
//	GET  /api/blame?queue=                 Blame
//	GET  /api/log?build=&after=            Log
//	GET  /api/ledger?queue=&what=&max=     Ledger: what is known of a key, a target or a change
//	GET  /api/forget?queue=&what=          Forget: what forgetting would do
//	GET  /api/rows?queue=&place=&max=      Rows: of the event archive, oldest first (package queue/history)
//	GET  /api/models?queue=                Models: what the queue has learned of its past, and how good that is
//	GET  /api/flakes?queue=                Flakes: which targets pass what they have failed, and what that costs
//	GET  /api/model?queue=&version=        one of them, as submitqueue train writes it
//	POST /api/land                         LandCommand -> Accepted
//	POST /api/cancel                       CancelCommand -> Accepted
//	POST /api/try                          OrderCommand -> Accepted
//	POST /api/explain                      OrderCommand -> Accepted; the answer is Change.answer
//	POST /api/now                          OrderCommand -> Accepted
//	POST /api/delegate                     OrderCommand -> Accepted
//	POST /api/undelegate                   OrderCommand -> Accepted
//	POST /api/freeze                       FreezeCommand -> Accepted
//	POST /api/pause                        PauseCommand -> Accepted
//	POST /api/resume                       ResumeCommand -> Accepted
//	POST /api/forget                       ForgetCommand -> Accepted
//	POST /api/model                        ModelCommand -> Accepted
//	POST /api/rows                         RowsCommand -> RowsKept
//
// Anything but success is an Error.
//
// Options hold the needs of the package: a Source, which shows immutable views and
// takes commands, and a function that names the owner of a request's token. Words are
// of package texts; times and names are shown as the state has them. Answers that are
// the same for all callers are made once for each version of a queue (shared.go).
//
// To add an address: its types and its handler in one file, and its line in
// Handlers.Register.
package api
