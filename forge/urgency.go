package forge

import "context"

// Urgency is how soon something should be written to a forge that allows only so many
// writes per minute. The more urgent write goes first; among equals, the one that came
// first.
type Urgency int

// The urgencies. The zero value is the usual one.
const (
	Patiently Urgency = iota - 1 // progress only, which the next message will tell as well
	Usually                      // what somebody may wait for
	Urgently                     // a verdict
)

type urgencyKey struct{}

// WithUrgency returns a context for requests with an urgency.
func WithUrgency(ctx context.Context, u Urgency) context.Context {
	return context.WithValue(ctx, urgencyKey{}, u)
}

// UrgencyOf returns the urgency of requests under a context.
func UrgencyOf(ctx context.Context) Urgency {
	u, _ := ctx.Value(urgencyKey{}).(Urgency)
	return u
}
