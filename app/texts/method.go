package texts

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// howLanded says by which method a change has landed, where that is not a merge, and
// how the pull request ends, where people may not expect that.
func (w voice) howLanded(c queue.Change) string {
	if c.Verdict == nil {
		return ""
	}
	return strings.TrimSpace(w.asWhat(c) + w.ends(c))
}

// reconcile says what to do with a branch that does not merge. A merge does not help a
// change that lands commit by commit.
func (w voice) reconcile() string {
	if w.method.ByCommit() || w.method.Replays() {
		return "Rebase it on " + w.main()
	}
	return "Merge " + w.main() + " into yours"
}

// put says how a change was put on the target branch.
func (w voice) put(m config.Method) string {
	switch m {
	case config.MethodSquash:
		return "squashed onto " + w.main()
	case config.MethodRebase:
		return "rebased onto " + w.main()
	case config.MethodSemiLinear:
		return "rebased onto " + w.main() + " and merged there"
	case config.MethodFastForward:
		return "put onto " + w.main() + " as it is (fast-forward)"
	}
	return "merged onto " + w.main()
}

// eachTried says which of the commits of a try were verified.
func (w voice) eachTried(c queue.Change) string {
	switch {
	case c.Verdict == nil || c.Verdict.Commits < 2:
		return ""
	case c.Skip:
		return fmt.Sprintf(" It would land as %d commits. Only the last of them was tried, because the configuration says `intermediate: skip`.", c.Verdict.Commits)
	}
	return fmt.Sprintf(" It would land as %d commits, and each of them was tried.", c.Verdict.Commits)
}

// asWhat says which commits a change has landed as.
func (w voice) asWhat(c queue.Change) string {
	text := ""
	switch n := c.Verdict.Commits; {
	case c.Method == "":
	case c.Method == config.MethodSquash:
		text = "It landed by squash: all of it in one commit."
	case c.Method == config.MethodSemiLinear:
		text = "It landed by semi-linear merge: its commits on top of " + w.main() + ", and one that merges them."
	case n > 1:
		text = fmt.Sprintf("It landed by %s, as %d commits. ", c.Method, n)
		if c.Skip {
			text += "Only the last of them was verified, because the configuration says `intermediate: skip`."
		} else {
			text += "Each of them was verified."
		}
	default:
		text = fmt.Sprintf("It landed by %s, as one commit.", c.Method)
	}
	return text
}

// ends says what becomes of the pull request of a landed change. GitHub shows a pull
// request as merged only where its head is on the default branch: see shownMerged.
// Closing keywords count in the description of a pull request that is merged there, and
// in the messages of commits that come there, whichever pull request brings them.
func (w voice) ends(c queue.Change) string {
	commit := "that commit"
	if c.Verdict.Commits > 1 {
		commit = "the last of them"
	}
	moved := c.Verdict.Along && !c.Method.Keeps()
	text := ""
	if moved {
		text = " The branch of the " + w.o.Words.Noun() + " was moved to " + commit + " first"
		if w.o.Default == "" && !c.Verdict.Closed {
			text += ", so that it is shown as merged"
		}
		text += "; its former commit is " + w.commit(c.Head) + "."
	}
	if c.Verdict.ByForge && w.o.Default == "" {
		if c.Verdict.Unproven {
			return w.fill(" The {host} has merged the {noun} itself.")
		}
		return w.fill(" The {host} has merged the {noun} itself, and what it made has the parent and the tree of the commit that was proven.")
	}
	closed := "; so it is closed, with the label " + w.code(LandedLabel) + "."
	switch {
	case w.o.Words.Local:
		return ""
	case w.o.Default != "":
		return text + " The forge shows " + w.o.Words.Noun() + "s as merged only where their commits come to the default branch, " + w.code(w.o.Default) + ", and this one is for another branch" + closed +
			" A `Closes #N` in its description closes no issue; in the message of a commit it does, once that commit is on " + w.code(w.o.Default) + "."
	case moved && c.Verdict.Closed:
		return text + " The forge had not taken note of that when " + w.main() + " moved, and shows the " + w.o.Words.Noun() + " as closed all the same, with the label " + w.code(LandedLabel) + "." + issues
	case c.Method.Keeps() || moved:
		return text
	}
	return " The forge cannot show the " + w.o.Words.Noun() + " as merged, because its own commits are not on " + w.main() + closed + issues
}

// issues says what happened to the issues that a description closes.
const issues = " The issues of this repository that its description closes are closed, as a merge would have done."

// LandedLabel is put on a pull request that has landed and that the forge cannot
// show as merged.
const LandedLabel = "landed"

// CheckPassed returns the check on the commit that a change landed as, where its pull
// request's branch was moved to that commit.
func CheckPassed(c queue.Change) (state, title, summary string) {
	return "success", "Landed", "This is the commit on the target branch. It was proven before it was pushed; the comment of the queue says how."
}
