package queue

// Belief is what the results of builds have made of the prediction for a
// pending change. It chooses builds; no verdict rests on it.
type Belief struct {
	Change ChangeID              `json:"change"`
	Good   float64               `json:"good"`             // chance that it is green on its own, but for the doubts
	Tested []uint64              `json:"tested,omitempty"` // bits, by place in Footprint.Affected: targets that have passed with it since they last failed
	Pairs  map[ChangeID]float64  `json:"pairs,omitempty"`  // chance that it is red together with another, where results have changed it or the other has landed
	Met    map[ChangeID][]uint64 `json:"met,omitempty"`    // of such pairs, bits as in Tested: targets that have passed with both
	Doubts []Doubt               `json:"doubts,omitempty"` // failures that it may be to blame for
}

// Doubt is one failure for which a change, or a pair, may be to blame. It ends when one of the
// others is turned down, which then explains the failure. It also ends when the failed key
// passes with the change, or with both of the pair: then the others are more to blame.
type Doubt struct {
	Pair   ChangeID   `json:"pair,omitempty"`   // the other of a pair; empty: the change alone
	Chance float64    `json:"chance"`           // that it is to blame
	Weight float64    `json:"weight"`           // the same, before the failure
	Event  string     `json:"event"`            // names the failure
	Places []int      `json:"places,omitempty"` // in Footprint.Affected of the change: some targets that failed
	Others []ChangeID `json:"others,omitempty"` // the changes that may be to blame instead; sorted
}
