package demo

import "fmt"

// Result is how a change ended.
type Result string

// The results. Landed is read from git; the others come from the product.
const (
	ResultLanded   Result = "landed"
	ResultBuild    Result = "rejected: build"
	ResultMerge    Result = "rejected: merge conflict"
	ResultOther    Result = "other verdict" // cancelled, nothing to land, command refused
	ResultNone     Result = "no verdict"
	ResultDisputed Result = "disputed" // the product says one thing and git another
)

// WrongOutcome is a change that did not end as it must.
type WrongOutcome struct {
	Branch string `json:"branch"`
	Want   string `json:"want"`
	Got    string `json:"got"`
}

func (w WrongOutcome) String() string {
	return fmt.Sprintf("%s: expected %s, got %s", w.Branch, w.Want, w.Got)
}

// Judge compares results, by branch, with the plan. It goes by the plan only: a branch
// without a result has ResultNone.
func Judge(p *Plan, results map[string]Result) []WrongOutcome {
	landed := map[string]int{} // by pair
	for _, c := range p.Changes {
		if c.Pair != "" && results[c.Branch] == ResultLanded {
			landed[c.Pair]++
		}
	}
	var wrong []WrongOutcome
	for _, c := range p.Changes {
		got := results[c.Branch]
		if got == "" {
			got = ResultNone
		}
		if want := c.judge(got, landed[c.Pair]); want != "" {
			wrong = append(wrong, WrongOutcome{Branch: c.Branch, Want: want, Got: string(got)})
		}
	}
	return wrong
}

// judge returns the outcome that was expected of c, or "" when got is right. landed is
// how many changes of its pair landed, itself included.
func (c Change) judge(got Result, landed int) string {
	right := false
	switch c.Expect {
	case ExpectLand:
		right = got == ResultLanded
	case ExpectBuildFailure:
		right = got == ResultBuild
	case ExpectOneBuilds, ExpectOneMerges:
		loser := ResultBuild
		if c.Expect == ExpectOneMerges {
			loser = ResultMerge
		}
		right = landed == 1 && (got == ResultLanded || got == loser)
		if !right {
			return fmt.Sprintf("exactly one of %s to land and the other to be %s (%d landed)", c.Pair, loser, landed)
		}
	case ExpectVerdict:
		right = got != ResultNone && got != ResultDisputed
	}
	if right {
		return ""
	}
	return string(c.Expect)
}
