package cargo_test

import (
	"strings"
	"testing"
)

// replace fails the test where there is nothing to replace.
func replace(t testing.TB, s, old, new string) string {
	t.Helper()
	if !strings.Contains(s, old) {
		t.Fatalf("%q is not in %q", old, s)
	}
	return strings.Replace(s, old, new, 1)
}
