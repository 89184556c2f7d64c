package config_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/config"
)

// TestRetriedFor holds that any text is judged, and lines of the runner's own are not.
func TestRetriedFor(t *testing.T) {
	s := config.Step{RetryOn: []string{"(", "^no route$", "(?i)TLS handshake"}}
	for tail, want := range map[string]string{
		"":                                     "",
		"a\nno route\nb":                       "^no route$",
		"there is no route":                    "",
		"net/http: tls Handshake timeout":      "(?i)TLS handshake",
		"[submitqueue] step: TLS handshake\nx": "",
	} {
		if got := s.RetriedFor(tail); got != want {
			t.Errorf("%q: %q, want %q", tail, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := config.Step{RetryOn: rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "patterns")}
		if got := s.RetriedFor(rapid.String().Draw(t, "tail")); got == "" && len(s.RetryOn) == 0 {
			return
		}
		if s.RetriedFor("") != "" {
			t.Fatalf("%q match nothing at all", s.RetryOn)
		}
	})
}
