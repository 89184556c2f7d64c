package texts

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// culpritNote says, in a line of the history, which commit turned what red.
func culpritNote(w voice, n queue.Note) string {
	text := w.commit(n.Commit)
	if n.Number != 0 {
		text += " (" + w.ref(fmt.Sprint(n.Number)) + ")"
	}
	names := n.Reason.Names
	if n.Reason.Code == queue.ReasonCulprit && len(names) > 0 {
		names = names[1:]
	}
	if len(names) > 0 {
		text += ": " + w.code(names[0])
	}
	if len(names) > 1 {
		text += " on " + w.codes(names[1:])
	}
	return text
}

// huntEnd says why a hunt has ended.
func huntEnd(names []string) string {
	if len(names) == 0 {
		return ""
	}
	switch queue.HuntEnd(names[0]) {
	case queue.HuntRepaired:
		return "what was red passes again"
	case queue.HuntFlaky:
		return "what had failed has passed with nothing changed"
	case queue.HuntForced:
		return "the branch was force-pushed"
	}
	return OneLine(names[0], 40)
}

// blame says which commits have turned the target branch red, with one paragraph for
// each, or how far the search is.
func (w voice) blame(r queue.Reason) string {
	if r.Code == queue.ReasonCulprit && len(r.Culprits) == 0 {
		return "It turned " + w.main() + " red."
	}
	if len(r.Culprits) == 0 {
		switch {
		case len(r.Names) > 0 && r.Names[0] == "searching":
			return w.mainFirst() + " is red" + w.in(r.Names[1:]) + ". The commit that turned it red is being searched for."
		case len(r.Names) > 0 && r.Names[0] == "drift":
			return w.mainFirst() + " is red" + w.in(r.Names[1:]) + " with content that has passed before: no commit has turned it red."
		}
		return w.mainFirst() + " is not red."
	}
	var paragraphs []string
	for _, c := range r.Culprits {
		paragraphs = append(paragraphs, w.culprit(c))
	}
	return strings.Join(paragraphs, "\n\n")
}

// culprit says all that is known of one culprit.
func (w voice) culprit(c queue.Culprit) string {
	text := w.accused(c) + " turned " + w.main() + " red: " + w.codes(c.Names) + " on " + w.codes(c.Targets) + "."
	if len(c.Among) > 0 {
		var among []string
		for _, id := range c.Among {
			among = append(among, w.commit(id))
		}
		text += " It may also be " + strings.Join(among, " or ") + ", which cannot be built."
	}
	text += " It failed on " + w.commit(c.Failed.Commit) + w.inBuild(c.Failed)
	if c.Failed.Tries > 1 {
		text += fmt.Sprintf(" in each of %d builds", c.Failed.Tries)
	}
	if c.Green.Commit != "" && c.Green.At != 0 {
		text += ", and passed last on " + w.commit(c.Green.Commit) + w.inBuild(c.Green)
	}
	text += "."
	if names := w.later(c.Later); names != "" {
		text += " What came after it and is concerned by a revert: " + names + "."
	}
	return text + w.revert(c.Revert)
}

func (w quote) inBuild(p queue.Probe) string {
	if p.Build == "" {
		return ""
	}
	text := " (build " + w.code(string(p.Build)) + ")"
	if p.At != 0 {
		text += " at " + w.clockText(p.At)
	}
	return text
}

// accused names a commit with its pull request, its author and its first line.
func (w quote) accused(c queue.Culprit) string { return w.pastCommit(c.HuntCommit) }

func (w quote) pastCommit(c queue.HuntCommit) string {
	text := w.commit(c.Commit)
	if c.Subject != "" {
		text += " " + w.code(c.Subject)
	}
	var who []string
	if c.Number != 0 {
		who = append(who, w.ref(fmt.Sprint(c.Number)))
	}
	if c.Author != "" {
		who = append(who, "by "+w.code(c.Author))
	}
	if len(who) > 0 {
		text += " (" + strings.Join(who, " ") + ")"
	}
	return text
}

func (w quote) later(list []queue.Later) string {
	var out []string
	for i, l := range list {
		if i == mostNames {
			out = append(out, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		text := w.pastCommit(l.HuntCommit)
		switch {
		case len(l.Paths) > 0:
			text += ", with which it does not merge: " + w.codes(l.Paths)
		case len(l.Targets) > 0:
			text += ", which touches the same: " + w.codes(l.Targets)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// revert says what is known of taking a culprit back.
func (w voice) revert(r *queue.Revert) string {
	if r == nil {
		return ""
	}
	text := ""
	switch {
	case r.State == queue.RevertTrying:
		text = " Its revert is being built on " + w.main() + " as it is."
	case r.State == queue.RevertProven:
		text = " Its revert is proven on " + w.commit(r.On) + "."
	case r.State == queue.RevertFails:
		text = " Its revert was built and fails: " + w.codes(r.Failed) + "."
	case r.State == queue.RevertConflict && len(r.Conflicts) == 0:
		text = " Its revert cannot be made: git refuses it, or nothing is before it."
	case r.State == queue.RevertConflict:
		text = " Its revert does not merge with what came after it: " + w.codes(r.Conflicts) + "."
	case r.State == queue.RevertEmpty:
		text = " " + w.mainFirst() + " has nothing of it any more."
	case r.State == queue.RevertUnknown:
		text = " Its revert could not be built" + w.unbuilt(r.Why) + "."
	}
	switch {
	case r.Number != 0 && r.Landing:
		text += " " + w.ref(fmt.Sprint(r.Number)) + " has it, and the queue lands that by itself."
	case r.Number != 0:
		text += " " + w.ref(fmt.Sprint(r.Number)) + " proposes it."
	}
	if r.Trouble != "" {
		text += " It needs somebody's hands" + w.because(r.Trouble)
	}
	return text
}

// unbuilt says why a revert could not be built, as far as it is known.
func (w voice) unbuilt(why queue.Reason) string {
	if why.Code == "" {
		return ""
	}
	text, names := ": "+w.lacks(why), why.Names
	if len(why.Unmet) > 0 {
		names = why.Unmet[0].Names
	}
	if len(names) > 0 {
		text += " (" + w.codes(names) + ")"
	}
	return text
}
