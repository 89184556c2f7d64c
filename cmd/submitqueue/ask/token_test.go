package ask

import (
	"testing"
	"time"
)

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"12h": "2026-12-25 00:00 UTC", "90d": "2027-03-24 12:00 UTC", "2027-01-31": "2027-01-31 00:00 UTC", "never": "it is removed",
		"": "", "0d": "", "-1h": "", "d": "", "1x": "", "2026-12-24": "", "99999999999d": "", "soon": ""} {
		got, err := expiry(text, now)
		if (err == nil) != (want != "") || err == nil && until(got) != want {
			t.Errorf("%q: %v %v, want %q", text, got, err, want)
		}
	}
}
