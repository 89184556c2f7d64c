package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

func statusSheet(out *strings.Builder, width int) sheet {
	return sheet{Sheet: print.Sheet{Out: out, Width: width, Now: time.Date(2026, 3, 9, 12, 0, 0, 0, time.FixedZone("CET", 3600))},
		base: "http://127.0.0.1:8080"}
}

func noon(minutes int) time.Time {
	return time.Date(2026, 3, 9, 11, minutes, 0, 0, time.UTC)
}

// rejectedChange is one as the API shows it.
func rejectedChange() api.Change {
	return api.Change{ID: "2.aaaaaaaa", Number: 2, Title: "Round prices half to even", Branch: "fix-rounding", Author: "ann", Requester: "bob", Lane: "high",
		Head: "1f8e0c3a5b7d9e11223344556677889900aabbcc", Phase: "rejected", Final: true, Arrived: noon(-90), Decided: noon(-3),
		Reason: &api.Reason{Code: "failed", Short: "failed in unit", Text: "unit failed with this commit merged onto the target branch. Push a fix, then run submitqueue land fix-rounding again.", Doc: "/docs/reasons#failed"},
		Verdict: &api.Verdict{Failures: []api.Evidence{{Step: "unit", Build: "b1d2", Log: "/log?build=b1d2",
			Text: "unit failed in each of 2 builds", Tail: "one\n\x1b[31mtwo\n"}}}}
}

func statusQueue() api.Queue {
	pending := func(n int, branch, title string) api.Change {
		return api.Change{ID: fmt.Sprintf("%d.x", n), Number: n, Branch: branch, Title: title, Phase: "pending", Forecast: "in 2 to 5 min",
			Waits: []api.Reason{{Short: "waits for #12 and 14 more ahead", Text: strings.Repeat("a long advice ", 40)}}}
	}
	building := pending(3, "add-b", "Add b")
	building.Builds = []api.Build{{ID: "b"}}
	building.Waits[0].Short, building.Forecast = "builds under way", "longer than the usual 3 min"
	return api.Queue{QueueSummary: api.QueueSummary{Name: "shop@main", Tip: "0123456789abcdef", Slots: 2, Running: 1, Proven: true}, Configured: true,
		Order: []api.Change{building, pending(4, "検索結果の並び順を修正し、関連度の高い商品を先に表示する", strings.Repeat("wide 表示する ", 20)),
			pending(12345, "\x1b]0;evil\x07\u202Egnp.exe", "\x1b[2J\r\nhostile\u2028line"+strings.Repeat("x", 300))},
		Recent: []api.Change{rejectedChange(), {Number: 1, Branch: "first", Phase: "landed", Title: "The first", Decided: noon(-3),
			Verdict: &api.Verdict{Commit: "abcdef0123456789"}}}}
}

// One line a change, and none wider than the terminal.
func TestStatusFits(t *testing.T) {
	q := statusQueue()
	q.ConfigError = strings.Repeat(".submitqueue.yml:1:1: wrong ", 12)
	for width := 50; width <= print.MostColumns; width++ {
		var out strings.Builder
		statusSheet(&out, width).queue(q)
		rows := 0
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if print.Width(line) > width {
				t.Fatalf("%d columns, not %d: %q", print.Width(line), width, line)
			}
			if strings.HasPrefix(line, "#") {
				rows++
			}
			if strings.ContainsAny(line, "\x1b\r\u202E\u2028") || strings.Contains(line, "a long advice") {
				t.Fatalf("%q", line)
			}
		}
		if rows != 5 {
			t.Fatalf("%d rows of 5 changes at %d columns:\n%s", rows, width, out.String())
		}
		for _, want := range []string{"add-b", "fix-", "rejected", "failed"} {
			if !strings.Contains(out.String(), want) {
				t.Fatalf("no %q at %d columns:\n%s", want, width, out.String())
			}
		}
	}
}

// It says how far a newer version of the analyzer is proven, whole and in the
// width, and nothing where none is.
func TestStatusSaysWhatIsUpgraded(t *testing.T) {
	const text = "Analyzer go/2 is being proven in spare slots: 120 of 900 keys; go/1 decides until then"
	q := statusQueue()
	for _, u := range []*api.Upgrade{nil, {From: "go/1", To: "go/2", Proven: 120, Total: 900, Text: text}} {
		q.Upgrade = u
		var out strings.Builder
		statusSheet(&out, 50).queue(q)
		if got := strings.Contains(strings.Join(strings.Fields(out.String()), " "), text); got != (u != nil) {
			t.Errorf("upgrade %+v: said %t:\n%s", u, got, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if print.Width(strings.TrimSuffix(line, "\n")) > 50 {
				t.Errorf("too wide: %q", line)
			}
		}
	}
}

// It names the hosts that are benched, and no others.
func TestStatusNamesBenchedHosts(t *testing.T) {
	q := statusQueue()
	q.Hosts = []api.Host{{Name: "m1", Slots: 2}, {Name: "m2", Slots: 2, Benched: true, Text: "m2\x1b is benched since 10:00 UTC"}}
	var out strings.Builder
	statusSheet(&out, 50).queue(q)
	if got := out.String(); !strings.Contains(got, "is benched since 10:00 UTC.\n") || strings.Contains(got, "m1") || strings.Contains(got, "\x1b") {
		t.Error(got)
	}
}

func TestStatusGolden(t *testing.T) {
	var out strings.Builder
	statusSheet(&out, print.MostColumns).queue(statusQueue())
	fmt.Fprintln(&out, "\n=== status 2")
	statusSheet(&out, print.MostColumns).change(rejectedChange(), []api.Note{ // the newest first, as the API has them
		{At: noon(-3), What: "rejected", Title: "Rejected", Text: "failed in unit"},
		{At: noon(-3), What: "step-failed", Title: "Step unit failed", Build: "b1d2", Log: "/log?build=b1d2"},
		{At: noon(-80).Add(-12 * time.Hour), What: "entered", Title: "Asked to land"},
	})
	fmt.Fprintln(&out, "\n=== status 9")
	statusSheet(&out, print.MostColumns).change(api.Change{Number: 9, Notice: &api.Reason{Text: "The target branch has no configuration that can be used."}}, nil)
	mustBeGolden(t, "status.golden", out.String())
}

// mustBeGolden compares what a status prints with a file of testdata.
func mustBeGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_STATUS") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got; UPDATE_STATUS=1 writes it):\n%s", d)
	}
}
