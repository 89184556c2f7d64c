package print

import (
	"strings"
	"testing"
	"time"
)

// A length of time is no number of nanoseconds in a log, be it text or JSON.
func TestLogOfALengthOfTime(t *testing.T) {
	for json, want := range map[bool]string{false: "took=1.5s", true: `"took":"1.5s"`} {
		var out strings.Builder
		Log(&out, json).Info("request", "took", 1500*time.Millisecond)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s, want %s", out.String(), want)
		}
	}
}
