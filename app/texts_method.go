package app

import (
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// howLanded says by which method a change has landed, where that is not a merge,
// and how the pull request ends.
func (w voice) howLanded(c queue.Change) string {
	if c.Method == "" || c.Verdict == nil {
		return ""
	}
	text := ""
	commit := "that commit"
	switch n := c.Verdict.Commits; {
	case c.Method == queue.MethodSquash:
		text = "It landed by squash: all of it in one commit."
	case n > 1:
		commit = "the last of them"
		text = fmt.Sprintf("It landed by %s, as %d commits. ", c.Method, n)
		if c.Skip {
			text += "Only the last of them was verified, because the configuration says `intermediate: skip`."
		} else {
			text += "Each of them was verified."
		}
	default:
		text = fmt.Sprintf("It landed by %s, as one commit.", c.Method)
	}
	switch {
	case c.Method.Keeps() || w.o.Words.Local:
	case c.Verdict.Along:
		text += " The branch of the pull request was moved to " + commit + " in the same push, so that it is shown as merged; what it was before is " + w.commit(c.Head) + "."
	default:
		text += " The forge cannot show the pull request as merged, because its own commits are not on the target branch; so it is closed, with the label " + w.code(LandedLabel) + "."
	}
	return text
}

// CheckPassedText is the check on the commit that a change landed as, where its
// pull request was moved there.
func CheckPassedText(c queue.Change) (state, title, summary string) {
	return "success", "Landed", "This is the commit on the target branch. It was proven before it was pushed; the comment on the pull request says how."
}
