// Package notify tells people, beside the pull requests, what happens to a queue:
// verdicts, a red target branch, a pause. It follows the history of the queue, which a
// turn stores with its decisions, and sends a message for each note that a target
// wants. It decides nothing, and no turn waits for it.
//
//	submitqueue serve --notify 'slack=https://hooks.slack.com/services/T0/B0/x#kinds=red,green'
//	submitqueue serve --notify webhook=@/etc/submitqueue/hook
//
// A target is SINK=ADDRESS#OPTIONS, or SINK=@FILE with ADDRESS#OPTIONS in the file. The
// address is a secret, and so is the whole target. Do not put it where others can read
// it (a command line). Put it into a file or the environment (SUBMITQUEUE_NOTIFY, with
// spaces between targets). Options come after a #, because no client sends the part of
// an address after it, with & between them, and %26 for an & in a value:
//
//	kinds=red,green    what is told: names of kinds, or all; default: the usual kinds
//	queue=acme/shop    of which queues: names, or names of repositories; default: all
//	secret=SECRET      of a webhook, 16 characters or more: what signs its messages
//
// # What is told
//
// A kind (kinds.go) has a name and says which notes belong to it. Its words are those
// of the history (package texts).
//
//	landed, rejected, cancelled, nothing-to-land   verdicts
//	parked      out of the order without a verdict, for no fault of its own
//	waiting     parked until it has what is asked of it: reviews, checks, its parent
//	red, green  the target branch has turned red; what was red is over
//	paused, frozen, resumed                        landings
//	refused     the forge has refused a push
//	benched     a host gets no more builds
//
// The usual kinds are rejected, parked, red, green and paused.
//
// # The webhook
//
// A POST of one JSON object, [Message]. For example:
//
//	POST /hook HTTP/1.1
//	Content-Type: application/json
//	X-SubmitQueue-Timestamp: 1764010800
//	X-SubmitQueue-Signature-256: sha256=7d4b0c…
//
//	{"version":1,"id":"acme/shop@main 1764010799120-0","queue":"acme/shop@main",
//	 "kind":"rejected","at":"2025-11-24T19:00:00Z",
//	 "text":"#12 Fix the cart, by ann. Rejected: failed in unit",
//	 "url":"https://queue.example.com/change?queue=acme%2Fshop%40main&id=12.1f8e0c3a",
//	 "change":{"number":12,"title":"Fix the cart","author":"ann","url":"https://github.com/acme/shop/pull/12"},
//	 "reason":"failed"}
//
// To verify it: take the header X-SubmitQueue-Timestamp, a dot and the body as it came,
// make their HMAC-SHA256 with the secret, and compare "sha256=" and its hexadecimal
// digits with the header X-SubmitQueue-Signature-256, in constant time. Refuse a
// timestamp (Unix seconds) that is more than five minutes old: somebody may be sending
// an overheard message again. In a shell:
//
//	printf '%s.%s' "$timestamp" "$body" | openssl dgst -sha256 -hmac "$secret"
//
// Text, title and author may quote text that anybody has written.
//
// # What is sent, and how often
//
// The server that owns the queue sends. Each target has a place in the history that the store
// keeps ([queue.Feed]); it moves on once the receiver has answered with 2xx, so a message is
// sent at least once, also across a crash. A message is sent twice, with the same id, where
// the server could not keep the place after it had sent the message: it died, lost the queue
// or could not reach the store. A new target is told only of later notes, and so is a target
// after a change of its address.
//
// A receiver has 10 seconds to answer. Where it does not answer, or says 408, 425, 429
// or 5xx, the message is sent again. The pauses are 1, 2, 4 and at last 300 seconds (or
// as Retry-After says, up to that). After 20 tries, in about an hour, the message is
// dropped, and the log and the metric submitqueue_notifications_total say so. Any other
// answer is a refusal: the message is not sent again. Redirects are not followed. While
// more than 20 messages wait for a target, all but the newest 10 become one message of
// the kind more, which counts them. Targets do not wait for one another.
//
// # How do I add a notification?
//
// A kind: one row in kinds.go. Package speculation writes the notes, and notes.go of
// package texts has the words. A way to tell: a file with a function that encodes a
// Message, and its row in sinks.go.
package notify
