package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

func sampleReport() *Report {
	plan := &Plan{Branch: "main", Base: Files{}, Check: GoCheck(), Changes: []Change{
		{Branch: "slow", Title: "a large one", Kind: KindSlow, Expect: ExpectLand},
		{Branch: "small", Title: "a small \x1b[2Jone", Kind: KindGood, Expect: ExpectLand},
		{Branch: "bad", Title: "a bad one", Kind: KindFailing, Expect: ExpectBuildFailure},
		{Branch: "late", Title: "a late one", Kind: KindGood, Expect: ExpectLand},
	}}
	r := &Report{
		Plan: plan, Stats: Stats{Builds: 7, Main: 1}, Took: 12340 * time.Millisecond,
		Turnarounds: []time.Duration{9 * time.Second, time.Second, 2 * time.Second, 3 * time.Second},
		Line:        &Line{Commits: []Commit{{ID: "c0"}, {ID: "c1", Head: "h2"}, {ID: "c2", Head: "h1"}, {ID: "c3", Head: "h4"}}},
		Checked:     4, VerifyTook: 5 * time.Second, Memory: 61_440_000,
		Rows: []Row{
			{Number: 1, Phase: queue.Landed, Keys: 13, Reused: 6},
			{Number: 2, Phase: queue.Landed, Keys: 1, Bypassed: 1},
			{Number: 3, Phase: queue.Rejected, Reason: queue.ReasonFailed, Detail: "Push a fix, then land again.", Failure: "step test failed on ./notify: notify.go:3: \x1b[31mno"},
			{Number: 4, Phase: queue.Landed, Keys: 2},
		},
	}
	for i, c := range plan.Changes {
		r.Pulls = append(r.Pulls, Pull{Number: i + 1, Head: []string{"h1", "h2", "h3", "h4"}[i], Change: c})
	}
	return r
}

func TestReport(t *testing.T) {
	var b strings.Builder
	write := func(name string, r *Report) {
		b.WriteString("== " + name + "\n")
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	write("right", sampleReport())

	r := sampleReport()
	r.Red = []RedCommit{{Commit: r.Line.Commits[2], Tail: "--- FAIL: TestA\nFAIL"}}
	r.Line.Commits[3].Head = "unknown"
	r.Rows[2].Phase, r.Rows[2].Detail = queue.Parked, "no runner fits"
	write("wrong", r)

	r = sampleReport()
	r.Plan.Base, r.Plan.Check, r.Checked = nil, Check{Note: "step test must be told its targets"}, 0
	r.Memory, r.Rows[1].Bypassed, r.Rows[0].Keys = 0, 0, 0
	r.Rows[2].Failure = ""
	for i := range r.Pulls {
		r.Pulls[i].Change.Kind = KindOwn
	}
	write("own", r)

	r = sampleReport()
	r.Width = 60
	write("60 columns", r)
	golden(t, "report.txt", b.String())
}

func TestFigures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	if err := sampleReport().Figures().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "figures.json", string(data))

	r := sampleReport()
	r.Checked, r.Plan.Check = 0, Check{}
	if f := r.Figures(); f.Green {
		t.Error("green, though nothing was checked")
	}
	if p := percentiles(nil); p != (Percentiles{}) {
		t.Errorf("of nothing: %+v", p)
	}
}

func TestWrap(t *testing.T) {
	text := "\n  #1    " + strings.Repeat("word ", 30) + "\n        " + strings.Repeat("日本 ", 30) + "\nName               " + strings.Repeat("x", 200) + " y\n"
	if got := wrap(text, 0); got != text {
		t.Errorf("without a width: %q", got)
	}
	for width := 57; width < 250; width++ {
		got := wrap(text, width)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
			t.Fatalf("%d: lost words: %q", width, got)
		}
		for line := range strings.Lines(got) {
			if print.Width(strings.TrimSpace(line)) >= width && !strings.Contains(line, "xxx") {
				t.Fatalf("%d: %q", width, line)
			}
		}
	}
}
