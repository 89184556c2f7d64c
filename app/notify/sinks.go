package notify

import (
	"net/http"
	"time"
)

// sink is one way to tell.
type sink struct {
	name   string // in front of a target's address
	signed bool   // its targets need a secret
	encode encoder
}

// encoder makes the body and the headers of the request that sends a message at a
// moment. It sends nothing: send.go sends, by the same rules for all sinks. The secret
// is nil for a sink that is not signed.
type encoder func(m Message, secret []byte, now time.Time) (body []byte, header http.Header, err error)

// sinks is the table of the ways to tell. Nothing writes to it.
var sinks = []sink{
	{name: "slack", encode: encodeSlack},
	{name: "webhook", signed: true, encode: encodeWebhook},
}
