package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// reasonRow is all that people are told about one reason, wherever they read it.
//
// In title and in the text of sentence, {host} stands for the server of the repository,
// and {noun} for the thing that is asked to land: see Words.
type reasonRow struct {
	code queue.ReasonCode
	doc  string // anchor of its section in the documents; it stays when words change

	// title is the reason in a few words that follow "Parked: " or "3rd of 7: " in a
	// comment and a check. It quotes nothing.
	title string
	local string // title of a plain repository; empty: title

	// brief is the reason in a few words with the names in it, for lists of the pages and
	// of the command line. Where it is nil or returns "", the title takes its place.
	brief telling
	// full says what the state is, and what happens next or what a person can do: in
	// comments and checks as Markdown, on pages and the command line as one plain line.
	full telling
}

// telling says a reason in words.
type telling func(voice, queue.Reason) string

// sentence is a telling that uses no data of the reason.
func sentence(text string) telling {
	return func(w voice, _ queue.Reason) string { return w.fill(text) }
}

// byHost is a telling that differs between forges with pull requests and plain repositories.
func byHost(forge, local telling) telling {
	return func(w voice, r queue.Reason) string {
		if w.o.Words.Local {
			return local(w, r)
		}
		return forge(w, r)
	}
}

// again ends a sentence with how to ask for landing once more.
func (w voice) again() string {
	if w.o.Words.Local { // a terminal shows no quotes, and people copy what follows the command
		return "ask again: " + w.landAgain() + "."
	}
	return w.land() + " again."
}

// fill puts words into one of our own texts.
func (w quote) fill(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return strings.NewReplacer("{host}", w.o.Words.host(), "{noun}", w.o.Words.Noun(), "{main}", w.main(), "{Main}", w.mainFirst()).Replace(text)
}

// main names the target branch.
func (w quote) main() string {
	if b := w.o.Words.Branch; b != "" {
		return w.code(b)
	}
	return "the target branch"
}

// mainFirst is main at the beginning of a sentence.
func (w quote) mainFirst() string {
	if w.o.Words.Branch == "" {
		return "The target branch"
	}
	return w.main()
}

// reasonTable has the rows of reasons by code.
type reasonTable map[queue.ReasonCode]reasonRow

// reasons is the one table of reasons. Nothing writes to it.
var reasons = tableOf(reasonsWaiting(), reasonsEnded(), reasonsParked(), reasonsRefused(), reasonsAnswered())

func tableOf(groups ...[]reasonRow) reasonTable {
	t := reasonTable{}
	for _, g := range groups {
		for _, row := range g {
			t[row.code] = row
		}
	}
	return t
}

// Reason returns a reason in words, as one line of plain text. It may quote hostile
// text: the code that shows it escapes it.
func Reason(r queue.Reason) string {
	return Words{}.Reason(queue.Change{}, r)
}

// Doc returns the anchor under which the documents explain a reason, e.g.
// "reasons#red-main"; "" for a code of a newer version.
func Doc(c queue.ReasonCode) string { return reasons[c].doc }

// DocPath is where a server explains a reason; "" for a code of a newer version.
func DocPath(c queue.ReasonCode) string {
	if doc := Doc(c); doc != "" {
		return "/docs/" + doc
	}
	return ""
}

// about returns a link to the section of the documents about the reason in a comment's
// headline. It is "" where the change has landed, or the address at which people reach
// the server is not known.
func (w voice) about(v queue.View) string {
	code := v.Change.Reason.Code
	switch {
	case v.Change.Phase == queue.Pending && len(v.Waits) > 0:
		code = v.Waits[0].Code
	case code == "":
		code = v.Notice.Code
	}
	path := DocPath(code)
	if path == "" || w.o.BaseURL == "" || v.Change.Phase == queue.Landed {
		return ""
	}
	return w.link("what this means", strings.TrimSuffix(w.o.BaseURL, "/")+path)
}

// Reason returns a reason of a change in words, as one line of plain text. It may quote
// hostile text: the code that shows it escapes it.
func (w Words) Reason(c queue.Change, r queue.Reason) string {
	return w.plain(c).reason(r)
}

// Short returns a reason in a few words, as one line of plain text. It quotes the names
// of steps, which are plain words, and the failing line of a failed step, which is
// hostile text.
func (w Words) Short(c queue.Change, r queue.Reason) string {
	text := w.plain(c).brief(r)
	if line := failingLine(c); line != "" && r.Code == c.Reason.Code {
		text += ": " + line
	}
	return text
}

// title is a reason in a few words; "" for a code of a newer version.
func (w voice) title(c queue.ReasonCode) string {
	row := w.reasons[c]
	if row.local != "" && w.o.Words.Local {
		return row.local
	}
	return w.fill(row.title)
}

// brief is a reason in a few words, with the names in it.
func (w voice) brief(r queue.Reason) string {
	if row := w.reasons[r.Code]; row.brief != nil {
		if text := row.brief(w, r); text != "" {
			return text
		}
	}
	return w.title(r.Code)
}

// reason returns a reason in words; "" for a code of a newer version.
func (w voice) reason(r queue.Reason) string {
	row := w.reasons[r.Code]
	if row.full == nil {
		return ""
	}
	return row.full(w, r)
}
