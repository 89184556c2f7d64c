package app

import (
	"github.com/submitqueue/submitqueue/queue"
)

// howLanded says by which method a change has landed, where that is not a merge,
// and how the pull request ends.
func (w voice) howLanded(c queue.Change) string {
	if c.Method == "" || c.Verdict == nil {
		return ""
	}
	text := ""
	if c.Method == queue.MethodSquash {
		text = "It landed by squash: all of it in one commit."
	}
	switch {
	case c.Method.Keeps() || w.o.Words.Local:
	case c.Verdict.Along:
		text += " The branch of the pull request was moved to that commit in the same push, so that it is shown as merged; what it was before is " + w.commit(c.Head) + "."
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
