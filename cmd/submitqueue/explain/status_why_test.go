package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

const hostileName = "\x1b[2J//evil\r\n\u202Egnp.exe"

// explained is a change with one of everything that there is to say of it.
func explained() (api.Change, []api.Note) {
	worth := &api.Worth{Kind: "flip", Value: 1.03, Threshold: 0.3, Rank: 2, Rivals: 7, Running: 3, Slots: 8, Lands: 2, Fails: 3,
		Parts: []api.Part{{Name: "needed", Factor: 0.8213, Text: "chance that its results decide it"}, {Name: "odds", Factor: 0.5, Text: "odds against the likeliest future"},
			{Name: "aging", Factor: 1.25, Text: "has waited 0.25 h"}, {Name: "lane", Factor: 2, Text: "benefit of its lane"}},
		Assumes:  []api.Assumption{{Change: "12.aa", Chance: 0.33, Flipped: true}, {Change: "14.bb", Lands: true, Chance: 0.9997}},
		Least:    []api.Need{{Target: hostileName, Chance: 0.31}, {Target: "//web", Chance: 0.62}},
		Coverage: "5 of 20 targets (12 passed before, 2 in builds of others, 1 unlikely to be needed)"}
	ch := api.Change{ID: "42.cc", Number: 42, Branch: "topic", Title: "\x1b]0;evil\x07Title", Phase: "pending",
		Waits: []api.Reason{{Code: "ahead", Text: "Waits for #12 and #14 ahead of it, which may influence it.", Short: "waits for #12 and #14 ahead"},
			{Code: "early", Text: "Its next build is postponed until #12 is nearly decided; a result now might be wasted.", Until: noon(25)}},
		Next:   &api.Next{Value: 0.21, Threshold: 0.3, Place: 3, Rivals: 12, Least: 0.5},
		Builds: []api.Build{{ID: "b1d2c3e4f5a6b7c8", Why: "in case #12 does not land", Worth: worth}, {ID: "01", Why: "of an older version"}},
		Outlook: &api.Outlook{Chance: 0.913, Arrived: 0.95, Good: 0.9991, Tested: 3, Targets: 8,
			Ahead:  []api.Rival{{Change: "12.aa", Chance: 0.67, Ends: noon(31), Red: 0.04}, {Change: "14.bb", Chance: 0.9997}},
			Pairs:  []api.Pair{{With: "12.aa", Chance: 0.04}, {With: "9.zz", Chance: 0.006, Landed: true}},
			Doubts: []api.Suspect{{Chance: 0.31, Others: []string{"12.aa"}}, {Pair: "14.bb", Chance: 0.12}},
			Trust:  api.Trust{Accuracy: 0.947, Threshold: 0.278, Single: 0.373}}}
	notes := []api.Note{{At: noon(-2), What: "build-asked", Build: "b1d2c3e4f5a6b7c8", Text: "live"},
		{At: noon(-20), What: "build-asked", Build: "c1d2c3e4f5a6b7c8", Title: "Build asked for", Text: "on the likeliest future: #12 lands first", Worth: worth},
		{At: noon(-30), What: "entered", Title: "Asked to land"}}
	return ch, notes
}

func TestStatusWhyGolden(t *testing.T) {
	ch, notes := explained()
	var out strings.Builder
	statusSheet(&out, 60).why(ch, notes)
	mustBeGolden(t, "status_why.golden", out.String())
}

// No line is wider than the terminal, and nothing hostile reaches it.
func TestStatusWhyFits(t *testing.T) {
	for width := 44; width <= print.MostColumns; width++ {
		ch, notes := explained()
		var out strings.Builder
		statusSheet(&out, width).why(ch, notes)
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if print.Width(line) > width || strings.ContainsAny(line, "\x1b\r\u202E\x07") {
				t.Fatalf("at %d columns: %q", width, line)
			}
		}
	}
}

func TestStatusWhyOfNothing(t *testing.T) {
	for _, ch := range []api.Change{{Number: 9}, {ID: "9.aa", Number: 9, Phase: "analyzing"}, {ID: "9.aa", Number: 9, Phase: "landed", Final: true}} {
		var out strings.Builder
		statusSheet(&out, 60).why(ch, []api.Note{{What: "build-asked", At: time.Time{}}})
		if !strings.HasPrefix(out.String(), "#9") {
			t.Errorf("%q", out.String())
		}
	}
	if err := (&Status{Why: true}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "NUMBER") {
		t.Errorf("without a number: %v", err)
	}
}
