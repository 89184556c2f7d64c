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

// Changes are written as their forge writes them, also those that a sheet only mentions.
func TestNumbersOfTheForge(t *testing.T) {
	for mark, want := range map[string]string{"": "#12", "!": "!12"} {
		var out strings.Builder
		s := statusSheet(&out, print.MostColumns)
		s.ledger("api", api.Ledger{Kind: "target", Mark: mark, Keys: []api.Key{{ID: "0123456789abcdef", Step: "unit", Target: "api", Change: "12.aabbccdd", State: "passed", Passed: noon(-9), Build: "b1"}}})
		s.forgetting(api.Forget{Mark: mark, What: "api", Passes: 1, Changes: []string{"12.aabbccdd"}}, false)
		ch := api.Change{ID: "7.aabbccdd", Number: 7, Parent: 12, Phase: "queued"}
		if mark != "" {
			ch.Name = mark + "7"
		}
		s.change(ch, nil)
		if got := strings.Count(out.String(), want); got != 3 || strings.Count(out.String(), want[:1]+"7") == 0 {
			t.Errorf("%s stands there %d times:\n%s", want, got, out.String())
		}
	}
}
