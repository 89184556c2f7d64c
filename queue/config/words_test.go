package config

import (
	"strings"
	"testing"
)

// TestSchemaHasWords holds that whatever the schema can refuse is told to people in
// words: a pattern would else be shown as it is, a range with one end, a choice of types
// without a name.
func TestSchemaHasWords(t *testing.T) {
	r := compiled()
	for at, s := range r.at {
		if s.Pattern != nil {
			pattern := s.Pattern.String()
			if strings.Contains(patternWords(pattern), pattern) {
				t.Errorf("%s: %s has no words", at, pattern)
			}
			if duration := pattern == durationPattern || pattern == verifyPattern; duration != (s.Extensions != nil) {
				t.Errorf("%s has the pattern %s and bounds %v", at, pattern, s.Extensions)
			}
		}
		if (s.Minimum == nil) != (s.Maximum == nil) {
			t.Errorf("%s has one bound", at)
		}
		if union(s) && s.Title == "" {
			t.Errorf("%s is a choice of types without a title", at)
		}
	}
	if len(r.at) < 100 {
		t.Errorf("only %d parts", len(r.at))
	}
}
