package workflow

import (
	"regexp"
	"strings"
)

// TitleExample is a run-name with which a run names the commit that it has tested.
const TitleExample = `run-name: "CI of ${{ github.sha }}"`

var (
	sha    = regexp.MustCompile(`^[0-9a-f]{40}$`)
	sayers = regexp.MustCompile(`(?i)\$\{\{\s*github\.sha\s*\}\}`)
)

// SaysMerge reports whether runs of the workflow for pull requests have a title that names the
// tested merge, and has no other part that changes.
func (w Workflow) SaysMerge() bool {
	_, _, ok := w.title()
	return ok && w.pulled
}

// CommitIn returns the commit that a run of the workflow has tested, by the run's title; "" if
// the title does not name it, or may have words of other people.
func (w Workflow) CommitIn(title string) string {
	before, after, ok := w.title()
	if !ok {
		return ""
	}
	rest, starts := strings.CutPrefix(title, before)
	commit, ends := strings.CutSuffix(rest, after)
	if !starts || !ends || !sha.MatchString(commit) {
		return ""
	}
	return commit
}

// title returns the text before and after the commit in the workflow's run-name.
func (w Workflow) title() (before, after string, ok bool) {
	name, _ := w.all["run-name"].(string)
	name = strings.TrimSpace(name)
	at := sayers.FindStringIndex(name)
	if w.Err != nil || at == nil {
		return "", "", false
	}
	before, after = name[:at[0]], name[at[1]:]
	return before, after, !strings.Contains(before+after, "${{")
}
