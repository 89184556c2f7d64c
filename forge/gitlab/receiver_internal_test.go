package gitlab

import (
	"testing"
	"time"
)

func TestTimesOfWebhooks(t *testing.T) {
	want := time.Date(2026, 3, 1, 17, 8, 9, 0, time.UTC)
	for _, stamp := range []string{"2026-03-01 17:08:09 UTC", "2026-03-01T17:08:09Z", "2026-03-01T18:08:09.000+01:00",
		"2026-03-01 19:08:09 +0200", "2026-03-01 17:08:09 +0000"} { // of instances with a zone of their own
		if got := stampOf(stamp); !got.Equal(want) {
			t.Errorf("%s is read as %v", stamp, got)
		}
	}
	for _, stamp := range []string{"", "yesterday", "1772384889", "2026-03-01 17:08:09 CET"} {
		if got := stampOf(stamp); instantOf(got) != 0 {
			t.Errorf("%q is read as %v", stamp, got)
		}
	}
}
