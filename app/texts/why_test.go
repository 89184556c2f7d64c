package texts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

func assumes(chance float64, lands ...queue.ChangeID) []queue.Assumption {
	var out []queue.Assumption
	for _, id := range lands {
		out = append(out, queue.Assumption{Change: id, Lands: true, Chance: chance})
	}
	return out
}

// TestWhyTexts holds that each kind of build has a sentence of its own, made
// from its data, and that the sentences of older versions are still shown.
func TestWhyTexts(t *testing.T) {
	flip := []queue.Assumption{{Change: "12.aa", Chance: 0.3, Flipped: true}}
	two := []queue.Assumption{{Change: "12.aa", Lands: true, Chance: 0.3, Flipped: true}, {Change: "14.bb", Chance: 0.4, Flipped: true}}
	for want, x := range map[string]queue.Worth{
		"the target branch itself is not proven":                                                              {Kind: queue.WorthMain},
		"last check before it lands, on the commit that lands":                                                {Kind: queue.WorthTrain},
		"on the target branch as it is; nothing is ahead of it":                                               {Kind: queue.WorthAlone},
		"on the likeliest future: none of those ahead lands":                                                  {Kind: queue.WorthLikeliest, Fails: 2},
		"on the likeliest future: #12 lands first":                                                            {Kind: queue.WorthLikeliest, Lands: 1, Assumes: assumes(0.9, "12.aa")},
		"on the likeliest future: #12 and #14 land first, and 1 more probably not":                            {Kind: queue.WorthLikeliest, Lands: 2, Fails: 1, Assumes: assumes(0.9, "12.aa", "14.bb")},
		"on the likeliest future: 40 changes land ahead of it":                                                {Kind: queue.WorthLikeliest, Lands: 40, Assumes: assumes(0.9, "12.aa", "14.bb")},
		"with 5 of the 40 undecided changes ahead: with all of them it would probably fail, and tell nothing": {Kind: queue.WorthSample, Lands: 5, Fails: 35},
		"in case #12 does not land":                                                                           {Kind: queue.WorthFlip, Assumes: flip},
		"in case #12 does not land; this build will probably end before that is known":                        {Kind: queue.WorthLate, Assumes: flip},
		"in case #12 lands and #14 does not land, in a slot that nobody else wants":                           {Kind: queue.WorthSpare, Assumes: two},
		"the target branch under a newer version of the analyzer, in a slot that nobody else wants":           {Kind: queue.WorthUpgrade},
		"what has failed with a change, on the target branch without it":                                      {Kind: queue.WorthControl},
		"the target branch itself, because that was proven long ago, in a slot that nobody else wants":        {Kind: queue.WorthWatch},
		"as one merge of #12 and #14: all of them are good with a chance of 90 %, and so many take about 0.61 builds for each that lands, splits counted; one by one it would be 1.11": {Kind: queue.WorthTogether,
			With: []queue.ChangeID{"12.aa", "14.bb"}, AllGood: 0.9, PerLanding: 0.607, OneByOne: 1.108},
		"as one merge of #12, #14 and #15":                                       {Kind: queue.WorthTogether, With: []queue.ChangeID{"12.aa", "14.bb", "15.cc"}},
		"on the target branch as it is; nothing is ahead of it, for #12 and #14": {Kind: queue.WorthAlone, With: []queue.ChangeID{"12.aa", "14.bb"}},
		"in case another future comes":                                           {Kind: queue.WorthFlip},
		"of tomorrow":                                                            {Kind: "of tomorrow"},
	} {
		for _, local := range []bool{false, true} {
			if got := (texts.Words{Local: local}).Why(x, "not this"); got != want {
				t.Errorf("%+v: %q; want %q", x, got, want)
			}
		}
	}
	if got := (texts.Words{}).Why(queue.Worth{}, "in case 12.aaaaaaaa lands\n\x1b[31m"); got != "in case #12 lands [31m" {
		t.Errorf("an older version's: %q", got)
	}
	title, more := texts.Words{}.Note(queue.Change{}, queue.Note{What: "build-asked", Worth: queue.Worth{Kind: queue.WorthAlone}})
	if title != "Build asked for" || more != "on the target branch as it is; nothing is ahead of it" {
		t.Errorf("%q, %q", title, more)
	}
}

// TestPartTexts holds that each part of a value has words.
func TestPartTexts(t *testing.T) {
	x := queue.Worth{Kind: queue.WorthFlip, Needed: 0.8, Odds: 0.5, Aging: 1.25, Lane: 2, Project: 3}
	var got []string
	for _, p := range x.Parts() {
		got = append(got, texts.Words{}.Part(x, p.Name))
	}
	want := []string{"chance that its results decide it", "odds against the likeliest future", "has waited 0.25 h", "benefit of its lane", "benefit of its project"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v := x.Value(); v < 3-1e-12 || v > 3+1e-12 {
		t.Errorf("value %v", v)
	}
	if got := (texts.Words{}).Part(queue.Worth{Aging: queue.MostAging}, queue.PartAging); got != "has waited 2 h or more" {
		t.Errorf("of the longest wait that counts: %q", got)
	}
	for kind, want := range map[queue.WorthKind]string{queue.WorthMain: "before all others", queue.WorthTrain: "by its place on the train",
		queue.WorthTrial: "by its place on the train", queue.WorthEarly: "chance that it comes to land there",
		queue.WorthProbe: "chance that it fails there, for each that would follow it", queue.WorthTogether: "what all of them are worth"} {
		x := queue.Worth{Kind: kind, Fixed: 1000}
		if got := (texts.Words{}).Part(x, x.Parts()[0].Name); got != want || x.Value() != 1000 {
			t.Errorf("%s: %q", kind, got)
		}
	}
	if got := (texts.Words{}).Covers(queue.Coverage{Asked: 1, Passed: 2, Shared: 3, Left: 4}); got != "1 of 10 targets (2 passed before, 3 in builds of others, 4 unlikely to be needed)" {
		t.Errorf("%q", got)
	}
	if x := (queue.Worth{}); x.Value() != 0 || x.Parts() != nil || (texts.Words{}).Covers(x.Covers) != "" {
		t.Errorf("the zero worth: %v %v", x.Value(), x.Parts())
	}
}

// TestPlannedTexts holds that the numbers of the plan are for pages: a comment
// says the same in words that stay true.
func TestPlannedTexts(t *testing.T) {
	for code, names := range map[queue.ReasonCode][]string{
		queue.ReasonWaitsSlot: {"3", "12"}, queue.ReasonWaitsUnlikely: {"0.21", "0.3"},
	} {
		r := queue.Reason{Code: code, Names: names, Until: textNow}
		page := texts.Reason(r)
		comment := texts.Comment(queue.View{Change: textChange(queue.Pending, queue.Reason{}), Position: 1, Total: 2,
			Ahead: []queue.ChangeID{"12.aa"}, Waits: []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa"), r}}, textOptions())
		for _, n := range names {
			if !strings.Contains(page, n) {
				t.Errorf("%s: the page says %q", code, page)
			}
		}
		if strings.Contains(comment, names[1]+" ") || strings.Contains(comment, names[1]+",") || strings.Count(comment, "\n- ") != 2 {
			t.Errorf("%s: the comment says\n%s", code, comment)
		}
	}
}
