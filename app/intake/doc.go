// Package intake takes in webhooks: it checks a delivery's signature, has the forge's
// adapter read it, and puts its events into the inboxes of the repository's queues before
// it answers. Nothing is decided here.
//
//	intake.go  the handler: from a request to an answer
//	body.go    bodies are read with a bounded memory for all deliveries together
//	access.go  which queues a delivery is for, also where its repository was renamed
//	drain.go   with the store away, deliveries wait in a spool and are moved to inboxes later
//
// An example: a comment "/land" on pull request 7 of acme/store, which has the queues
// acme/store@main and acme/store@release. Both inboxes get the event queue.Commented under
// the delivery's id, so that a delivery made again is dropped there; the answer is 202.
package intake
