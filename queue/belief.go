package queue

// Belief is what the results of builds have made of the prediction for a
// pending change. It chooses builds; no verdict rests on it.
type Belief struct {
	Change ChangeID             `json:"change"`
	Good   float64              `json:"good"`             // chance that it is green on its own, but for the doubts
	Tested []uint64             `json:"tested,omitempty"` // bits, by place in Footprint.Affected: targets that have passed with it since they last failed
	Pairs  map[ChangeID]float64 `json:"pairs,omitempty"`  // chance that it is red together with another, where results have changed it or the other has landed
	Doubts []Doubt              `json:"doubts,omitempty"` // failures that it may be to blame for
}

// Doubt is one failure that a change, or a pair, may be to blame for. It goes
// when one of the others is turned down, who then explains it.
type Doubt struct {
	Pair   ChangeID   `json:"pair,omitempty"`   // the other of a pair; empty: the change alone
	Chance float64    `json:"chance"`           // that it is to blame
	Before float64    `json:"before,omitempty"` // of a pair: its chance until then
	Others []ChangeID `json:"others,omitempty"` // who may be to blame instead; sorted
}
