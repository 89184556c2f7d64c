package texts

import "github.com/submitqueue/submitqueue/queue"

// reasonsAnswered has the words for answers to commands that were followed, and for
// reasons about commits of the target branch.
func reasonsAnswered() []reasonRow {
	return []reasonRow{
		{code: queue.ReasonHelp, doc: "reasons#help",
			title: "the commands",
			full:  func(w voice, _ queue.Reason) string { return "The commands: " + w.commandList() + "." }},
		{code: queue.ReasonExplain, doc: "reasons#explain",
			title: "why it is where it is",
			full:  sentence("All that is known of it is shown.")},
		{code: queue.ReasonDelegated, doc: "reasons#delegated",
			title: "somebody may land it",
			full:  byHost(delegated, sentence("Somebody else may land it now."))},
		{code: queue.ReasonUndelegated, doc: "reasons#undelegated",
			title: "nobody else may land it",
			full: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return "This was delegated to nobody."
				}
				return "It is not delegated to " + w.codes(r.Names) + " any more."
			}},
		{code: queue.ReasonCulprit, doc: "reasons#culprit",
			title: "it turned {main} red",
			full:  voice.blame},
		{code: queue.ReasonBlame, doc: "reasons#blame",
			title: "Who turned {main} red",
			full:  voice.blame},
	}
}
