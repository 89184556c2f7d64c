package queue

// Belief is what the results of builds have made of the prediction for a
// pending change. It chooses builds; no verdict rests on it.
type Belief struct {
	Change ChangeID             `json:"change"`
	Good   float64              `json:"good"`             // chance that it is green on its own
	Tested []uint64             `json:"tested,omitempty"` // bits, by place in Footprint.Affected: targets that have passed with it
	Pairs  map[ChangeID]float64 `json:"pairs,omitempty"`  // chance that it is red together with another, where results have changed it or the other has landed
}
