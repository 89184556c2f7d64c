package explain

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// A pass is shown with the host that it was on, and with the latest pass of the same
// key after it.
func TestLedgerShowsRenewals(t *testing.T) {
	k := api.Key{ID: "0123456789abcdef", Step: "unit", Target: "api", Hash: "feed", State: "passed", Passed: noon(-90), Build: "b1", Host: "m1"}
	for _, again := range []bool{false, true} {
		if again {
			k.Confirmed = noon(-3)
		}
		var out strings.Builder
		statusSheet(&out, print.MostColumns).ledgerKey(k, "")
		got := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(got, "in build b1 of main on m1") || again != strings.Contains(got, "and again 3 min ago (") {
			t.Errorf("renewed %t: %s", again, got)
		}
	}
}
