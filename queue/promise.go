package queue

import "time"

// Promises are the forecasts that were made of a pending change, from time to time while it
// waits. They are kept until its verdict tells how good they were; no verdict rests on them.
type Promises struct {
	Change ChangeID  `json:"change"`
	Given  []Promise `json:"given"` // the oldest first, a few
}

// Promise is one forecast of the time until a verdict.
type Promise struct {
	At     Instant       `json:"at"`
	Median time.Duration `json:"median"`         // from At on
	Group  int           `json:"group"`          // of forecasts that are wrong in like ways: its place in Learned.Reach
	Late   bool          `json:"late,omitempty"` // it was counted as too short before there was a verdict
}

// Reach is how far actual times until verdicts lie from the forecasts of one group.
type Reach struct {
	Off   []int   `json:"off"`             // of the latest, the logarithm of actual to forecast in hundredths; the oldest first
	Stood []int   `json:"stood"`           // how long each of these forecasts stood until the next one, in seconds
	Below float64 `json:"below,omitempty"` // at which share of Off an interval begins, so that one verdict in ten comes before it
	Above float64 `json:"above,omitempty"` // at which it ends, so that one in ten comes after it
	Took  float64 `json:"took"`            // mean logarithm of the actual times, in seconds
	N     float64 `json:"n"`               // forecasts that Took is of, up to a bound
}
