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
	Lead   []float64     `json:"lead,omitempty"` // what it rests on (predict.Lead)
}

// Foresight is how far actual times until verdicts lay from forecasts (predict.Foresight).
type Foresight struct {
	N     float64   `json:"n"`     // forecasts, the older the less
	Stood float64   `json:"stood"` // how long these stood until the next one, in seconds
	Sums  []float64 `json:"sums"`  // of products of what they rest on, and of these with the error of the plain forecast
	Off   []float64 `json:"off"`   // by the error, the logarithm of actual to forecast: how long such forecasts stood, in seconds
}
