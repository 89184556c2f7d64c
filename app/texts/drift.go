package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Drift says, in plain text, which check of the target branch fails now though nothing
// in the branch has changed, and since when.
func (w Words) Drift(d queue.Drift) string {
	return w.plain(queue.Change{}).drift(d)
}

func (w quote) drift(d queue.Drift) string {
	text := w.code(d.Step)
	if d.Target != "" && d.Target != config.TargetTree {
		text += " on " + w.code(d.Target)
	}
	if d.Good > 1 {
		text += " passed there at " + w.clockText(d.Good) + " and"
	}
	return text + " fails there since " + w.clockText(d.Bad) + ", though nothing that it depends on in the repository has changed"
}

// drifts says so of each, as text that follows another sentence.
func (w quote) drifts(all []queue.Drift) string {
	var b strings.Builder
	for _, d := range all {
		b.WriteString(" " + w.drift(d) + ".")
	}
	return b.String()
}

// partners says that a step fails only together with certain landed changes, and names them.
func (w quote) partners(f queue.Evidence) string {
	switch len(f.Partners) {
	case 0:
		return ""
	case 1:
		return ", and only together with " + w.ref(string(f.Partners[0])) + ": it passed with this change before that landed"
	}
	return ", and only together with " + w.refs(Strings(f.Partners)) + ", or one of them: it passed with this change before they landed"
}

// passedOnMain says when the target branch itself was seen to pass the keys that have failed.
func (w quote) passedOnMain(f queue.Evidence) string {
	switch {
	case f.Good == 0:
		return ""
	case f.Control != "":
		return "; run again without it, " + w.main() + " passed the same at " + w.clockText(f.Good)
	}
	return "; " + w.main() + " passed the same at " + w.clockText(f.Good)
}

func driftNote(w voice, n queue.Note) (what, more string) {
	names := n.Reason.Names
	if len(names) == 0 {
		return w.mainFirst() + " has drifted", ""
	}
	more = "step " + w.code(names[0])
	if len(names) > 1 {
		more += " on " + w.codes(names[1:])
	}
	if n.What == "drift-over" {
		return w.mainFirst() + " has recovered", more + ", which had failed since " + w.clockText(n.Reason.Until)
	}
	return w.mainFirst() + " has drifted", more + " fails since " + w.clockText(n.Reason.Until) + ", though nothing that it depends on in the repository has changed"
}
