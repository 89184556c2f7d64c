package queue

import (
	"regexp"
	"strings"
)

// Facets are what is known of a pull request beside what its change does to the
// target branch. They are for models: nothing else rests on them. Nil, or 0 where a
// comment says so: the forge does not say.
type Facets struct {
	Opened    Instant `json:"opened,omitempty"`    // when it was opened; 0: not known
	Commits   *int    `json:"commits,omitempty"`   // of its own
	Files     *int    `json:"files,omitempty"`     // that these touch
	Added     *int    `json:"added,omitempty"`     // lines
	Removed   *int    `json:"removed,omitempty"`   // lines
	Approvals *int    `json:"approvals,omitempty"` // people with an approving review of exactly its head
	Checks    *Checks `json:"checks,omitempty"`    // that others have set on its head
	Revert    *bool   `json:"revert,omitempty"`    // it says that it takes something back
	Plan      *bool   `json:"plan,omitempty"`      // it says how it was tested

	Attempts int `json:"attempts,omitempty"` // earlier changes of the same pull request that have ended, as the queue has counted them
	Pushes   int `json:"pushes,omitempty"`   // other heads that the queue has heard of before this one
}

// Checks are check runs and statuses on one commit, by how they stand.
type Checks struct {
	Passed  int `json:"passed,omitempty"` // skipped and neutral ones, too
	Failed  int `json:"failed,omitempty"`
	Pending int `json:"pending,omitempty"`
}

var (
	reverts     = regexp.MustCompile(`(?i)^\s*revert(s|ed|ing)?\b`)
	revertsThat = regexp.MustCompile(`(?im)^\s*(this reverts commit [0-9a-f]{7,64}|reverts ([\w.-]+/[\w.-]+)?#\d+)`)
	planned     = regexp.MustCompile(`(?i)^[#*_\s]*(test plan|testing plan|testing( done)?|tests?( done)?|how (was|were|has|have) (this|it|these changes) (been )?tested)[*_\s]*(:|[?]|$)`)
	heading     = regexp.MustCompile(`^(#{1,6}\s|\*\*[^*]+\*\*\s*$)`)
	remark      = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
)

// IsRevert reports whether a title, or a description as forges and git write it, says
// that a pull request takes back what has landed.
func IsRevert(title, body string) bool {
	return reverts.MatchString(title) || revertsThat.MatchString(body)
}

// HasPlan reports whether a description in Markdown has a part about testing that is
// not left empty. HTML comments, as templates have them, do not count.
func HasPlan(body string) bool {
	within := false
	for line := range strings.Lines(remark.ReplaceAllString(body, "")) {
		if at := planned.FindStringIndex(line); at != nil {
			if within = true; strings.TrimSpace(line[at[1]:]) != "" {
				return true
			}
			continue
		}
		if heading.MatchString(line) {
			within = false
		} else if within && strings.TrimSpace(line) != "" {
			return true
		}
	}
	return false
}
