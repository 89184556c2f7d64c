package texts

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func quarantinedNote(w voice, n queue.Note) (what, more string) {
	if len(n.Reason.Names) == 0 {
		return "A target in quarantine failed, which did not count", ""
	}
	what = "Step " + w.code(n.Reason.Names[0]) + " failed in quarantine, which did not count"
	if targets := n.Reason.Names[1:]; len(targets) > 0 {
		more = "on " + w.codes(targets)
	}
	return what, more
}

func quarantineOverNote(w voice, n queue.Note) (what, more string) {
	return "The last day of a quarantine is over", w.codes(n.Reason.Names) + ": a failure there counts from now on, and " + w.main() + " is verified anew"
}

// QuarantineOver says, in plain text, that an entry of quarantine no longer counts, and
// what to do.
func (w Words) QuarantineOver(q config.QuarantineRow) string {
	v := w.plain(queue.Change{})
	last, err := time.Parse(time.DateOnly, q.Until)
	day := q.Until
	if err == nil {
		day = last.Format("2 Jan 2006")
	}
	text := "The quarantine of " + v.codes(q.Targets) + " in " + pick(len(q.Steps), "step ", "steps ") + v.codes(q.Steps) + " counted until " + day
	if q.Reason != "" {
		text += " (" + v.code(q.Reason) + ")"
	}
	return text + ". Failures there count again: delete the entry from " + v.code(config.Path) + ", or give it a later day"
}
