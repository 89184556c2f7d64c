package texts_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// A change that could not be analyzed says why, in the comment, and to those
// that it holds up.
func TestUnanalyzedSaysWhy(t *testing.T) {
	why := queue.Reason{Code: queue.ReasonUnanalyzed, Detail: "analysis.command: it did not end within 1m0s: last *words*", Until: textNow.Add(1)}
	v := queue.View{Change: queue.Change{ID: "7.a", Number: 7, Phase: queue.Pending}, Position: 1, Total: 1,
		Waits: []queue.Reason{why, {Code: queue.ReasonWaitsSlot}}, Ahead: []queue.ChangeID{"8.b", "9.c", "10.d"},
		Conflicts: []queue.Conflict{{With: "8.b", Kind: queue.ConflictUnknown}, {With: "9.c", Kind: queue.ConflictTextual, Witnesses: []string{"docs/x"}},
			{With: "10.d", Kind: queue.ConflictDefinition, Witnesses: []string{"def:x"}}}}
	for _, c := range []struct {
		name    string
		unknown []queue.Unknown
		want    []string
	}{
		{"both", []queue.Unknown{{Change: "7.a", Why: why.Detail}, {Change: "8.b", Why: "no go.mod"}}, []string{"- #8: this change could not be analyzed, so it is not known what it touches"}},
		{"the other", []queue.Unknown{{Change: "8.b", Why: "no *go.mod*"}}, []string{"- #8: it could not be analyzed, so it counts as touching everything (`no *go.mod*`)"}},
		{"nobody knows which", nil, []string{"- #8: one could not be analyzed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v.Unknown = c.unknown
			got := texts.Comment(v, texts.Options{Now: textNow})
			for _, want := range append(c.want, "could not be analyzed, so it counts as touching everything, conflicts with every other change and is built as a whole: `analysis.command: it did not end within 1m0s: last *words*`. It is analyzed again by itself.",
				"- #9: both touch `docs/x`, and were not seen to merge", "- #10: both change what shapes the same part of the graph: `def:x`") {
				if !strings.Contains(got, want) {
					t.Errorf("it does not say %q but\n%s", want, got)
				}
			}
		})
	}
	for want, r := range map[string]queue.Reason{
		"It touches a part of the repository that could not be analyzed, so that part counts as one target: every change there conflicts with it, and its steps run on all of it: analyzer web in web/: package.json:3: no name.": {Code: queue.ReasonUnread, Detail: "analyzer web in web/: package.json:3: no name"},
		"#8 could not be analyzed, so it counts as touching everything, conflicts with every other change and is built as a whole: no go.mod.":                                                                                    {Code: queue.ReasonUnanalyzed, Names: []string{"8.b"}, Detail: "no go.mod"},
		"Working out which targets it touches. It is tried again; the last attempt ended with: the object is missing.":                                                                                                            {Code: queue.ReasonAnalyzing, Detail: "the object is missing"},
	} {
		if got := texts.Reason(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhomItDoesNotMergeWith(t *testing.T) {
	c := queue.Change{ID: "7.a", Number: 7, Phase: queue.Rejected, Reason: queue.Reason{Code: queue.ReasonMergeConflict, Names: []string{"x"}},
		Ending: queue.Ending{Verdict: &queue.Verdict{Commit: "abc", Conflicts: []string{"x"}, Against: []queue.ChangeID{"8.b"}}}}
	if got, want := (texts.Words{}).Against(c), "#8 has landed there and touches the same files."; got != want {
		t.Errorf("got %q", got)
	}
	if got := texts.Comment(queue.View{Change: c}, texts.Options{Now: textNow}); !strings.Contains(got, "#8 has landed there and touches the same files.") {
		t.Errorf("the comment does not name it:\n%s", got)
	}
	c.Verdict.Against = nil
	if got := (texts.Words{}).Against(c); got != "" {
		t.Errorf("got %q", got)
	}
}
