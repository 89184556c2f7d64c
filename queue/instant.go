package queue

import "time"

// Instant is a moment in milliseconds since 1970 UTC. It is a number, not a
// time.Time, so that a state is equal to itself after a round trip through JSON.
// The zero Instant means "never" or "not yet".
type Instant int64

// At returns the Instant of t, rounded down to the millisecond.
func At(t time.Time) Instant { return Instant(t.UnixMilli()) }

// Time returns the moment as a UTC time.Time.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)).UTC() }

// Add returns the moment d later; d is rounded down to the millisecond.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d/time.Millisecond) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i-j) * time.Millisecond }

// Earliest returns the smaller of two moments, where zero means "never".
func Earliest(a, b Instant) Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
