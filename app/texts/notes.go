package texts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// noteRow has the words for one kind of line of a queue's history.
type noteRow struct {
	title string
	more  noteTelling // further words; nil: none

	// line replaces title and more in rows with a title that depends on the note.
	line func(voice, queue.Note) (what, more string)
}

type noteTelling func(voice, queue.Note) string

// notes is the table of the lines of a history, by queue.Note.What. Nothing writes to it.
var notes = map[string]noteRow{
	"entered": {line: func(v voice, n queue.Note) (what, more string) {
		if len(n.Reason.Names) == 0 {
			return "Asked to land", ""
		}
		return "Entered", "by rule " + v.code(n.Reason.Names[0]) + " of " + v.code(config.Path)
	}},
	"try":         {title: "Asked to try, and not to land", more: noteBy},
	"explained":   {title: "Explained", more: noteText("its outcome was worked out, without being asked to land")},
	"tried":       {title: "Tried", more: noteBrief},
	"now":         {title: "Emergency: put before all others", more: noteByWhy},
	"moved":       {line: movedNote},
	"delegated":   {line: delegatedNote},
	"undelegated": {title: "Not delegated any more", more: func(v voice, n queue.Note) string { return v.codes(n.Reason.Names) }},
	"head-proven": {title: "Passed on its own head", more: func(_ voice, n queue.Note) string {
		keys, _ := strconv.Atoi(strings.Join(n.Reason.Names, ""))
		return counted(keys, "check of the head's tree counts", "checks of the head's tree count") + " wherever the branch with it has the same"
	}},
	"head-doubted": {title: "The passes on its own head do not count", more: headDoubts},
	"analyzed":     {title: "Analyzed", more: noteText("what it touches is known")},
	"rollup": {title: "Joined with others", more: func(v voice, n queue.Note) string {
		return "built together, and to land in one merge: " + v.refs(n.Reason.Names)
	}},

	"split": {title: "Batch split", more: func(v voice, n queue.Note) string {
		return "it has failed; tried first: " + v.refs(n.Reason.Names)
	}},

	"build-asked": {title: "Build asked for", more: func(v voice, n queue.Note) string {
		return v.why(n.Worth, n.Reason.Detail)
	}},
	"build-passed": {title: "Build passed", more: noteDetail},
	"build-stopped": {title: "Build stopped", more: func(v voice, n queue.Note) string {
		return orElse(strings.TrimPrefix(noteDetail(v, n), "cancelled"), "nobody needs its result any more")
	}},
	"build-infrastructure": {title: "Build brought no result", more: noteDetail},
	"step-failed":          {line: stepNote},
	"step-timeout":         {line: stepNote},
	"step-cut":             {line: cutNote},
	"quarantined":          {line: quarantinedNote},
	"quarantine-over":      {line: quarantineOverNote},

	"parked":          {title: "Parked", more: noteReason},
	"returned":        {title: "Back in the queue"},
	"landed":          {title: "Landed"},
	"rejected":        {title: "Rejected", more: noteBrief},
	"cancelled":       {title: "Taken out of the queue", more: noteBrief},
	"nothing-to-land": {title: "Nothing to land", more: noteBrief},
	"command-refused": {title: "A command was not followed", more: noteReason},
	"lost-race":       {title: "{Main} moved during the push", more: noteText("it is tried again")},
	"declined": {line: func(v voice, n queue.Note) (what, more string) {
		return v.fill("The {host} did not merge it itself"), noteDetail(v, n)
	}},
	"refused": {line: func(v voice, n queue.Note) (what, more string) {
		return v.fill("The {host} refused the push"), noteDetail(v, n)
	}},

	"paused":  {title: "Landings paused", more: noteByWhy},
	"differs": {title: "Landings paused", more: noteByWhy},
	"resumed": {title: "Landings resumed", more: noteBy},
	"frozen":  {line: frozenNote},
	"forgot":  {line: forgotNote},
	"learned": {line: learnedNote},
	"model":   {line: modelNote},

	"forced":      {title: "{Main} was force-pushed"},
	"outside":     {title: "{Main} got commits that the queue did not make"},
	"main-proven": {title: "{Main} is proven"},
	"main-red": {title: "{Main} is red", more: func(v voice, n queue.Note) string {
		return strings.TrimPrefix(v.in(n.Reason.Names), ": ")
	}},
	"renamed": {title: "The target branch was renamed", more: func(v voice, n queue.Note) string {
		return strings.TrimPrefix(v.renamedTo(n.Reason.Names), ": ")
	}},
	"away": {title: "The repository is out of reach", more: noteDetail},
	"back": {title: "The repository is within reach again"},

	"culprit":         {title: "It was found who turned {main} red", more: culpritNote},
	"acquitted":       {title: "It passes after all what had failed on it", more: culpritNote},
	"hunt-over":       {title: "The search for who turned {main} red is over", more: func(_ voice, n queue.Note) string { return huntEnd(n.Reason.Names) }},
	"revert-proven":   {line: revertNote},
	"revert-fails":    {line: revertNote},
	"revert-conflict": {line: revertNote},
	"revert-empty":    {line: revertNote},
	"revert-unknown":  {line: revertNote},
	"revert-proposed": {line: revertNote},
	"drift":           {line: driftNote},
	"drift-over":      {line: driftNote},
	"host-benched":    {line: hostNote},
	"host-back":       {line: hostNote},
	"upgrade-begun":   {line: upgradeNote},
	"upgrade-unknown": {line: upgradeNote},
	"upgraded":        {line: upgradeNote},
	"analyzer":        {line: upgradeNote},
}

// Note returns a line of the history in words: what happened, and further words about
// it. Both are plain text; the second may quote hostile text.
func (w Words) Note(c queue.Change, n queue.Note) (what, more string) {
	v := w.plain(c)
	row, ok := notes[n.What]
	switch {
	case !ok:
		return unknownNote(v, n)
	case row.line != nil:
		return row.line(v, n)
	case row.more != nil:
		return v.fill(row.title), row.more(v, n)
	}
	return v.fill(row.title), ""
}

// unknownNote returns words for a note that a newer version has written.
func unknownNote(v voice, n queue.Note) (what, more string) {
	text := strings.ReplaceAll(OneLine(n.What, 40), "-", " ")
	if text == "" {
		return "Something happened", noteDetail(v, n)
	}
	return strings.ToUpper(text[:1]) + text[1:], orElse(v.reason(n.Reason), noteDetail(v, n))
}

func noteText(text string) noteTelling { return func(voice, queue.Note) string { return text } }

func noteDetail(_ voice, n queue.Note) string { return OneLine(n.Reason.Detail, 300) }

func noteReason(v voice, n queue.Note) string { return v.reason(n.Reason) }

func noteBrief(v voice, n queue.Note) string { return v.brief(n.Reason) }

func noteBy(v voice, n queue.Note) string { return strings.TrimPrefix(v.by(n.Reason), " ") }

func noteByWhy(v voice, n queue.Note) string {
	return strings.TrimPrefix(v.by(n.Reason)+": "+noteDetail(v, n), " ")
}

func frozenNote(v voice, n queue.Note) (what, more string) {
	return "Landings frozen until " + n.Reason.Until.Time().Format("2 Jan 15:04 UTC"), strings.Trim(v.by(n.Reason)+": "+noteDetail(v, n), ": ")
}

func forgotNote(v voice, n queue.Note) (what, more string) {
	if len(n.Reason.Names) < 2 {
		return "Passes forgotten", ""
	}
	return "Passes forgotten: " + OneLine(n.Reason.Names[1], 200), "by " + v.code(n.Reason.Names[0]) + "; everything that rests on them is verified again"
}

func delegatedNote(v voice, n queue.Note) (what, more string) {
	if len(n.Reason.Names) < 2 {
		return "Delegated", ""
	}
	return "Delegated to " + v.code(n.Reason.Names[0]), "by " + v.code(n.Reason.Names[1])
}

func movedNote(v voice, n queue.Note) (what, more string) {
	if len(n.Reason.Names) < 2 {
		return "Put into another lane", ""
	}
	return "Put into the lane " + v.code(n.Reason.Names[1]), strings.TrimPrefix(v.by(n.Reason), " ")
}

func cutNote(w voice, n queue.Note) (what, more string) {
	if len(n.Reason.Names) < 5 {
		return "A step was stopped early", ""
	}
	name, after, usual, runs, most := n.Reason.Names[0], n.Reason.Names[1], n.Reason.Names[2], n.Reason.Names[3], n.Reason.Names[4]
	return "Step " + w.code(name) + " stopped after " + after,
		"3 x P99 of " + runs + " runs (" + usual + "); the file allows " + most + ", and it is run again with that before it counts"
}

func stepNote(w voice, n queue.Note) (what, more string) {
	how := " failed"
	if n.What == "step-timeout" {
		how = " ran out of time"
	}
	if len(n.Reason.Names) == 0 {
		return "A step" + how, ""
	}
	what = "Step " + w.code(n.Reason.Names[0]) + how
	if targets := n.Reason.Names[1:]; len(targets) > 0 {
		more = "on " + w.codes(targets)
	}
	return what, more
}

// headDoubts says why CI runs on the change's own head were no proof. The note's names
// are pairs of a step and a reason.
func headDoubts(v voice, n queue.Note) string {
	var out []string
	for pair := range slices.Chunk(n.Reason.Names, 2) {
		switch {
		case len(pair) < 2:
		case pair[0] == "":
			out = append(out, OneLine(pair[1], 300))
		default:
			out = append(out, "step "+v.code(pair[0])+": "+OneLine(pair[1], 300))
		}
	}
	return strings.Join(out, "; ")
}
