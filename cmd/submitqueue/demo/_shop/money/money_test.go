package money

import "testing"

func TestString(t *testing.T) {
	for a, want := range map[Amount]string{0: "0.00", 5: "0.05", 1234: "12.34", -1: "-0.01", Euros(7): "7.00"} {
		if got := a.String(); got != want {
			t.Errorf("String(%d) = %q, want %q", int64(a), got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]Amount{"12": 1200, "12.5": 1250, "-12.34": -1234, "0.07": 7} {
		if got, err := Parse(s); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "x", "1.234", "--1", ".5"} {
		if got, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", s, got)
		}
	}
}

func TestPercent(t *testing.T) {
	if got := Amount(999).Percent(19); got != 190 {
		t.Errorf("19%% of 9.99 = %v, want 1.90", got)
	}
	if got := Amount(-999).Percent(19); got != -190 {
		t.Errorf("19%% of -9.99 = %v, want -1.90", got)
	}
}
