package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// storedBoost is the JSON form of an NGBoost.
type storedBoost struct {
	Dist     Family          `json:"dist"`
	Features int             `json:"features"`
	Mu       float64         `json:"mu"`
	Eta      float64         `json:"eta"`   // log sigma
	Floor    float64         `json:"floor"` // of log sigma
	Stages   [][2]storedTree `json:"stages"`
}

// storedTree is a tree with its nodes in heap order. A feature has 128 added
// if missing values go high; 255 is a node that does not split.
type storedTree struct {
	Feature [7]int     `json:"feature"`
	Cut     [7]float64 `json:"cut"`
	Leaf    [8]float64 `json:"leaf"`
}

// MarshalJSON implements json.Marshaler.
func (m NGBoost) MarshalJSON() ([]byte, error) {
	s := storedBoost{m.family, m.features, m.start[0], m.start[1], m.floor, make([][2]storedTree, len(m.trees))}
	for i := range m.trees {
		for p := range m.trees[i] {
			t, st := &m.trees[i][p], &s.Stages[i][p]
			copy(st.Cut[:], t.cut[1:])
			st.Leaf = t.leaf
			for n, f := range t.feature[1:] {
				st.Feature[n] = int(f)
			}
		}
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler. Text that is no model, or one that predicts
// infinite numbers, is an error, and leaves the model as it was.
func (m *NGBoost) UnmarshalJSON(text []byte) error {
	var s storedBoost
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("predict: no duration model: %w", err)
	}
	if s.Features < 1 || s.Features > maxFeatures {
		return fmt.Errorf("predict: a duration model of %d features", s.Features)
	}
	read := NGBoost{family: s.Dist, features: s.Features, start: [2]float64{s.Mu, s.Eta}, floor: s.Floor}
	reach := [2]float64{math.Abs(s.Mu), max(math.Abs(s.Eta), math.Abs(s.Floor))}
	for i := range s.Stages {
		var stage [2]tree
		for p := range stage {
			st := &s.Stages[i][p]
			if err := st.into(&stage[p], s.Features); err != nil {
				return fmt.Errorf("predict: a duration model's stage %d: %w", i, err)
			}
			most := 0.0
			for _, v := range st.Leaf {
				most = max(most, math.Abs(v))
			}
			reach[p] += most
		}
		read.trees = append(read.trees, stage)
	}
	if !(reach[0] <= maxDuration*maxDuration && reach[1] <= maxDuration*maxDuration && math.Abs(s.Floor) <= 300) {
		return errors.New("predict: a duration model out of all bounds")
	}
	*m = read
	return nil
}

// into sets a tree to its stored form.
func (s *storedTree) into(t *tree, features int) error {
	for n, f := range s.Feature {
		if f != noSplit && (f < 0 || f > noSplit || f&^missingHigh >= features) {
			return fmt.Errorf("a node of feature %d", f)
		}
		t.feature[n+1] = uint8(f)
	}
	copy(t.cut[1:], s.Cut[:])
	t.leaf = s.Leaf
	t.feature[0] = noSplit
	return nil
}
