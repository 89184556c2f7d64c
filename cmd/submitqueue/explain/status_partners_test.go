package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// joined are changes that are built or have landed with others.
func joined() []api.Change {
	var many []string
	for n := range 15 {
		many = append(many, fmt.Sprintf("%d.aa", 1200+n))
	}
	pending := api.Change{ID: "42.cc", Number: 42, Branch: "topic", Title: "Title", Author: "ann", Requester: "ann", Phase: "pending", Position: 3, Total: 90,
		Waits: []api.Reason{{Code: "building", Text: "Waits for its builds under way (1).", Short: "builds under way"}}}
	rollup, shares := pending, pending
	rollup.Builds = []api.Build{{ID: "b1d2c3e4f5a6b7c8", Why: "as one merge of #12 and #42", For: append([]string{hostileName}, "42.cc"), Steps: 3, Done: 1, Started: noon(-3)}}
	rollup.Partners = &api.Partners{Rollup: append(many, hostileName), Text: "So it is to land with #1200 and 15 more. " + hostileName}
	shares.Partners = &api.Partners{Shares: []string{"12.aa", "14.bb"}, Text: "It shares a build with #12 and #14. Each has its own verdict."}
	landed := api.Change{ID: "42.cc", Number: 42, Title: "Title", Author: "ann", Requester: "ann", Phase: "landed", Final: true, Decided: noon(-1),
		Verdict:  &api.Verdict{Commit: "abcdef0123456789", Keys: 3, Together: []string{"12.aa"}},
		Partners: &api.Partners{Rollup: []string{"12.aa"}, Text: "It landed together with #12 in one merge; the checks are of that merge."}}
	return []api.Change{rollup, shares, landed}
}

func TestStatusPartnersGolden(t *testing.T) {
	var out strings.Builder
	for _, ch := range joined() {
		fmt.Fprintln(&out, "=== status 42")
		statusSheet(&out, 72).change(ch, nil)
		fmt.Fprintln(&out, "=== status 42 --why")
		statusSheet(&out, 72).why(ch, nil)
	}
	mustBeGolden(t, "status_partners.golden", out.String())
}

// All partners are named at any width, and nothing hostile reaches the terminal.
func TestStatusPartnersFit(t *testing.T) {
	for width := 44; width <= print.MostColumns; width++ {
		for _, ch := range joined() {
			var out strings.Builder
			statusSheet(&out, width).change(ch, nil)
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if over := print.Width(line) > width && !strings.Contains(line, "log: "); over || strings.ContainsAny(line, "\x1b\r\u202E\x07") {
					t.Fatalf("at %d columns: %q", width, line)
				}
			}
			for _, id := range append(ch.Partners.Rollup, ch.Partners.Shares...) {
				if name := (sheet{}).changeName(id); id != hostileName && !strings.Contains(out.String(), name) {
					t.Fatalf("no %s at %d columns:\n%s", name, width, out.String())
				}
			}
		}
	}
}
